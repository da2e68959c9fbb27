import type { Adapter } from "lowdb";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { DatabaseView } from "../database.ts";
import { deepFreeze } from "../writes.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { corrupt } from "./errors.ts";

/** What `db.json` holds. */
export interface Snapshot extends DatabaseView {
  /** Version of the form of the data folder. */
  format: number;
  schema_version: number;
  /** The last journal record that is in it. */
  sequence: number;
}

/** The version of the form of the data folder that this code writes. */
export const folderFormat = 1;

/** What is read where nothing was stored yet: schema versions begin at 1. */
export function emptySnapshot(): Snapshot {
  return { format: folderFormat, schema_version: 0, sequence: 0, logs: {}, collections: {} };
}

const sliceBytes = 64 * 1_024;
const trailerPattern = /,"crc32":"([0-9a-f]{8})"\}$/;
const trailerBytes = `,"crc32":"00000000"}`.length;

/**
 * lowdb's adapter that survives power loss: a new file beside the old one, synced, renamed over it, and the name synced.
 *
 * The text is made and written in slices, with turns of the event loop between them. What is written must not change
 * meanwhile: give it a view, not the live data.
 */
export class SnapshotFile implements Adapter<Snapshot> {
  readonly #disk: Disk;
  readonly #path: string;
  #bytes = 0;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Size of the last snapshot that was read or written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {OrchestratorError} `STORAGE_CORRUPT` when it does not match its checksum. */
  async read(): Promise<Snapshot | null> {
    const content = await this.#disk.readWhole(this.#path);
    if (content === null) return null;
    const end = content.length - trailerBytes;
    const checksum = trailerPattern.exec(content.toString("latin1", Math.max(0, end)))?.[1];
    if (checksum === undefined) throw corrupt(this.#path, Math.max(0, end), "the snapshot has no end");
    if (crc32(content.subarray(0, end)) !== parseInt(checksum, 16)) {
      throw corrupt(this.#path, 0, "the snapshot does not match its checksum");
    }
    this.#bytes = content.length;
    const snapshot = JSON.parse(content.toString("utf8")) as Snapshot;
    for (const documents of Object.values(snapshot.collections)) deepFreeze(documents);
    return snapshot;
  }

  async write(snapshot: Snapshot): Promise<void> {
    const draft = `${this.#path}.tmp`;
    const file = await this.#disk.open(draft, "replace");
    let bytes: number;
    try {
      bytes = await writeSlices(file, snapshot);
      await file.sync();
    } catch (error) {
      await file.close();
      await this.#disk.remove(draft);
      throw error;
    }
    await file.close();
    await this.#disk.rename(draft, this.#path);
    await this.#disk.syncFolder(dirname(this.#path));
    this.#bytes = bytes;
  }
}

async function writeSlices(file: DiskFile, snapshot: Snapshot): Promise<number> {
  let bytes = 0;
  let checksum = 0;
  for (const text of slicesOf(snapshot)) {
    const slice = Buffer.from(text);
    checksum = crc32(slice, checksum);
    await file.write(slice, bytes);
    bytes += slice.length;
  }
  const trailer = Buffer.from(`,"crc32":"${checksum.toString(16).padStart(8, "0")}"}`);
  await file.write(trailer, bytes);
  return bytes + trailer.length;
}

/** The snapshot as JSON without its last brace, in texts of about {@link sliceBytes}; one document a line. */
function* slicesOf(snapshot: Snapshot): Generator<string> {
  const { collections, ...rest } = snapshot;
  let slice = `${JSON.stringify(rest).slice(0, -1)},"collections":{`;
  let separator = "";
  for (const [name, documents] of Object.entries(collections)) {
    slice += `${separator}\n${JSON.stringify(name)}:[`;
    for (const [index, document] of documents.entries()) {
      slice += `${index === 0 ? "\n" : ",\n"}${JSON.stringify(document)}`;
      if (slice.length < sliceBytes) continue;
      yield slice;
      slice = "";
    }
    slice += "]";
    separator = ",";
  }
  yield `${slice}}`;
}
