import type { JsonObject } from "../../json.ts";
import { deepFreeze } from "../deep-freeze.ts";
import type { LogEntry } from "../storage.ts";
import { errorCodeOf, type Disk, type DiskFile } from "./disk.ts";
import { corrupt } from "./errors.ts";
import { decodeRecord, encodeRecord, type StoredRecord } from "./record.ts";

/** One entry in so many has its place noted: a page is read from the note before it. */
const entriesPerNote = 64;

/** The name of a segment, by the sequence of its first entry. */
export function segmentNameOf(first: number): string {
  return `${String(first).padStart(12, "0")}.jsonl`;
}

/** Writes an entry as a record of a segment. */
export function encodeEntry({ sequence, at, hash, value }: LogEntry): Buffer {
  return encodeRecord(sequence, JSON.stringify({ at, hash, value }));
}

/** Reads an entry back from a record of a segment. */
export function decodeEntry({ sequence, text }: StoredRecord): LogEntry {
  const { at, value, hash } = JSON.parse(text) as { at: number; hash: string | null; value: JsonObject };
  return deepFreeze({ sequence, at, value, hash });
}

/** One file of a log: entries in order from `first` on. */
export class LogSegment {
  readonly path: string;
  /** Sequence of the first entry. */
  readonly first: number;
  #next: number;
  /** Where every 64th entry begins. */
  readonly #notes: number[] = [];
  #bytes = 0;
  #indexed: boolean;

  /** @param fresh - Whether the file is new; one that is not is read once, before its first use. */
  constructor(path: string, first: number, fresh: boolean) {
    this.path = path;
    this.first = first;
    this.#next = first;
    this.#indexed = fresh;
  }

  /** Sequence after the last entry. Only known once it was indexed. */
  get next(): number {
    return this.#next;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Takes note of records that were written at the end. */
  added(records: readonly Buffer[]): void {
    for (const record of records) this.#note(record.length);
  }

  /**
   * Reads the file and notes where its entries are, up to a sequence; what is behind that is not the log's.
   *
   * @throws {OrchestratorError} `STORAGE_CORRUPT` when it does not hold every entry up to there.
   */
  async index(disk: Disk, last: number): Promise<void> {
    if (this.#indexed) return;
    const content = (await disk.readWhole(this.path)) ?? Buffer.alloc(0);
    if (this.#indexed) return;
    while (this.#next <= last) {
      const record = decodeRecord(content, this.#bytes);
      if (record?.sequence !== this.#next) throw this.#corrupt(this.#bytes, this.#next);
      this.#note(record.end - this.#bytes);
    }
    this.#indexed = true;
  }

  /**
   * Reads the 64 entries around one. Needs {@link index}.
   *
   * @throws {OrchestratorError} `STORAGE_CORRUPT` when it does not hold every one of them any more.
   */
  async read(disk: Disk, sequence: number): Promise<LogEntry[]> {
    const note = Math.floor((sequence - this.first) / entriesPerNote);
    const start = this.#notes[note] ?? 0;
    const end = this.#notes[note + 1] ?? this.#bytes;
    const first = this.first + note * entriesPerNote;
    const next = Math.min(first + entriesPerNote, this.#next);
    const file = await this.#open(disk, first);
    try {
      const entries = this.#decode(await file.read(start, end - start), start, first);
      if (first + entries.length < next) throw this.#corrupt(start, first + entries.length);
      return entries;
    } finally {
      await file.close();
    }
  }

  /** A file that somebody removed is as damaged as one that was emptied. */
  async #open(disk: Disk, first: number): Promise<DiskFile> {
    try {
      return await disk.open(this.path, "read");
    } catch (error) {
      if (errorCodeOf(error) === "ENOENT") throw this.#corrupt(0, first);
      throw error;
    }
  }

  #decode(bytes: Buffer, offset: number, first: number): LogEntry[] {
    const entries: LogEntry[] = [];
    for (let at = 0; at < bytes.length;) {
      const sequence = first + entries.length;
      const record = decodeRecord(bytes, at);
      if (record?.sequence !== sequence) throw this.#corrupt(offset + at, sequence);
      entries.push(decodeEntry(record));
      at = record.end;
    }
    return entries;
  }

  #note(length: number): void {
    if ((this.#next - this.first) % entriesPerNote === 0) this.#notes.push(this.#bytes);
    this.#bytes += length;
    this.#next++;
  }

  #corrupt(offset: number, sequence: number): Error {
    const what = `log entry ${sequence} is missing or does not match its checksum`;
    return corrupt(this.path, offset, { what, sequence });
  }
}
