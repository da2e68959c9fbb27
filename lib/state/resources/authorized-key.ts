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
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import { hostError } from "../../host/host-error.ts";
import type { FileStat, Host } from "../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { accountNameSchema, findAccount, type UserEntry } from "./shared/accounts.ts";
import { printMode } from "./shared/attributes.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { keepLines, keptLineSchema, restoreLines, noteEnd, unendedSchema } from "./shared/kept-lines.ts";
import { missing } from "./shared/missing.ts";
import { obstacle } from "./shared/obstacle.ts";
import { ensureSchema, modeSchema } from "./shared/properties.ts";
import { fileChanges, readText } from "./shared/text-file.ts";
import { putLine, type TextLine, toLines, toText } from "./shared/text-lines.ts";

/** Type, key in base64, and what people call it. */
const keyPattern =
  // eslint-disable-next-line no-control-regex -- control characters would end the line
  /^((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+) (AAAA[A-Za-z0-9+/]+={0,2})(?: [^\u0000-\u001f\u007f]*)?$/;

export const authorizedKeySchema = z.strictObject({
  user: accountNameSchema,
  /** As in a .pub file: type, key, and a comment if you like. */
  key: z.string().max(16_384).regex(keyPattern, "must be a public key as in a .pub file, on one line"),
  ensure: ensureSchema.default("present"),
  /** What stands before the key, such as `no-pty,from="10.0.0.0/8"`. */
  options: z
    .string()
    .min(1)
    .max(8192)
    // eslint-disable-next-line no-control-regex -- control characters would end the line
    .regex(/^(?!#)[^\s\u0000-\u001f\u007f"]*(?:"[^\u0000-\u001f\u007f"]*"[^\s\u0000-\u001f\u007f"]*)*$/)
    .optional(),
});

const authorizedKeyPriorSchema = authorizedKeySchema.extend({
  /** The line as it stood. */
  line: z
    .string()
    .max(32_768)
    .regex(/^[^\n\r]+$/)
    .optional(),
  /** The lines that held the key, and their places. */
  kept: z.array(keptLineSchema).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
  /** Modes of the folder and the file. */
  folder_mode: modeSchema.optional(),
  file_mode: modeSchema.optional(),
  /** The file was made for the key and goes when nothing is left in it, and so does the folder. */
  remove_empty: z.enum(["file", "folder"]).optional(),
});

/** Properties of an `authorized_key`, and those of a captured one. */
export type AuthorizedKeySpec = z.infer<typeof authorizedKeyPriorSchema>;

export const authorizedKeyResourceType = defineResourceType<AuthorizedKeySpec>({
  type: "authorized_key",
  summary: "A key that may sign in as a user.",
  schema: authorizedKeySchema,
  identity({ user, key }) {
    const [type, blob = ""] = key.split(" ");
    return `${user}: ${type} ${blob.slice(-44)}`;
  },
  check: (spec, host, signal) => atPlace(spec, { host, signal }, (place) => compare(spec, place, host)),
  apply: (spec, _changes, host, signal) =>
    atPlace(spec, { host, signal }, (place) => change(spec, place, { host, signal })),
  capture: (spec, host, signal) => atPlace(spec, { host, signal }, (place) => captureAt(spec, place, host)),
  describe: describeChange,
  removing: { priorSchema: authorizedKeyPriorSchema, partOf: ({ user }) => `keys of ${user}` },
});

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
  return spec.ensure === "present" ? { folder_mode: "0700", file_mode: "0600" } : {};
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

/** Does something at the place of a user; null where there is no such user, perhaps not yet. */
function atPlace<T>(
  { user }: AuthorizedKeySpec,
  machine: Machine,
  use: (place: Place | null) => MaybeWaiting<T>,
): MaybeWaiting<T> {
  return andThen(findAccount(user, machine), (found) => use(found && findPlace(found, machine.host)));
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

/** A second name of another's file can't be told from the file: what the user does not own is not read or given away. */
function requireOwn(
  stat: FileStat | null,
  { path, kind, user }: { path: string; kind: FileStat["kind"]; user: UserEntry },
): FileStat | null {
  if (stat && stat.kind !== kind) throw obstacle(path, stat);
  if (!stat || stat.uid === user.uid) return stat;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${path} does not belong to ${user.name}, and is left alone.`,
    details: { path, uid: stat.uid },
  });
}

/** The lines with one for the key, or none: a second one without its options would open what they close. */
function edit(spec: AuthorizedKeySpec, lines: readonly TextLine[], host: Host): TextLine[] {
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
  const modes = {
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
