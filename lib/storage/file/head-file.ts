/**
 * How far the journal goes, in the small file `head`: written after each record that is durable and never before, so that a
 * journal which ends earlier has lost what was answered. That costs no sync of its own: it is synced once a second and with
 * each new segment. A killed process leaves it exact; after a loss of power it may be a second behind, which proves less.
 *
 * Two places are written in turn, each with a checksum: what a power loss tears is one of them.
 */
import { join } from "node:path";
import { isOrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { isPassing, storageError } from "./errors.ts";
import { decodeRecord, encodeRecord } from "./record.ts";

/** How far a journal goes. */
export interface Head {
  /** Sequence of the last record. */
  sequence: number;
  /** Number of the segment that has it. */
  journal: number;
}

/** A sector each: no power loss tears both. */
const placeBytes = 512;
const fileName = "head";

/** Reads what was noted last; null where nothing was, or nothing of it can be read. */
export async function readHead(disk: Disk, folder: string): Promise<Head | null> {
  const content = await disk.readWhole(join(folder, fileName));
  if (content === null) return null;
  let head: Head | null = null;
  for (const at of [0, placeBytes]) {
    const record = decodeRecord(content, at);
    if (record === null || record.sequence < (head?.sequence ?? 0)) continue;
    head = { sequence: record.sequence, journal: (JSON.parse(record.text) as { journal: number }).journal };
  }
  return head;
}

/** Notes how far the journal goes. */
export class HeadFile {
  readonly #file: DiskFile;
  #isDirty = false;

  private constructor(file: DiskFile) {
    this.#file = file;
  }

  /** Opens the file for writing, and notes a head in both places: no older one counts any more. */
  static async open(disk: Disk, folder: string, head: Head): Promise<HeadFile> {
    const file = await disk.open(join(folder, fileName), "note");
    try {
      const place = Buffer.alloc(placeBytes);
      textOf(head).copy(place);
      await file.write(Buffer.concat([place, place]), 0);
      await file.sync();
      await disk.syncFolder(folder);
    } catch (error) {
      await file.close();
      throw storageError(error);
    }
    return new HeadFile(file);
  }

  /** Notes a head that is durable. Without space for it the one before stays, which is true as well. */
  async note(head: Head): Promise<void> {
    this.#isDirty = true;
    try {
      await this.#file.write(textOf(head), (head.sequence % 2) * placeBytes);
    } catch (error) {
      const failure = storageError(error);
      if (failure.code !== "STORAGE_FULL") throw failure;
    }
  }

  /** Makes durable what was noted. */
  async settle(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    try {
      await this.#file.sync();
    } catch (error) {
      this.#isDirty = true;
      throw storageError(error);
    }
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** The head of a journal for as long as it is written, also where there is no space to note it at first. */
export class HeadNotes {
  readonly #parts: { disk: Disk; folder: string; logger: Logger };
  #file: HeadFile | null = null;
  #opening: Promise<void> | null = null;

  constructor(parts: { disk: Disk; folder: string; logger: Logger }) {
    this.#parts = parts;
  }

  /** Begins to note. Without space for it, or with a lack that passes, what was noted before stays, which is less, and true. */
  async open(head: Head): Promise<void> {
    const { disk, folder, logger } = this.#parts;
    try {
      this.#file = await HeadFile.open(disk, folder, head);
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL") && !isPassing(error)) throw error;
      logger.debug("How far the journal goes can't be noted now.", { error });
    }
  }

  /** Notes a head that is durable. */
  async note(head: Head): Promise<void> {
    await this.#file?.note(head);
  }

  /** Makes durable what was noted; where nothing could be, it is tried again with the head of now. */
  async settle(head: Head): Promise<void> {
    if (this.#file === null) await (this.#opening ??= this.open(head).finally(() => (this.#opening = null)));
    else await this.#file.settle();
  }

  async close(): Promise<void> {
    await this.#opening;
    await this.#file?.close();
  }
}

function textOf({ sequence, journal }: Head): Buffer {
  return encodeRecord(sequence, `{"journal":${journal}}`);
}
