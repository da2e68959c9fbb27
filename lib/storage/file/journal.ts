/**
 * The journal: what was committed since the last snapshot, in preallocated segments `journal-<number>.jsonl`.
 *
 * A segment is zeros on disk before it is used, so that a commit changes no metadata and needs no space. A write that
 * fails is cut off again; if that fails too, or the disk reports anything but "out of space", nothing is written any more.
 */
import { join } from "node:path";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { Logger } from "../../logger.ts";
import type { CommitOptions } from "../storage.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { corrupt, storageError } from "./errors.ts";
import { decodeRecord, encodeRecord, hasRecordBehind, isBlankFrom, type StoredRecord } from "./record.ts";

const namePattern = /^journal-(\d{8})\.jsonl$/;
const zeroBlock = Buffer.alloc(1 << 20);
/** The part of each segment that only commits with `reserve` fill: some hundred sign-ins on a full disk. */
const maxReserveBytes = 256 * 1_024;
/** A full disk is tried again at most so often for the sake of a check. */
const probeEveryMs = 1_000;

/** What a journal is made of. */
export interface JournalOptions {
  clock: Clock;
  disk: Disk;
  folder: string;
  logger: Logger;
  /** Size of a segment. */
  segmentBytes: number;
}

interface Segment {
  number: number;
  path: string;
  file: DiskFile;
  /** Where the next record goes. */
  end: number;
}

/** Takes a record's text, and where it stands for an error message. */
export type TakeRecord = (text: string, place: { path: string; at: number }) => void;

/** Durable records in order, from the last snapshot on. */
export class Journal {
  readonly #options: JournalOptions;
  /** Full segments, closed. */
  #older: { number: number; path: string; bytes: number }[] = [];
  #active: Segment | null = null;
  #spare: Promise<Segment | null> | null = null;
  #sequence = 0;
  #failure: OrchestratorError | null = null;
  /** The last commit without `reserve` was refused for lack of space. */
  #isFull = false;
  #probedAt = -Infinity;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** Sequence of the last record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Bytes of records that a start would have to read. */
  get bytes(): number {
    return this.#older.reduce((sum, segment) => sum + segment.bytes, this.#active?.end ?? 0);
  }

  /** Why nothing can be written any more; null while it can. */
  get failure(): OrchestratorError | null {
    return this.#failure;
  }

  /** Reads every record after a sequence, cuts a torn end off, and makes the journal ready for writing. */
  async recover(afterSequence: number, take: TakeRecord): Promise<void> {
    this.#sequence = afterSequence;
    const found = await this.#readSegments();
    for (const [index, segment] of found.entries()) {
      const { last, end } = this.#replay(segment, index === found.length - 1, take);
      if (index < found.length - 1) this.#older.push({ ...segment, bytes: end });
      else this.#active = await this.#continue(segment, { last, end });
    }
    this.#active ??= await this.#createSegment(1);
  }

  /**
   * Writes one record and makes it durable.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, after which it can be tried again; `STORAGE_FAILED`, after which it can't.
   */
  async append(text: string, { reserve = false }: CommitOptions = {}): Promise<void> {
    if (this.#failure) throw this.#failure;
    const record = encodeRecord(this.#sequence + 1, text);
    const { segmentBytes } = this.#options;
    const bound = segmentBytes - (reserve ? 0 : Math.min(maxReserveBytes, segmentBytes / 4));
    try {
      if (this.#writable.end > 0 && this.#writable.end + record.length > bound) await this.rotate();
      await this.#write(record);
      if (!reserve) this.#isFull = false;
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) this.#failure ??= storageError(error);
      else if (!reserve) this.#isFull = true;
      throw error;
    }
    if (this.#writable.end > segmentBytes / 2) this.#spare ??= this.#prepareSpare(this.#writable.number + 1);
  }

  /** Whether a record could be written now; where the disk was full it is tried whether it still is. */
  async check(): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (!this.#isFull) return;
    const now = this.#options.clock.monotonic();
    if (now - this.#probedAt >= probeEveryMs) {
      this.#probedAt = now;
      const spare = (this.#spare ??= this.#prepareSpare(this.#writable.number + 1));
      if ((await spare) !== null) this.#isFull = false;
      else if (this.#spare === spare) this.#spare = null;
    }
    if (this.#isFull) throw new OrchestratorError("STORAGE_FULL");
  }

  /** Goes on in a new segment, so that those before it can be dropped. Resolves with its number. */
  async rotate(): Promise<number> {
    const active = this.#writable;
    const next = (await this.#spare) ?? (await this.#makeNext(active.number + 1));
    this.#spare = null;
    this.#older.push({ number: active.number, path: active.path, bytes: active.end });
    this.#active = next;
    await active.file.close();
    return next.number;
  }

  /** Removes the segments before one: what they hold is in a snapshot. */
  async dropBefore(number: number): Promise<void> {
    const dropped = this.#older.filter((segment) => segment.number < number);
    this.#older = this.#older.filter((segment) => segment.number >= number);
    for (const { path } of dropped) await this.#options.disk.remove(path);
  }

  async close(): Promise<void> {
    const spare = await this.#spare;
    await spare?.file.close();
    await this.#active?.file.close();
  }

  async #write(record: Buffer): Promise<void> {
    const active = this.#writable;
    try {
      await active.file.write(record, active.end);
    } catch (error) {
      throw await this.#undo(active, storageError(error));
    }
    active.end += record.length;
    this.#sequence++;
  }

  get #writable(): Segment {
    if (this.#active === null) throw new OrchestratorError("STORAGE_CLOSED");
    return this.#active;
  }

  /** Takes a failed write back. Without that its bytes might be found and replayed although the commit was refused. */
  async #undo({ file, end }: Segment, error: OrchestratorError): Promise<OrchestratorError> {
    try {
      await file.truncate(end);
      await file.sync();
      if (isOrchestratorError(error, "STORAGE_FULL")) {
        await this.#refill(file, end);
        return error;
      }
    } catch (cause) {
      this.#options.logger.error("A failed write could not be taken back.", { error: cause });
    }
    // After a failed sync the system may drop what it did not write: nothing later can be trusted.
    this.#failure = new OrchestratorError("STORAGE_FAILED", { cause: error });
    this.#options.logger.error("The journal can't be written any more.", { error });
    return this.#failure;
  }

  /** Allocates again what a cut took from the end of a segment, where there is space. */
  async #refill(file: DiskFile, size: number): Promise<void> {
    try {
      await fillWithZeros(file, size, this.#options.segmentBytes);
    } catch (error) {
      if (!isOrchestratorError(storageError(error), "STORAGE_FULL")) throw error;
      this.#options.logger.debug("The journal segment could not be allocated again.", { error });
    }
  }

  async #readSegments(): Promise<{ number: number; path: string; content: Buffer }[]> {
    const { disk, folder, logger, segmentBytes } = this.#options;
    const names = (await disk.list(folder)).filter((name) => namePattern.test(name)).sort();
    const segments = [];
    for (const name of names) {
      const path = join(folder, name);
      const content = (await disk.readWhole(path)) ?? Buffer.alloc(0);
      segments.push({ number: Number(namePattern.exec(name)?.[1]), path, content });
    }
    // Segments that were prepared and not used yet.
    for (let last = segments.at(-1); last !== undefined; last = segments.at(-1)) {
      const { path, content } = last;
      // It lost its end, or was being made, or there was no space to allocate it whole again.
      if (content.length < segmentBytes)
        logger.warn("A journal segment is shorter than it is made.", { path, bytes: content.length });
      if (segments.length === 1 || !isBlankFrom(content, 0)) break;
      await disk.remove(path);
      segments.pop();
    }
    return segments;
  }

  /** Takes the records of a segment. Returns where the last one begins and where it ends. */
  #replay(segment: { path: string; content: Buffer }, isLast: boolean, take: TakeRecord) {
    const { path, content } = segment;
    let [last, at] = [0, 0];
    for (let record = decodeRecord(content, at); record !== null; record = decodeRecord(content, at)) {
      if (record.sequence > this.#sequence) this.#replayRecord(record, { path, at }, take);
      [last, at] = [at, record.end];
    }
    if (!isBlankFrom(content, at)) {
      if (!isLast || hasRecordBehind(content, at))
        throw corrupt(path, at, "a journal record does not match its checksum");
      this.#options.logger.warn("The torn end of the journal was cut off.", { path, offset: at });
    }
    return { last, end: at };
  }

  #replayRecord(record: StoredRecord, place: { path: string; at: number }, take: TakeRecord): void {
    if (record.sequence !== this.#sequence + 1) {
      throw corrupt(place.path, place.at, `journal record ${this.#sequence + 1} is missing`);
    }
    take(record.text, place);
    this.#sequence = record.sequence;
  }

  async #continue(
    { number, path, content }: { number: number; path: string; content: Buffer },
    { last, end }: { last: number; end: number },
  ): Promise<Segment> {
    const file = await this.#options.disk.open(path, "durable");
    const isTorn = !isBlankFrom(content, end);
    if (isTorn) await file.truncate(end);
    // What a killed process took back may not be taken back on the disk.
    await file.sync();
    // Its last record may be readable without being on the disk, and count as clean because its sync has failed: no sync
    // would write it. Those before it were durable before it was begun.
    if (last < end) await file.write(content.subarray(last, end), last);
    await this.#refill(file, isTorn ? end : content.length);
    return { number, path, file, end };
  }

  /** A segment made at the last moment. Known as the spare meanwhile, so that nobody else makes the same file. */
  async #makeNext(number: number): Promise<Segment> {
    const made = this.#createSegment(number);
    this.#spare = made.catch(() => null);
    try {
      return await made;
    } catch (error) {
      this.#spare = null;
      throw storageError(error);
    }
  }

  /** A segment made ahead of its use, off the way of the commits; null when there was no space for it. */
  async #prepareSpare(number: number): Promise<Segment | null> {
    try {
      return await this.#createSegment(number);
    } catch (error) {
      this.#options.logger.debug("The next journal segment could not be prepared.", { error });
      return null;
    }
  }

  async #createSegment(number: number): Promise<Segment> {
    const { disk, folder, segmentBytes } = this.#options;
    const path = join(folder, `journal-${String(number).padStart(8, "0")}.jsonl`);
    const file = await disk.open(path, "durable");
    try {
      await fillWithZeros(file, 0, segmentBytes);
      await disk.syncFolder(folder);
    } catch (error) {
      await file.close();
      await disk.remove(path);
      throw error;
    }
    return { number, path, file, end: 0 };
  }
}

async function fillWithZeros(file: DiskFile, from: number, to: number): Promise<void> {
  if (from >= to) return;
  for (let at = from; at < to; at += zeroBlock.length) {
    await file.write(zeroBlock.subarray(0, to - at), at);
  }
}
