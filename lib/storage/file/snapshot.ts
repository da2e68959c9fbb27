import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Adapter } from "lowdb";
import type { Disk } from "./disk.ts";
import { corrupt } from "./errors.ts";
import { readSnapshotLines, snapshotTexts, type Snapshot } from "./snapshot-text.ts";

/** The version of the form of the data folder that this code writes. */
export const folderFormat = 1;

/** What is read where nothing was stored yet: schema versions begin at 1. */
export function emptySnapshot(): Snapshot {
  return { format: folderFormat, schema_version: 0, sequence: 0, logs: {}, collections: {} };
}

const trailerPattern = /,"crc32":"([0-9a-f]{8})"\}$/;
const trailerBytes = `,"crc32":"00000000"}`.length;

/**
 * Reads the content of a snapshot file.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT` when it does not match its checksum.
 */
export function parseSnapshot(content: Buffer, path: string): Snapshot {
  const end = content.length - trailerBytes;
  const checksum = trailerPattern.exec(content.toString("latin1", Math.max(0, end)))?.[1];
  if (checksum === undefined) throw corrupt(path, Math.max(0, end), "the snapshot has no end");
  if (crc32(content.subarray(0, end)) !== parseInt(checksum, 16)) {
    throw corrupt(path, 0, "the snapshot does not match its checksum");
  }
  try {
    return readSnapshotLines(content.subarray(0, end));
  } catch {
    throw corrupt(path, 0, "the snapshot can't be read");
  }
}

/** The content of a snapshot file, in pieces. */
export function* snapshotChunks(snapshot: Snapshot): Generator<Buffer> {
  let checksum = 0;
  for (const text of snapshotTexts(snapshot)) {
    const chunk = Buffer.from(text);
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  yield Buffer.from(`,"crc32":"${checksum.toString(16).padStart(8, "0")}"}`);
}

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
    const snapshot = parseSnapshot(content, this.#path);
    this.#bytes = content.length;
    return snapshot;
  }

  async write(snapshot: Snapshot): Promise<void> {
    const draft = `${this.#path}.tmp`;
    let bytes: number;
    try {
      bytes = await this.#writeWhole(draft, snapshot);
      await this.#disk.rename(draft, this.#path);
    } catch (error) {
      // Nobody reads it, and on a full disk it would take what little space there is.
      await this.#disk.remove(draft).catch(() => {});
      throw error;
    }
    await this.#disk.syncFolder(dirname(this.#path));
    this.#bytes = bytes;
  }

  /** Makes a new file. Resolves with its size, when it is on disk. */
  async #writeWhole(path: string, snapshot: Snapshot): Promise<number> {
    const file = await this.#disk.open(path, "replace");
    try {
      let bytes = 0;
      for (const chunk of snapshotChunks(snapshot)) {
        await file.write(chunk, bytes);
        bytes += chunk.length;
      }
      await file.sync();
      return bytes;
    } finally {
      await file.close();
    }
  }
}
