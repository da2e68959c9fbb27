/** What was extracted into a folder, written down in it: what a check compares with and all that a removal takes away. */
import { z } from "zod";
import { OrchestratorError } from "../../../errors.ts";
import { isGiver, isTrusted } from "../../../host/hands.ts";
import type { FileAttributes, HostFiles } from "../../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import { nextTurn } from "../../../internal/next-turn.ts";
import type { PathsSaid } from "../../resource-type.ts";
import type { Machine } from "../shared/command.ts";
import { sha256Schema } from "../shared/properties.ts";
import type { ListedEntry } from "./list.ts";

/** Name of the stamp, in the folder. */
export const stampName = ".fleetwright-archive";

// Whoever may write into the folder may write the stamp: it is trusted as little as an archive.
const nameSchema = z
  .string()
  .min(1)
  .max(4096)
  .refine((name) => name.split("/").every((part) => part !== "" && part !== "." && part !== ".."));

const stampSchema = z.strictObject({
  /** Of the archive. */
  sha256: sha256Schema,
  strip_components: z.number(),
  /** False while it is being extracted: what is named may be there or not. */
  complete: z.boolean(),
  entries: z.array(
    z.strictObject({
      name: nameSchema,
      kind: z.enum(["file", "folder", "link"]),
      /** SHA-256 of a file, target of a link. */
      content: z.string().nullable(),
      /** Permission bits, where the archive says them. */
      mode: z.int().min(0).max(0o777).optional(),
    }),
  ),
});

/** What was extracted. Folders are those that were not there before. */
export type Stamp = z.infer<typeof stampSchema>;
export type StampEntry = Stamp["entries"][number];

/**
 * Reads the stamp; null where there is none. `HOST_ERROR` where it can't be read as one. One of an unprivileged user names only what
 * he could take away himself.
 */
export function readStamp(files: HostFiles, folder: string): Stamp | null {
  const path = `${folder}/${stampName}`;
  const stat = files.stat(path);
  if (stat?.kind !== "file") return null;
  try {
    const stamp = stampSchema.parse(JSON.parse(Buffer.from(files.readFile(path, stat)).toString()));
    return isTrusted(stat.uid)
      ? stamp
      : { ...stamp, entries: ownEntries(stamp.entries, stat.uid, { files, folder }) };
  } catch (cause) {
    const message = `${path} is not what was written there.`;
    throw new OrchestratorError("HOST_ERROR", { message, details: { path }, cause });
  }
}

/** The entries that stand in folders of one owner, all the way down. */
function ownEntries(
  entries: readonly StampEntry[],
  uid: number,
  { files, folder }: { files: HostFiles; folder: string },
): StampEntry[] {
  const inside = files.below(folder);
  const known = new Map([["", files.stat(folder)?.uid === uid]]);
  const isOwn = (name: string): boolean => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const isHis = isOwn(aboveOf(name)) && inside.stat(`${folder}/${name}`)?.uid === uid;
    known.set(name, isHis);
    return isHis;
  };
  return entries.filter(({ name }) => isOwn(aboveOf(name)));
}

const aboveOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("/")));

/** Writes the stamp, for the agent alone, whatever stood there before. */
export function writeStamp(files: HostFiles, folder: string, stamp: Stamp): void {
  const options = { mode: 0o600, fresh: true };
  files.writeFile(`${folder}/${stampName}`, Buffer.from(JSON.stringify(stamp)), options);
}

/** What stands of an entry, as the stamp writes it; null where something else stands, or nothing. */
export function contentOf(
  files: HostFiles,
  { path, kind }: { path: string; kind: ListedEntry["kind"] },
  { signal }: Machine,
): MaybeWaiting<string | null> {
  const stat = files.stat(path);
  if (kind === "folder") return stat?.kind === "directory" ? "" : null;
  if (kind === "link") return stat?.kind === "symlink" ? files.readLink(path) : null;
  if (stat?.kind !== "file") return null;
  return andThen(files.hashFile(path, signal), ({ sha256 }) => sha256);
}

/** Goes through many entries without holding up the process. */
export async function eachEntry<T>(
  entries: Iterable<T>,
  { signal }: Machine,
  use: (entry: T) => MaybeWaiting<void>,
): Promise<void> {
  let count = 0;
  for (const entry of entries) {
    signal.throwIfAborted();
    const using = use(entry);
    if (using instanceof Promise) await using;
    count += 1;
    if (count % 32 === 0) await nextTurn();
  }
}

/** Takes entries away, files before the folders that hold them; a folder that holds more stays. */
export async function removeEntries(
  folder: string,
  entries: readonly StampEntry[],
  machine: Machine,
): Promise<void> {
  const files = machine.host.files.below(folder);
  const deepestFirst = entries.toSorted((a, b) => b.name.split("/").length - a.name.split("/").length);
  await eachEntry(deepestFirst, machine, ({ name, kind }) => {
    const path = `${folder}/${name}`;
    const stat = files.stat(path);
    if (kind !== "folder") {
      if (stat?.kind === "file" || stat?.kind === "symlink") files.removeFile(path);
    } else if (stat?.kind === "directory" && files.list(path).length === 0) files.removeDirectory(path);
  });
}

/** Whether a folder, or what is in it, is there still where these are taken away: it was not made by us, or holds what others put there. */
export function staysFilled(
  folder: string,
  name: string,
  { going, files }: { going: ReadonlyMap<string, StampEntry["kind"]>; files: HostFiles },
): boolean {
  const path = `${folder}/${name}`;
  const stat = files.stat(path);
  if (stat === null) return false;
  if (going.get(name) !== "folder")
    return !going.has(name) || (stat.kind !== "file" && stat.kind !== "symlink");
  if (stat.kind !== "directory") return true;
  return files.list(path).some((each) => staysFilled(folder, `${name}/${each}`, { going, files }));
}

/** Tells whether another resource says something of a path in the folder. */
export function saidOf({
  said = {},
}: {
  said?: Readonly<Record<string, readonly string[]>> | undefined;
}): IsSaid {
  const paths = new Map(Object.entries(said).map(([what, of]) => [what, new Set(of)]));
  return (what, path) => paths.get(what)?.has(path) === true;
}

export type IsSaid = (what: keyof PathsSaid, path: string) => boolean;

/**
 * What of the entries stays as other resources have it, also where their modules are not applied now: files of which one says all of the
 * content, or that there are none, and the attributes that one says of what stands there.
 */
export function leftToOthers(
  path: string,
  coming: readonly StampEntry[],
  { isSaid, files, owner }: { isSaid: IsSaid; files: HostFiles; owner: FileAttributes },
): { left: ReadonlySet<string>; keeps: boolean; keptOf: (name: string) => FileAttributes } {
  const left = new Set<string>();
  const kept = new Map<string, FileAttributes>();
  for (const { name, kind } of coming) {
    const place = `${path}/${name}`;
    const says = (what: keyof PathsSaid): boolean => isSaid(what, place);
    const isOwned = says("mode") || says("owner") || says("group");
    // What somebody else may put there in its place says nothing.
    const isHeld = (isOwned || says("whole")) && files.ledBy(place.slice(0, place.lastIndexOf("/"))) === null;
    const stat = isHeld ? files.stat(place) : null;
    const next = says("owner") ? stat?.uid : owner.uid;
    // What an unprivileged user wrote is given to nobody else.
    const stays = says("whole") && stat !== null && isGiver(stat, next);
    if (kind !== "folder" && (says("absent") || stays)) left.add(name);
    if (!isOwned || stat === null || stat.kind === "symlink") continue;
    const { uid, gid } = stat;
    const after = says("owner") ? uid : (owner.uid ?? (left.has(name) ? uid : 0));
    const speaks = isTrusted(uid) || (says("owner") && says("group"));
    const mode = speaks ? stat.mode : stat.mode & 0o1777;
    kept.set(name, {
      ...(says("mode") && isGiver(stat, after) && { mode }),
      ...(says("owner") && { uid }),
      ...(says("group") && { gid }),
    });
  }
  return { left, keeps: kept.size > 0, keptOf: (name) => kept.get(name) ?? {} };
}
