/**
 * Makes the heads durable: one file `heads-<number>.journal` that takes what was added to them, one write and one sync for
 * all owners. A new file begins with all heads whole, so that those before it can be removed.
 *
 *   frame: rows or trim, one after the other
 *   rows: 1 | head | place in the head | at place 0: owner, how many ids before it it stands for, too | length | bytes
 *   trim: 2 | owner | time before which rows are hidden | last head whose rows are
 */
import { basename, join } from "node:path";
import type { Logger } from "../../../logger.ts";
import type { Disk, DiskFile } from "../disk.ts";
import { takeEach } from "../errors.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { encodeFrame, scanFrames } from "./frames.ts";
import type { Head } from "./head.ts";
import type { HeldFile } from "./held-file.ts";

const namePattern = /^heads-(\d{8})\.journal$/;
const frameBytes = 1_024 * 1_024;

/** Rows of an owner that are forgotten: those before a time, in heads up to one. */
export interface Trim {
  owner: string;
  before: number;
  last: number;
}

/** A head that was in a journal. */
export interface StoredHead {
  id: number;
  first: number;
  owner: string;
  bytes: Uint8Array;
}

/** What was in a journal. */
export interface JournalContent {
  heads: StoredHead[];
  trims: Trim[];
}

/** What a {@link HeadJournal} is made of. */
export interface HeadJournalOptions {
  disk: Disk;
  folder: string;
  logger: Logger;
  /** A new file is begun when one is larger than this, and than four times what it began with. */
  journalBytes: number;
}

/** The journal of the heads. */
export class HeadJournal {
  readonly #options: HeadJournalOptions;
  #file: DiskFile | null = null;
  #number = 0;
  #old: string[] = [];
  #size = 0;
  #fullAtBytes = 0;

  constructor(options: HeadJournalOptions) {
    this.#options = options;
  }

  /** Reads what is there. Nothing can be written before {@link begin}. */
  async read(): Promise<JournalContent> {
    const { disk, folder } = this.#options;
    const content = new Replay();
    for (const name of (await disk.list(folder)).sort()) {
      const number = Number(namePattern.exec(name)?.[1] ?? NaN);
      if (Number.isNaN(number)) continue;
      this.#number = number;
      const path = join(folder, name);
      this.#old.push(path);
      const file = await disk.open(path, "read");
      try {
        await this.#readFile(path, file, content);
      } finally {
        await file.close();
      }
    }
    return content.result();
  }

  /** Whether a new file should be begun before the next write. */
  get isDue(): boolean {
    return this.#file === null || this.#size >= this.#fullAtBytes;
  }

  /**
   * Begins a new file with all heads and trims, durable when it resolves, and removes those before it. All chunks must be
   * durable.
   */
  async begin(heads: Iterable<Head>, trims: Iterable<Trim>): Promise<void> {
    const { disk, folder } = this.#options;
    const path = join(folder, `heads-${String(++this.#number).padStart(8, "0")}.journal`);
    const file = await disk.open(path, "replace");
    const before = { file: this.#file, size: this.#size };
    this.#file = file;
    this.#size = 0;
    try {
      await this.#write(heads, { trims, whole: true });
      await disk.syncFolder(folder);
    } catch (error) {
      // The one before goes on.
      this.#file = before.file;
      this.#size = before.size;
      // Whatever the close says: a start would read it as the newer one.
      await file.close().catch(() => {});
      await disk.remove(path);
      throw error;
    }
    this.#fullAtBytes = Math.max(this.#options.journalBytes, this.#size * 4);
    const old = this.#old.splice(0, Infinity, path);
    // The new one counts from here on, whatever becomes of those before it; a start reads them, too, and removes them.
    await takeEach([() => before.file?.close(), ...old.map((replaced) => () => disk.remove(replaced))]);
  }

  /** Makes what was added to heads durable, and trims. */
  append(heads: Iterable<Head>, trims: Iterable<Trim>): Promise<void> {
    return this.#write(heads, { trims, whole: false });
  }

  /** The files that count now, opened: they can be read although a new one takes their place. */
  async hold(): Promise<HeldFile[]> {
    const current = this.#file === null ? null : this.#old.at(-1);
    const held: HeldFile[] = [];
    try {
      for (const path of this.#old) {
        const file = await this.#options.disk.open(path, "read");
        const read = (position: number, length: number): Promise<Buffer> => file.read(position, length);
        const entry = { name: basename(path), size: 0, read, release: () => file.close() };
        held.push(entry);
        // Of the current one, what is behind its size was not acknowledged.
        entry.size = path === current ? this.#size : await file.size();
      }
    } catch (error) {
      await takeEach(held.map((file) => () => file.release())).catch(() => {});
      throw error;
    }
    return held;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = null;
  }

  /** Trims come first: the heads are what they left. */
  async #write(
    heads: Iterable<Head>,
    { trims, whole }: { trims: Iterable<Trim>; whole: boolean },
  ): Promise<void> {
    const out = new ByteWriter(4_096);
    const written: [head: Head, bytes: number][] = [];
    let end = this.#size;
    const flush = async (): Promise<void> => {
      if (out.length === 0) return;
      const frame = encodeFrame(new Uint8Array(0), out.view());
      out.clear();
      await this.#file?.write(frame, end);
      end += frame.length;
    };
    for (const trim of trims) writeTrim(out, trim);
    for (const head of heads) {
      const from = whole ? 0 : head.durableBytes;
      if (from === head.length) continue;
      writeRows(out, head, from);
      written.push([head, head.length]);
      // Of an append the trims and what they left must be one frame: all or nothing.
      if (whole && out.length > frameBytes) await flush();
    }
    await flush();
    if (end === this.#size) return;
    await this.#file?.sync();
    this.#size = end;
    for (const [head, bytes] of written) head.durableBytes = bytes;
  }

  async #readFile(path: string, file: DiskFile, content: Replay): Promise<void> {
    for await (const frame of scanFrames(file)) {
      if ("isInside" in frame) {
        const fields = { file: path, offset: frame.at };
        if (frame.isInside) this.#options.logger.error("Damaged newest time series were left out.", fields);
        else this.#options.logger.warn("The torn end of the newest time series was left out.", fields);
      } else content.add(frame.body);
    }
  }
}

function writeRows(out: ByteWriter, head: Head, from: number): void {
  out.byte(1);
  out.unsigned(head.id);
  out.unsigned(from);
  if (from === 0) {
    out.text(head.owner);
    out.unsigned(head.id - head.first);
  }
  const bytes = head.bytes(from);
  out.unsigned(bytes.length);
  out.raw(bytes);
}

function writeTrim(out: ByteWriter, { owner, before, last }: Trim): void {
  out.byte(2);
  out.text(owner);
  out.float64(before);
  out.unsigned(last);
}

interface ReadHead {
  owner: string;
  first: number;
  parts: Uint8Array[];
  length: number;
}

/** Puts heads together from what was added to them. */
class Replay {
  readonly #heads = new Map<number, ReadHead>();
  readonly #trims: Trim[] = [];

  add(body: Uint8Array): void {
    const input = new ByteReader(body);
    while (!input.atEnd) {
      if (input.byte() === 1) this.#addRows(input);
      else this.#addTrim({ owner: input.text(), before: input.float64(), last: input.unsigned() });
    }
  }

  result(): JournalContent {
    const heads = [...this.#heads].map(([id, { owner, first, parts }]) => {
      return { id, owner, first, bytes: Buffer.concat(parts) };
    });
    return { heads: heads.toSorted((a, b) => a.id - b.id), trims: this.#trims };
  }

  #addRows(input: ByteReader): void {
    const id = input.unsigned();
    const place = input.unsigned();
    if (place === 0) this.#begin(id, input.text(), id - input.unsigned());
    // A copy, made at once: `from` would take byte for byte.
    const bytes = new Uint8Array(input.raw(input.unsigned()));
    const head = this.#heads.get(id);
    // What was before it may have been in a damaged frame: the rest can't be read without.
    if (head?.length !== place) return;
    head.parts.push(bytes);
    head.length += bytes.length;
  }

  #begin(id: number, owner: string, first: number): void {
    if (first < id) this.#drop(owner, first, id);
    this.#heads.set(id, { owner, first, parts: [], length: 0 });
  }

  #addTrim(trim: Trim): void {
    this.#trims.push(trim);
    this.#drop(trim.owner, 0, trim.last);
  }

  #drop(owner: string, first: number, last: number): void {
    for (const [id, head] of this.#heads) {
      if (head.owner === owner && id >= first && id <= last) this.#heads.delete(id);
    }
  }
}
