/**
 * Extracting and taking away:
 *
 * ```
 * archive fetched ──listed, refused where unsafe or too large──> stamp (not complete) ──old entries removed, extracted──> stamp (complete)
 * ```
 * The stamp names everything before it is there, so that whatever an interrupted try left is known to be ours.
 */
import { OrchestratorError } from "../../../errors.ts";
import type { FileAttributes, FileStat, HostFiles } from "../../../host/host.ts";
import { toFileAttributes } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import { obstacle } from "../shared/obstacle.ts";
import { ArchiveLimit } from "./limit.ts";
import type { ListedEntry } from "./list.ts";
import { type ArchiveFile, type ArchiveFormat, extractArchive, formatOf, listArchive } from "./program.ts";
import { Stage } from "./stage.ts";
import {
  contentOf,
  eachEntry,
  type IsSaid,
  leftToOthers,
  readStamp,
  removeEntries,
  saidOf,
  type Stamp,
  type StampEntry,
  stampName,
  staysFilled,
  writeStamp,
} from "./stamp.ts";

/** Which archive, and where it goes. */
export interface ArchiveProperties {
  path: string;
  source?: string | undefined;
  sha256?: string | undefined;
  format?: ArchiveFormat | undefined;
  strip_components: number;
  max_bytes: number;
  owner?: string | undefined;
  group?: string | undefined;
  keep_folder?: boolean | undefined;
  /** Paths that are another resource's, too: what an archive does not hold any more is left there. */
  staying?: readonly string[] | undefined;
  /** What others say of paths in the folder. */
  said?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** Where the archive itself is in a folder while it is extracted. */
export function downloadIn(folder: string): string {
  return `${folder}/${stampName}.download`;
}

/** Brings a folder to what the archive holds. */
export async function extractInto(spec: ArchiveProperties, machine: Machine): Promise<void> {
  const { host, signal } = machine;
  const { path, source = "" } = spec;
  const owner = toFileAttributes({ owner: spec.owner, group: spec.group }, host);
  signal.throwIfAborted();
  if (!host.files.stat(path)) host.files.makeDirectory(path, { mode: 0o755, ...owner });
  const stage = new Stage(path, machine);
  // Whoever can change the folder must not change the archive once it was looked at.
  const isLed = (place: string): boolean => place.startsWith("/") && host.files.ledBy(place) !== null;
  if (isLed(path) || isLed(source)) stage.open();
  const isFetched = !source.startsWith("/") || isLed(source);
  const fetched = isFetched ? downloadIn(stage.folder ?? path) : null;
  try {
    const sha256 = await obtain(spec, fetched, machine);
    const format = spec.format ?? formatOf(source) ?? "tar";
    const file = { path: fetched ?? source, format, strip: spec.strip_components };
    const limit = new ArchiveLimit(source.startsWith("/") ? source : `for ${path}`, spec.max_bytes);
    const staying = new Set(spec.staying);
    const isSaid = saidOf(spec);
    await extract({ path, file, limit, sha256, owner, stage, staying, isSaid }, machine);
  } finally {
    if (fetched !== null && host.files.stat(fetched)) host.files.removeFile(fetched);
    stage.close();
  }
  signal.throwIfAborted();
  // What a program wrote is known to nobody who could make it durable one by one.
  await host.run({ argv: ["sync", "-f", "."], cwd: path }, signal);
}

/** Gets the archive where it is elsewhere; its hash. */
async function obtain(
  spec: ArchiveProperties,
  fetched: string | null,
  { host, signal }: Machine,
): Promise<string> {
  const { source = "", sha256 } = spec;
  signal.throwIfAborted();
  if (fetched !== null && source.startsWith("/")) {
    const kept = await host.backups.save(source, { signal });
    if (sha256 !== undefined && sha256 !== kept.sha256) return hashSource(spec, { host, signal });
    await host.backups.restore(kept.sha256, fetched, { mode: 0o600, fresh: true, signal });
    return kept.sha256;
  }
  if (fetched !== null) {
    const request = {
      url: source,
      path: fetched,
      sha256: sha256 ?? "",
      attributes: { mode: 0o600, fresh: true },
    };
    return (await host.download(request, signal)).sha256;
  }
  return hashSource(spec, { host, signal });
}

/** The hash of an archive on the machine. `HOST_ERROR` where there is none, or another than the one that is wanted. */
export async function hashSource(
  { source = "", sha256 }: ArchiveProperties,
  { host, signal }: Machine,
): Promise<string> {
  const found = (await host.files.hashFile(source, signal)).sha256;
  if (sha256 === undefined || sha256 === found) return found;
  const message = `The SHA-256 of ${source} is ${found}, not ${sha256}.`;
  throw new OrchestratorError("HOST_ERROR", { message, details: { path: source } });
}

interface Extraction {
  path: string;
  file: ArchiveFile;
  limit: ArchiveLimit;
  sha256: string;
  owner: { uid?: number; gid?: number };
  stage: Stage;
  staying: ReadonlySet<string>;
  isSaid: IsSaid;
}

async function extract(extraction: Extraction, machine: Machine): Promise<void> {
  const { path, file, limit, sha256, owner, stage, staying, isSaid } = extraction;
  const { signal } = machine;
  const { files } = machine.host;
  const inside = files.below(path);
  const old = readStamp(files, path);
  const listed = await listArchive(file, limit, machine);
  // Only what turns out to be what was listed is put into its place.
  if (listed.some(({ isDoubtful }) => isDoubtful)) stage.open();
  const own = new Map((old?.entries ?? []).map((entry) => [entry.name, entry]));
  const kinds = new Map(listed.map(({ name, kind }) => [name, kind]));
  const leaving = [...own.values()].filter(({ name, kind }) => {
    return kinds.get(name) !== kind && (kinds.has(name) || !staying.has(`${path}/${name}`));
  });
  const coming = await plan(path, listed, { own, leaving, staying, files: inside, machine });
  const stamp: Stamp = {
    sha256,
    strip_components: file.strip,
    complete: false,
    entries: [...coming, ...leaving],
  };
  signal.throwIfAborted();
  writeStamp(files, path, { ...stamp, entries: unique(stamp.entries) });
  await removeEntries(path, leaving, machine);
  const folders = new Set(coming.map(({ name }) => name.slice(0, Math.max(0, name.lastIndexOf("/")))));
  await eachEntry(folders, machine, (name) => {
    if (files.ledBy(`${path}/${name}`) !== null) stage.open();
  });
  const { left, keeps, keptOf } = leftToOthers(path, coming, { isSaid, files: inside, owner });
  // Only what is extracted elsewhere can be left out.
  if (left.size > 0 || keeps) stage.open();
  const standing = stage.folder === null ? foldersOfOthers({ path, listed, own }, inside) : [];
  await extractArchive(file, stage.folder ?? path, machine);
  for (const [folder, { mode, uid, gid }] of standing) await inside.setAttributes(folder, { mode, uid, gid });
  const work = stage.work;
  const attributesOf = ({ name, mode }: StampEntry): FileAttributes => {
    return { ...owner, ...(mode !== undefined && { mode }), ...keptOf(name) };
  };
  await eachEntry(coming, machine, async (entry) => {
    const place = `${work.folder}/${entry.name}`;
    const attributes = attributesOf(entry);
    // A folder gets what it is to have when it is filled.
    const isDressed = entry.kind === "file" || (entry.kind === "folder" && stage.folder === null);
    if (isDressed && Object.keys(attributes).length > 0) await work.files.setAttributes(place, attributes);
    entry.content = await contentOf(work.files, { path: place, kind: entry.kind }, machine);
    if (entry.content === null) throw refuse(`${path}/${entry.name}`, "was not extracted");
  });
  await stage.empty(
    coming.filter(({ name }) => !left.has(name)),
    { owner, keptOf },
  );
  await eachEntry(coming, machine, async (entry) => {
    const place = `${path}/${entry.name}`;
    // What stands where nothing is to be is somebody's.
    const isOurs = left.has(entry.name) && !isSaid("absent", place);
    if (isOurs && inside.stat(place)?.kind === "file") await inside.setAttributes(place, attributesOf(entry));
  });
  signal.throwIfAborted();
  writeStamp(files, path, { ...stamp, complete: true, entries: coming });
}

/** What tar does to the folders that an archive names and that were there before is put right again. */
function foldersOfOthers(
  { path, listed, own }: { path: string; listed: readonly ListedEntry[]; own: ReadonlyMap<string, unknown> },
  files: HostFiles,
): Map<string, FileStat> {
  const standing = new Map<string, FileStat>();
  const names = listed.filter(({ name, kind }) => kind === "folder" && !own.has(name));
  for (const folder of [path, ...names.map(({ name }) => `${path}/${name}`)]) {
    const stat = files.stat(folder);
    if (stat?.kind === "directory") standing.set(folder, stat);
  }
  return standing;
}

interface Standing {
  own: ReadonlyMap<string, StampEntry>;
  /** Those of ours that are taken away before anything is extracted. */
  leaving: readonly StampEntry[];
  staying: ReadonlySet<string>;
  files: HostFiles;
  machine: Machine;
}

/** What will be ours: folders that stand already are not. `HOST_ERROR` where something of somebody else's is in the way. */
async function plan(
  path: string,
  listed: readonly ListedEntry[],
  { own, leaving, staying, files, machine }: Standing,
): Promise<StampEntry[]> {
  const coming = new Map<string, StampEntry>();
  const going = new Map(leaving.map((entry) => [entry.name, entry.kind]));
  const places = new Set(leaving.filter(({ kind }) => kind !== "folder").map(({ name }) => name));
  // Folders in the place of something of ours, such as a link, which is gone by then: nothing is below them, wherever it leads.
  const cleared = new Set<string>();
  const want = ({ name, kind, mode }: Omit<ListedEntry, "size">): void => {
    if (name === stampName || name.startsWith(`${stampName}.`)) throw refuse(name, "is a name of our own");
    const isBelow = cleared.has(name.slice(0, Math.max(0, name.lastIndexOf("/"))));
    const stat = isBelow ? null : files.stat(`${path}/${name}`);
    const replaces = places.has(name) && stat !== null && stat.kind !== "directory";
    if (kind === "folder" && (isBelow || replaces)) cleared.add(name);
    if (stat && !own.has(name)) {
      if (kind === "folder" && stat.kind === "directory") return;
      throw refuse(`${path}/${name}`, "stands there already and is left alone");
    }
    const isInWay = stat?.kind === "directory" && kind !== "folder" && !staying.has(`${path}/${name}`);
    if (isInWay && staysFilled(path, name, { going, files })) throw obstacle(`${path}/${name}`, stat);
    const says = mode !== null && kind !== "link" && { mode };
    coming.set(name, { name, kind, content: null, ...says });
  };
  await eachEntry(listed, machine, (entry) => {
    // An archive need not name the folders that it makes.
    const parts = entry.name.split("/");
    for (let count = 1; count < parts.length; count += 1) {
      const above = parts.slice(0, count).join("/");
      if (!coming.has(above)) want({ name: above, kind: "folder", mode: null });
    }
    want(entry);
  });
  return [...coming.values()];
}

function unique(entries: readonly StampEntry[]): StampEntry[] {
  return [...new Map(entries.map((entry) => [entry.name, entry])).values()];
}

/** Takes away what was extracted, and the folder where it was made for it and is empty then. */
export async function removeExtracted(spec: ArchiveProperties, machine: Machine): Promise<void> {
  const { path } = spec;
  const { files } = machine.host;
  const stamp = readStamp(files, path);
  const fetched = downloadIn(path);
  machine.signal.throwIfAborted();
  if (files.stat(fetched)?.kind === "file") files.removeFile(fetched);
  if (stamp) {
    const staying = new Set(spec.staying);
    const going = stamp.entries.filter(({ name }) => !staying.has(`${path}/${name}`));
    await removeEntries(path, going, machine);
    machine.signal.throwIfAborted();
    files.removeFile(`${path}/${stampName}`);
  }
  machine.signal.throwIfAborted();
  if (spec.keep_folder !== true && files.list(path).length === 0) files.removeDirectory(path);
}

function refuse(path: string, why: string): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message: `${path} ${why}.`, details: { path } });
}
