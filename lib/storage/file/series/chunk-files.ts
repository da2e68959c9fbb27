/**
 * Chunks of many owners in a few large files `<tier>-<number>.chunks`, appended to and never changed. A new file is begun
 * after a time, after a size and after every start; one that is full gets an index; one that holds no chunk in use is
 * removed whole.
 */
import { basename, join } from "node:path";
import type { Clock } from "../../../clock.ts";
import type { Logger } from "../../../logger.ts";
import type { Disk, DiskFile } from "../disk.ts";
import { takeEach } from "../errors.ts";
import { ChunkIndex, decodeHead, encodeHead, readIndex, type ChunkHead } from "./chunk-index.ts";
import { decodeFrame, encodeFrame, scanFrames } from "./frames.ts";
import type { HeldFile } from "./held-file.ts";

const maxFileBytes = 256 * 1_024 * 1_024;

/** Where a chunk is. */
export interface Chunk extends Omit<ChunkHead, "owner"> {
  readonly file: ChunkFile;
  readonly at: number;
  readonly length: number;
}

/** One file of chunks. */
export interface ChunkFile {
  readonly path: string;
  readonly file: DiskFile;
  readonly beganAt: number;
  size: number;
  /** Chunks in it that are in use. */
  used: number;
  /** Reads under way. */
  readers: number;
  /** Least id of a head that went into it. */
  oldest: number;
  isSynced: boolean;
  /** What its index will hold; null when that is written. */
  index: ChunkIndex | null;
}

/** What {@link ChunkFiles} is made of. */
export interface ChunkFilesOptions {
  disk: Disk;
  folder: string;
  clock: Clock;
  logger: Logger;
  tier: string;
  /** A file takes new chunks for so long. */
  fileMs: number;
}

/** The chunks of one tier. */
export class ChunkFiles {
  readonly #options: ChunkFilesOptions;
  #files: ChunkFile[] = [];
  #current: ChunkFile | null = null;
  #number = 0;
  #unsyncedNames = false;

  constructor(options: ChunkFilesOptions) {
    this.#options = options;
  }

  /**
   * Finds the chunks that are there, in files with an index by that. Of others, damaged chunks are left out, with a line in
   * the log.
   */
  async open(found: (owner: string, chunk: Chunk) => void): Promise<void> {
    const { disk, folder, tier } = this.#options;
    const pattern = new RegExp(`^${tier}-(\\d{8})\\.chunks$`);
    for (const name of (await disk.list(folder)).sort()) {
      const number = Number(pattern.exec(name)?.[1] ?? NaN);
      if (Number.isNaN(number)) continue;
      this.#number = number;
      this.#unsyncedNames = true;
      const path = join(folder, name);
      // What is read now may be in the system's cache only: it counts as not synced.
      const file = this.#add(path, await disk.open(path, "update"));
      await this.#find(file, found);
    }
  }

  /** Writes chunks at the end. Durable after {@link sync}. */
  async append(chunks: readonly { head: ChunkHead; body: Uint8Array }[]): Promise<Chunk[]> {
    const target = await this.#fileToFill();
    let at = target.size;
    const frames = chunks.map(({ head, body }) => encodeFrame(encodeHead(head), body));
    target.isSynced = false;
    try {
      await target.file.write(Buffer.concat(frames), at);
    } catch (error) {
      // A start would find those that are whole, beside the chunks that take their place.
      await target.file.truncate(at);
      throw error;
    }
    const written = chunks.map(({ head }, index) => {
      const length = (frames[index] as Buffer).length;
      const chunk = this.#chunkOf(target, head, { at, length });
      target.index?.add({ at, length, head });
      at += length;
      return chunk;
    });
    target.size = at;
    return written;
  }

  /** The body of a chunk; null when it is damaged. The caller holds its file by `readers`. */
  async read({ file, at, length }: Chunk): Promise<Uint8Array | null> {
    return decodeFrame(await file.file.read(at, length))?.body ?? null;
  }

  /** Makes all that was appended durable. */
  async sync(): Promise<void> {
    for (const file of this.#files) {
      if (file.isSynced) continue;
      file.isSynced = true;
      try {
        await file.file.sync();
      } catch (error) {
        file.isSynced = false;
        throw error;
      }
    }
    if (!this.#unsyncedNames) return;
    await this.#options.disk.syncFolder(this.#options.folder);
    this.#unsyncedNames = false;
  }

  /**
   * Writes the index of the files that take no more chunks; with "all" of every file, which then takes no more. All chunks
   * must be durable: a start believes an index.
   */
  async writeIndexes(which: "full" | "all"): Promise<void> {
    if (which === "all") this.#current = null;
    for (const target of this.#files) {
      if (target === this.#current || target.index === null) continue;
      const bytes = target.index.encode();
      await target.file.write(bytes, target.size);
      target.size += bytes.length;
      target.isSynced = false;
      target.index = null;
    }
  }

  /** Removes the files without a chunk in use. What took their place must be durable. */
  async removeUnused(): Promise<void> {
    for (const file of this.#files.filter(({ used, readers, size }) => used + readers === 0 && size > 0)) {
      if (file === this.#current) this.#current = null;
      // One that can't be removed now is tried again: a start would find its chunks.
      await this.#options.disk.remove(file.path);
      this.#files = this.#files.filter((other) => other !== file);
      await file.file.close();
    }
  }

  /** The files as they are now. None of them is removed until it is let go. */
  hold(): HeldFile[] {
    return this.#files.map((held) => {
      const { path, file, size } = held;
      held.readers++;
      return {
        name: basename(path),
        size,
        read: (position, length) => file.read(position, length),
        release: async () => void held.readers--,
      };
    });
  }

  /** Least id of a head that went into any of the files. */
  get oldest(): number {
    return this.#files.reduce((least, { oldest }) => Math.min(least, oldest), Infinity);
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#files.reduce((sum, { size }) => sum + size, 0);
  }

  async close(): Promise<void> {
    await takeEach(
      this.#files.splice(0).map(
        ({ file }) =>
          () =>
            file.close(),
      ),
    );
  }

  async #find(target: ChunkFile, found: (owner: string, chunk: Chunk) => void): Promise<void> {
    const { logger } = this.#options;
    target.size = await target.file.size();
    const entries = await readIndex(target.file);
    if (entries !== null) {
      target.index = null;
      for (const { head, at, length } of entries)
        found(head.owner, this.#chunkOf(target, head, { at, length }));
      return;
    }
    for await (const frame of scanFrames(target.file)) {
      if ("isInside" in frame) {
        const fields = { file: target.path, offset: frame.at };
        if (frame.isInside) logger.error("Damaged time series were left out.", fields);
        else logger.warn("The torn end of a file of time series was left out.", fields);
        continue;
      }
      // An index that something stands behind, so that it was not found.
      if (frame.head.length === 0) continue;
      const head = decodeHead(frame.head);
      const { at, length } = frame;
      target.index?.add({ at, length, head });
      found(head.owner, this.#chunkOf(target, head, { at, length }));
    }
  }

  #chunkOf(file: ChunkFile, head: ChunkHead, { at, length }: { at: number; length: number }): Chunk {
    const { first, last, from, to, sealedAt } = head;
    file.used++;
    file.oldest = Math.min(file.oldest, first);
    return { first, last, from, to, sealedAt, file, at, length };
  }

  async #fileToFill(): Promise<ChunkFile> {
    const { disk, folder, clock, tier, fileMs } = this.#options;
    const current = this.#current;
    const isOpen = current !== null && clock.monotonic() - current.beganAt < fileMs;
    if (isOpen && current.size < maxFileBytes) return current;
    const number = String(this.#number + 1).padStart(8, "0");
    const path = join(folder, `${tier}-${number}.chunks`);
    const file = await disk.open(path, "replace");
    this.#number++;
    this.#unsyncedNames = true;
    this.#current = this.#add(path, file);
    return this.#current;
  }

  #add(path: string, file: DiskFile): ChunkFile {
    const beganAt = this.#options.clock.monotonic();
    const added: ChunkFile = {
      path,
      file,
      beganAt,
      size: 0,
      used: 0,
      readers: 0,
      oldest: Infinity,
      isSynced: false,
      index: new ChunkIndex(),
    };
    this.#files.push(added);
    return added;
  }
}
