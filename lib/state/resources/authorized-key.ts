/**
 * A key that may sign in as a user, in ~/.ssh/authorized_keys. Owns the line of that key, never another.
 *
 * The folder ~/.ssh belongs to the user, who may put anything there: a link is refused, also one that is put there
 * meanwhile, and so is what belongs to somebody else. Both are made where there is none, with modes 0700 and 0600.
 *
 * @example
 * ```yaml
 * - { type: authorized_key, user: deploy, key: "ssh-ed25519 AAAAC3...", options: 'from="10.0.0.0/8",no-pty' }
 * ```
 */
import { hostError } from "../../host/host-error.ts";
import type { FileStat, Host } from "../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { StayingThings } from "../resource.ts";
import type { Change } from "../result.ts";
import { modeEdit, type TextEdit } from "../text-edits.ts";
import {
  type AuthorizedKeySpec,
  authorizedKeyPriorSchema,
  authorizedKeySchema,
} from "./authorized-key/properties.ts";
import { findAccount, type UserEntry } from "./shared/accounts.ts";
import { printMode } from "./shared/attributes.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { type Digests, keepLines, noDigests, noteEnd, restoreLines } from "./shared/kept-lines.ts";
import { missing, requireOwn } from "./shared/obstacle.ts";
import { pathSchema } from "./shared/properties.ts";
import { realPath } from "./shared/real-path.ts";
import { fileChanges, readText } from "./shared/text-file.ts";
import { putLine, type TextLine, toLines, toText } from "./shared/text-lines.ts";

export const authorizedKeyResourceType = defineResourceType<AuthorizedKeySpec>({
  type: "authorized_key",
  summary: "A key that may sign in as a user.",
  schema: authorizedKeySchema,
  identity({ user, key }) {
    const [type, blob = ""] = key.split(" ");
    return `${user}: ${type} ${blob.slice(-44)}`;
  },
  inHomeOf: ({ user }) => user,
  paths: (spec) => [folderOf(spec), fileOf(spec)],
  modes: (spec) => (spec.ensure === "present" ? [folderOf(spec), fileOf(spec)] : []),
  edits: editsOf,
  check: (spec, host, signal) => atPlace(spec, { host, signal }, (place) => compare(spec, place, host)),
  apply: (spec, _changes, host, signal) =>
    atPlace(spec, { host, signal }, (place) => change(spec, place, { host, signal })),
  capture: (spec, host, signal) => atPlace(spec, { host, signal }, (place) => captureAt(spec, place, host)),
  describe: describeChange,
  removing: {
    priorSchema: authorizedKeyPriorSchema,
    partOf: ({ user, home }) => (home === undefined ? `keys of ${user}` : `keys of ${user} in ${home}`),
    withStaying,
  },
});

const folderOf = ({ user, home = `~${user}` }: AuthorizedKeySpec): string => `${home}/.ssh`;
const fileOf = (spec: AuthorizedKeySpec): string => `${folderOf(spec)}/authorized_keys`;

/** Its line of the file, and the modes that it gives both. */
function editsOf(spec: AuthorizedKeySpec): TextEdit[] {
  const { ensure } = spec;
  const { folder_mode, file_mode } = wantedModes(spec);
  const isNone = (text: string | null): boolean => text === null && ensure === "absent";
  return [
    {
      of: fileOf(spec),
      isOneLine: true,
      edit: (text) => (isNone(text) ? null : toText(edit(spec, toLines(text), noDigests))),
    },
    ...modeEdit(folderOf(spec), folder_mode),
    ...modeEdit(fileOf(spec), file_mode),
  ];
}

/** The file and the folder, and their modes, may be another resource's by now. */
function withStaying(prior: AuthorizedKeySpec, staying: StayingThings): AuthorizedKeySpec {
  const [folder, file] = [folderOf(prior), fileOf(prior)];
  const modes = staying.pathsIn(folder, "modes");
  const spec = {
    ...prior,
    ...(modes.includes(folder) && { folder_mode: undefined }),
    ...(modes.includes(file) && { file_mode: undefined }),
  };
  const paths = staying.pathsIn(folder);
  if (spec.remove_empty === undefined || paths.length === 0) return spec;
  const goes = !paths.includes(file);
  return { ...spec, remove_empty: goes ? "file" : undefined };
}

/** The folder and the file of a user, and what is in it. */
interface Place {
  user: UserEntry;
  folder: string;
  path: string;
  files: Host["files"];
  folderStat: FileStat | null;
  fileStat: FileStat | null;
  lines: TextLine[];
}

function compare(spec: AuthorizedKeySpec, place: Place | null, host: Host): Change[] {
  const before = place ? ownLines(spec, place.lines) : [];
  const changes = compareModes(spec, place);
  if (spec.ensure === "absent") {
    if (before.length > 0) changes.unshift({ property: "ensure", before: "present", after: "absent" });
    else if (place) changes.push(...restChanges(spec, place, host));
    return changes;
  }
  // A file that somebody took away has no place for what stood in it.
  if (!place?.fileStat && isPrior(spec)) return [];
  const after = wantedLines(spec).join("\n");
  if (before.join("\n") !== after)
    changes.unshift({ property: "line", before: before.join("\n") || null, after });
  else if (place && spec.kept) changes.push(...restChanges(spec, place, host));
  if (before.length === 0) changes.unshift({ property: "ensure", before: "absent", after: "present" });
  return changes;
}

/** What is left to bring back beside the line itself. */
function restChanges(spec: AuthorizedKeySpec, place: Place, host: Host): Change[] {
  const { fileStat, lines } = place;
  const text = fileStat && toText(lines);
  const goes = spec.remove_empty !== undefined;
  if (text === null && spec.remove_empty === "folder" && isEmptyFolder(place))
    return [{ property: "folder", before: "present", after: "absent" }];
  return fileChanges({ remove_empty: goes }, text, toText(edit(spec, lines, host)));
}

/** What the user has put beside the file keeps the folder, which is theirs then. */
function isEmptyFolder({ files, folder, folderStat }: Place): boolean {
  return folderStat !== null && files.list(folder).length === 0;
}

function isPrior({ kept, line }: AuthorizedKeySpec): boolean {
  return (kept ?? line) !== undefined;
}

function compareModes(spec: AuthorizedKeySpec, place: Place | null): Change[] {
  const changes: Change[] = [];
  for (const [property, stat] of [
    ["folder_mode", place?.folderStat],
    ["file_mode", place?.fileStat],
  ] as const) {
    const after = wantedModes(spec)[property];
    const before = stat ? printMode(stat.mode) : undefined;
    if (before !== undefined && after !== undefined && before !== after)
      changes.push({ property, before, after });
  }
  return changes;
}

/** What comes back has the modes that it had. */
function wantedModes(spec: AuthorizedKeySpec): { folder_mode?: string; file_mode?: string } {
  const { folder_mode, file_mode } = spec;
  if (folder_mode !== undefined || file_mode !== undefined)
    return {
      ...(folder_mode !== undefined && { folder_mode }),
      ...(file_mode !== undefined && { file_mode }),
    };
  return spec.ensure === "present" && !spec.kept ? { folder_mode: "0700", file_mode: "0600" } : {};
}

async function change(
  spec: AuthorizedKeySpec,
  place: Place | null,
  { host, signal }: Machine,
): Promise<void> {
  if (!place) throw missing(`There is no user "${spec.user}".`, { user: spec.user });
  const { user, folder, path, files, folderStat, fileStat, lines } = place;
  if (!host.files.stat(user.home)) throw hostError(user.home, "ENOENT");
  const { uid, gid } = user;
  const modes = wantedModes(spec);
  const folderMode = modes.folder_mode === undefined ? undefined : Number.parseInt(modes.folder_mode, 8);
  signal.throwIfAborted();
  if (!folderStat) files.makeDirectory(folder, { mode: 0o700, uid, gid });
  else if (folderMode !== undefined && folderStat.mode !== folderMode)
    await files.setAttributes(folder, { mode: folderMode });
  const edited = edit(spec, lines, host);
  signal.throwIfAborted();
  if (spec.remove_empty !== undefined && edited.length === 0) {
    if (fileStat) files.removeFile(path);
    signal.throwIfAborted();
    if (spec.remove_empty === "folder" && files.list(folder).length === 0) files.removeDirectory(folder);
    return;
  }
  if (!fileStat && edited.length === 0) return;
  // Always a new file: the mode of one that stands there might be that of another name for a file of the system.
  const mode = Number.parseInt(modes.file_mode ?? "0600", 8);
  files.writeFile(path, Buffer.from(toText(edited)), { mode, uid, gid: fileStat?.gid ?? gid });
}

/** Does something at the place of a user; null where there is none, perhaps not yet. */
function atPlace<T>(
  { user, home }: AuthorizedKeySpec,
  machine: Machine,
  use: (place: Place | null) => MaybeWaiting<T>,
): MaybeWaiting<T> {
  const placeOf = (found: UserEntry): Place =>
    findPlace(home === undefined ? found : { ...found, home }, machine.host);
  return andThen(findAccount(user, machine), (found) => use(found && placeOf(found)));
}

/** `HOST_ERROR` where something else is in the way. */
function findPlace(user: UserEntry, host: Host): Place {
  const folder = `${user.home}/.ssh`;
  const path = `${folder}/authorized_keys`;
  const none = { user, folder, path, files: host.files, folderStat: null, fileStat: null, lines: [] };
  if (!host.files.stat(user.home)) return none;
  const files = host.files.below(user.home);
  const folderStat = requireOwn(files.stat(folder), { path: folder, kind: "directory", user });
  if (!folderStat) return { ...none, files };
  const fileStat = requireOwn(files.stat(path), { path, kind: "file", user });
  return {
    ...none,
    files,
    folderStat,
    fileStat,
    lines: toLines(readText(path, { files, expected: fileStat })),
  };
}

/** The lines with one for the key, or none: a second one without its options would open what they close. */
function edit(spec: AuthorizedKeySpec, lines: readonly TextLine[], host: Digests): TextLine[] {
  const own = new Set(ownLines(spec, lines));
  const isOwn = (text: string): boolean => own.has(text);
  const { ensure, kept, unended } = spec;
  if (ensure === "absent" || kept) return restoreLines(lines, { isOwn, kept: kept ?? [], unended }, host);
  return putLine(lines, isOwn, wantedLines(spec)[0] ?? "");
}

function wantedLines({ key, options, line, kept }: AuthorizedKeySpec): string[] {
  return kept?.map(({ text }) => text) ?? [line ?? (options === undefined ? key : `${options} ${key}`)];
}

/** The lines that hold the key, whatever stands before and after it. */
function ownLines({ key }: AuthorizedKeySpec, lines: readonly TextLine[]): string[] {
  const blob = key.split(" ")[1] ?? "";
  const texts = lines.map(({ text }) => text);
  return texts.filter((line) => !line.trimStart().startsWith("#") && line.split(/\s+/).includes(blob));
}

function captureAt(spec: AuthorizedKeySpec, place: Place | null, host: Host): Prior {
  const { user, key } = spec;
  const lines = place?.lines ?? [];
  const own = new Set(ownLines(spec, lines));
  const { home } = place?.user ?? {};
  const modes = {
    // Without a place of its own there is nothing to find again.
    ...(home !== undefined && pathSchema.safeParse(home).success && { home: realPath(home, host) }),
    ...(place?.folderStat && { folder_mode: printMode(place.folderStat.mode) }),
    ...(place?.fileStat && { file_mode: printMode(place.fileStat.mode) }),
  };
  if (own.size > 0) {
    const kept = keepLines(lines, (line) => own.has(line), host);
    const end = noteEnd(lines, (line) => own.has(line), host);
    return { type: "authorized_key", spec: { user, key, ensure: "present", kept, ...end, ...modes } };
  }
  const made = place?.folderStat ? (place.fileStat ? null : "file") : "folder";
  const goes = made !== null && { remove_empty: made };
  const end = noteEnd(lines, () => false, host);
  return { type: "authorized_key", spec: { user, key, ensure: "absent", ...goes, ...end, ...modes } };
}
