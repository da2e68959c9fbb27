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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { accountNameSchema, findUser, type UserEntry } from "./shared/accounts.ts";
import { printMode } from "./shared/attributes.ts";
import { describeChange } from "./shared/describe.ts";
import { missing } from "./shared/missing.ts";
import { obstacle } from "./shared/obstacle.ts";
import { ensureSchema } from "./shared/properties.ts";
import { joinLines, readText, splitLines } from "./shared/text-file.ts";

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
  /** The file was made for the key and goes when nothing is left in it, and so does the folder. */
  remove_empty: z.enum(["file", "folder"]).optional(),
});

/** Properties of an `authorized_key`, and those of a captured one. */
export type AuthorizedKeySpec = z.infer<typeof authorizedKeyPriorSchema>;

export const authorizedKeyResourceType = defineResourceType<AuthorizedKeySpec>({
  type: "authorized_key",
  summary: "A key that may sign in as a user.",
  schema: authorizedKeySchema,
  priorSchema: authorizedKeyPriorSchema,
  identity({ user, key }) {
    const [type, blob = ""] = key.split(" ");
    return `${user}: ${type} ${blob.slice(-44)}`;
  },
  check,
  apply,
  capture,
  describe: describeChange,
});

/** The folder and the file of a user, and what is in it. */
interface Place {
  user: UserEntry;
  folder: string;
  path: string;
  files: Host["files"];
  folderStat: FileStat | null;
  fileStat: FileStat | null;
  lines: string[];
}

function check(spec: AuthorizedKeySpec, host: Host): Change[] {
  const place = findPlace(spec, host);
  const before = place ? ownLines(spec, place.lines) : [];
  if (spec.ensure === "absent")
    return before.length > 0 ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  const changes: Change[] = [];
  const after = wantedLine(spec);
  if (before.length === 0) changes.push({ property: "ensure", before: "absent", after: "present" });
  if (before.length !== 1 || before[0] !== after) {
    changes.push({ property: "line", before: before.join("\n") || null, after });
  }
  if (place?.folderStat && place.folderStat.mode !== 0o700) {
    changes.push({ property: "folder_mode", before: printMode(place.folderStat.mode), after: "0700" });
  }
  if (place?.fileStat && place.fileStat.mode !== 0o600) {
    changes.push({ property: "file_mode", before: printMode(place.fileStat.mode), after: "0600" });
  }
  return changes;
}

function apply(spec: AuthorizedKeySpec, _changes: readonly Change[], host: Host, signal: AbortSignal): void {
  const place = findPlace(spec, host);
  if (!place) throw missing(`There is no user "${spec.user}".`, { user: spec.user });
  const { user, folder, path, files, folderStat, lines } = place;
  if (!host.files.stat(user.home)) throw hostError(user.home, "ENOENT");
  const { uid, gid } = user;
  signal.throwIfAborted();
  if (!folderStat) files.makeDirectory(folder, { mode: 0o700, uid, gid });
  else if (folderStat.mode !== 0o700 && spec.ensure === "present")
    files.setAttributes(folder, { mode: 0o700 });
  const edited = edit(spec, lines);
  signal.throwIfAborted();
  if (spec.remove_empty !== undefined && edited.length === 0) {
    files.removeFile(path);
    signal.throwIfAborted();
    if (spec.remove_empty === "folder" && files.list(folder).length === 0) files.removeDirectory(folder);
    return;
  }
  // Always a new file: the mode of one that stands there might be that of another name for a file of the system.
  files.writeFile(path, Buffer.from(joinLines(edited)), { mode: 0o600, uid, gid });
}

/** Null where there is no such user, perhaps not yet. `HOST_ERROR` where something else is in the way. */
function findPlace({ user: name }: AuthorizedKeySpec, host: Host): Place | null {
  const user = findUser(host, name);
  if (!user) return null;
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
    lines: splitLines(readText(path, { files, expected: fileStat })),
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
function edit(spec: AuthorizedKeySpec, lines: readonly string[]): string[] {
  const own = new Set(ownLines(spec, lines));
  const at = lines.findIndex((line) => own.has(line));
  const kept = lines.filter((line) => !own.has(line));
  if (spec.ensure === "present") kept.splice(at === -1 ? kept.length : at, 0, wantedLine(spec));
  return kept;
}

function wantedLine({ key, options, line }: AuthorizedKeySpec): string {
  return line ?? (options === undefined ? key : `${options} ${key}`);
}

/** The lines that hold the key, whatever stands before and after it. */
function ownLines({ key }: AuthorizedKeySpec, lines: readonly string[]): string[] {
  const blob = key.split(" ")[1] ?? "";
  return lines.filter((line) => !line.trimStart().startsWith("#") && line.split(/\s+/).includes(blob));
}

function capture(spec: AuthorizedKeySpec, host: Host): Prior {
  const place = findPlace(spec, host);
  const { user, key } = spec;
  const line = place && ownLines(spec, place.lines)[0];
  if (line !== null && line !== undefined) {
    return { type: "authorized_key", spec: { user, key, ensure: "present", line } };
  }
  const made = place?.folderStat ? (place.fileStat ? null : "file") : "folder";
  return {
    type: "authorized_key",
    spec: { user, key, ensure: "absent", ...(made !== null && { remove_empty: made }) },
  };
}
