/**
 * Extracting and taking away:
 *
 * ```
 * archive fetched ──listed, refused where unsafe──> stamp (not complete) ──old entries removed, extracted──> stamp (complete)
 * ```
 * The stamp names everything before it is there, so that whatever an interrupted try left is known to be ours.
 */
import { OrchestratorError } from "../../../errors.ts";
import type { HostFiles } from "../../../host/host.ts";
import type { ListedEntry } from "./list.ts";
import { type ArchiveFile, type ArchiveFormat, extractArchive, formatOf, listArchive } from "./program.ts";
import {
  contentOf,
  eachEntry,
  readStamp,
  removeEntries,
  type Stamp,
  type StampEntry,
  stampName,
  writeStamp,
} from "./stamp.ts";
import { toFileAttributes } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import { relativeToRoot } from "../git/program.ts";

/** Which archive, and where it goes. */
export interface ArchiveProperties {
  path: string;
  source?: string | undefined;
  sha256?: string | undefined;
  format?: ArchiveFormat | undefined;
  strip_components: number;
  owner?: string | undefined;
  group?: string | undefined;
  keep_folder?: boolean | undefined;
}

/** Brings a folder to what the archive holds. */
export async function extractInto(spec: ArchiveProperties, machine: Machine): Promise<void> {
  const { host, signal } = machine;
  const { path, source = "" } = spec;
  const owner = toFileAttributes({ owner: spec.owner, group: spec.group }, host);
  signal.throwIfAborted();
  if (!host.files.stat(path)) host.files.makeDirectory(path, { mode: 0o755, ...owner });
  const fetched = source.startsWith("/") ? null : `${path}/${stampName}.download`;
  try {
    const sha256 = await obtain(spec, fetched, machine);
    const format = spec.format ?? formatOf(source) ?? "tar";
    const file = { path: fetched ?? source, format, strip: spec.strip_components };
    await extract({ path, file, sha256, owner }, machine);
  } finally {
    if (fetched !== null && host.files.stat(fetched)) host.files.removeFile(fetched);
  }
  signal.throwIfAborted();
  // What a program wrote is known to nobody who could make it durable one by one.
  await host.run({ argv: ["sync", "-f", relativeToRoot(path)] }, signal);
}

/** Gets the archive where it is elsewhere; its hash. */
async function obtain(
  spec: ArchiveProperties,
  fetched: string | null,
  { host, signal }: Machine,
): Promise<string> {
  const { source = "", sha256 } = spec;
  signal.throwIfAborted();
  if (fetched !== null) {
    const request = { url: source, path: fetched, sha256: sha256 ?? "", attributes: { mode: 0o600 } };
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
  sha256: string;
  owner: { uid?: number; gid?: number };
}

async function extract({ path, file, sha256, owner }: Extraction, machine: Machine): Promise<void> {
  const { signal } = machine;
  const { files } = machine.host;
  const inside = files.below(path);
  const old = readStamp(files, path);
  const listed = await listArchive(file, machine);
  const own = new Map((old?.entries ?? []).map((entry) => [entry.name, entry]));
  const coming = await plan(path, listed, { own, files: inside, machine });
  const kinds = new Map(listed.map(({ name, kind }) => [name, kind]));
  const leaving = [...own.values()].filter(({ name, kind }) => kinds.get(name) !== kind);
  const stamp: Stamp = {
    sha256,
    strip_components: file.strip,
    complete: false,
    entries: [...coming, ...leaving],
  };
  signal.throwIfAborted();
  writeStamp(files, path, { ...stamp, entries: unique(stamp.entries) });
  await removeEntries(path, leaving, machine);
  await extractArchive(file, path, machine);
  await eachEntry(coming, machine, async (entry) => {
    const place = `${path}/${entry.name}`;
    if (entry.kind !== "link" && Object.keys(owner).length > 0) inside.setAttributes(place, owner);
    entry.content = await contentOf(inside, { path: place, kind: entry.kind }, machine);
    if (entry.content === null) throw refuse(place, "was not extracted");
  });
  signal.throwIfAborted();
  writeStamp(files, path, { ...stamp, complete: true, entries: coming });
}

/** What will be ours: folders that stand already are not. `HOST_ERROR` where something of somebody else's is in the way. */
async function plan(
  path: string,
  listed: readonly ListedEntry[],
  { own, files, machine }: { own: ReadonlyMap<string, StampEntry>; files: HostFiles; machine: Machine },
): Promise<StampEntry[]> {
  const coming = new Map<string, StampEntry>();
  const want = (name: string, kind: ListedEntry["kind"]): void => {
    if (name === stampName || name.startsWith(`${stampName}.`)) throw refuse(name, "is a name of our own");
    const stat = files.stat(`${path}/${name}`);
    if (stat && !own.has(name)) {
      if (kind === "folder" && stat.kind === "directory") return;
      throw refuse(`${path}/${name}`, "stands there already and is left alone");
    }
    coming.set(name, { name, kind, content: null });
  };
  await eachEntry(listed, machine, ({ name, kind }) => {
    // An archive need not name the folders that it makes.
    const parts = name.split("/");
    for (let count = 1; count < parts.length; count += 1) {
      const above = parts.slice(0, count).join("/");
      if (!coming.has(above)) want(above, "folder");
    }
    want(name, kind);
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
  if (stamp) {
    await removeEntries(path, stamp.entries, machine);
    machine.signal.throwIfAborted();
    files.removeFile(`${path}/${stampName}`);
  }
  machine.signal.throwIfAborted();
  if (spec.keep_folder !== true && files.list(path).length === 0) files.removeDirectory(path);
}

function refuse(path: string, why: string): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message: `${path} ${why}.`, details: { path } });
}
