/**
 * The journal: what was committed since the last snapshot, in preallocated segments `journal-<number>.jsonl`.
 *
 * A write that fails is cut off again; if that fails too, or the disk reports anything but "out of space", nothing is written any more. What
 * is lacking for a moment to make the next segment is no report of the disk: nothing was written by then.
 */
import type { Clock } from "../../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { CommitOptions } from "../storage.ts";
import { finalFailure, folderGone, isPassing, storageError, takeEach } from "./errors.ts";
import { HeadNotes } from "./head-file.ts";
import type { ReplayedJournal } from "./journal-replay.ts";
import {
  continueSegment,
  createSegment,
  refill,
  type Segment,
  type SegmentOptions,
} from "./journal-segment.ts";
import { encodeRecord, isBlankFrom } from "./record.ts";
import { setAside } from "./set-aside.ts";

/** The part of each segment that only commits with `reserve` fill: some hundred sign-ins on a full disk. */
const maxReserveBytes = 256 * 1_024;
/** A full disk is tried again at most so often for the sake of a check. */
const probeEveryMs = 1_000;

/** What a journal is made of. */
export interface JournalOptions extends SegmentOptions {
  clock: Clock;
  logger: Logger;
}

/** Durable records in order, from the last snapshot on. */
export class Journal {
  readonly #options: JournalOptions;
  /** Full segments, closed. */
  #older: { number: number; path: string; bytes: number }[] = [];
  #active: Segment | null = null;
  #spare: Promise<Segment | null> | null = null;
  #sequence = 0;
  #failure: OrchestratorError | null = null;
  readonly #head: HeadNotes;
  /** The last record that was found at the start, until it is written again. */
  #owed: { bytes: Buffer; at: number } | null = null;
  /** The last commit without `reserve` was refused for lack of space. */
  #isFull = false;
  #probedAt = -Infinity;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#head = new HeadNotes(options);
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

  /** Makes a journal that was read ready for writing: cuts a torn end off, and sets aside what can't be used. */
  async begin({ sequence, segments, unused, dropped, isCut }: ReplayedJournal): Promise<void> {
    const { disk } = this.#options;
    this.#sequence = sequence;
    const last = segments.at(-1);
    for (const segment of dropped) await setAside(disk, segment.path);
    if (isCut && last !== undefined && !isBlankFrom(last.content, last.end))
      await setAside(disk, last.path, last.content);
    for (const { path } of unused) await disk.remove(path);
    this.#older = segments.slice(0, -1).map(({ number, path, end }) => ({ number, path, bytes: end }));
    const highest = Math.max(0, ...[...dropped, ...segments].map(({ number }) => number));
    this.#active =
      last === undefined
        ? await this.#createSegment(highest + 1)
        : await continueSegment(this.#options, last);
    // The last record may be readable without being on the disk, and count as clean because its sync has failed: no sync would
    // write it. Those before it were durable before it was begun.
    if (last !== undefined && last.last < last.end)
      this.#owed = { bytes: last.content.subarray(last.last, last.end), at: last.last };
    try {
      await this.#settleDebt();
    } catch (error) {
      // A file system that writes elsewhere what it writes again: the next commit has to, before anything builds on it.
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
    }
    await this.#head.open({ sequence: this.#durableSequence, journal: this.#writable.number });
  }

  /** Whether the segment that is written stands where it was opened; true of a journal that has none. */
  get isInPlace(): boolean {
    return this.#active === null || this.#isInPlace(this.#active);
  }

  /** Nothing is written any more, for this reason or an earlier one. */
  fail(reason: OrchestratorError): void {
    if (this.#failure !== null) return;
    this.#failure = reason;
    this.#options.logger.error("The journal can't be written any more.", { error: reason });
  }

  /** Makes durable how far the journal is known to go. Called now and then, beside the commits. */
  async syncHead(): Promise<void> {
    if (this.#failure !== null || this.#active === null) return;
    try {
      const { number: journal } = this.#writable;
      await this.#head.settle({ sequence: this.#durableSequence, journal });
    } catch (error) {
      // Without space what was noted before stays, and is true.
      if (!isOrchestratorError(error, "STORAGE_FULL")) this.fail(finalFailure(error));
    }
  }

  /**
   * Writes one record and makes it durable.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, after which it can be tried again, as after a `STORAGE_FAILED` for what is lacking for a moment;
   *   any other `STORAGE_FAILED`, after which it can't.
   */
  async append(text: string, { reserve = false }: CommitOptions = {}): Promise<void> {
    if (this.#failure) throw this.#failure;
    const record = encodeRecord(this.#sequence + 1, text);
    const { segmentBytes } = this.#options;
    const bound = segmentBytes - (reserve ? 0 : Math.min(maxReserveBytes, segmentBytes / 4));
    try {
      await this.#settleDebt();
      if (this.#writable.end > 0 && this.#writable.end + record.length > bound) await this.rotate();
      await this.#write(record);
      if (!reserve) this.#isFull = false;
    } catch (error) {
      const isFull = isOrchestratorError(error, "STORAGE_FULL");
      if (isFull && !reserve) this.#isFull = true;
      // What was written, or may have been, has failed for good by now: this was about the next segment.
      if (!isFull && !isPassing(error)) this.#failure ??= finalFailure(error);
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
    await this.#settleDebt();
    const next = (await this.#spare) ?? (await this.#makeNext(active.number + 1));
    this.#spare = null;
    this.#older.push({ number: active.number, path: active.path, bytes: active.end });
    this.#active = next;
    await active.file.close().catch((error: unknown) => {
      throw storageError(error);
    });
    void this.syncHead();
    return next.number;
  }

  /** Removes the segments before one: what they hold is in a snapshot. */
  async dropBefore(number: number): Promise<void> {
    const dropped = this.#older.filter((segment) => segment.number < number);
    for (const segment of dropped) {
      await this.#options.disk.remove(segment.path);
      this.#older = this.#older.filter((other) => other !== segment);
    }
  }

  /** Closes every file, also where one can't be closed; then it rejects. */
  async close(): Promise<void> {
    const spare = await this.#spare;
    await takeEach([
      () => spare?.file.close(),
      () => this.#active?.file.close(),
      () => this.syncHead(),
      () => this.#head.close(),
    ]);
  }

  async #write(record: Buffer): Promise<void> {
    const active = this.#writable;
    try {
      await active.file.write(record, active.end);
      // What is written into a file that nobody will find again is not kept.
      if (!this.#isInPlace(active)) throw folderGone();
    } catch (error) {
      throw await this.#undo(active, storageError(error));
    }
    active.end += record.length;
    this.#sequence++;
    try {
      await this.#head.note({ sequence: this.#sequence, journal: active.number });
    } catch (error) {
      // The record is durable, and that is the answer. The next one is refused.
      this.fail(finalFailure(error));
    }
  }

  #isInPlace({ path, identity }: Segment): boolean {
    const found = this.#options.disk.identityOf(path);
    return found !== null && found.ino === identity?.ino && found.dev === identity.dev;
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
        await refill(file, { from: end, to: this.#options.segmentBytes });
        return error;
      }
    } catch (cause) {
      this.#options.logger.error("A failed write could not be taken back.", { error: cause });
    }
    // After a failed sync the system may drop what it did not write: nothing later can be trusted.
    this.fail(finalFailure(error));
    return this.#failure ?? error;
  }

  /** The last record that a loss of power can't take: one that is still owed may be readable and not on the disk. */
  get #durableSequence(): number {
    return this.#owed === null ? this.#sequence : this.#sequence - 1;
  }

  /** Writes what was not written yet for want of space. */
  async #settleDebt(): Promise<void> {
    if (this.#owed === null) return;
    await this.#writable.file.write(this.#owed.bytes, this.#owed.at).catch((error: unknown) => {
      throw storageError(error);
    });
    this.#owed = null;
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
    return createSegment(this.#options, number, () => {
      if (this.#failure !== null) throw this.#failure;
    });
  }
}
