/**
 * The entries of one log: segments `<first sequence>.jsonl` in a folder, and the newest entries in memory.
 *
 * An entry is durable in the journal before it comes here. It is written to a segment in the background and synced before
 * the journal forgets it. After a crash, what the last snapshot does not vouch for is cut off: the journal brings it again.
 */
import { join } from "node:path";
import { isOrchestratorError } from "../../errors.ts";
import type { LogEntries } from "../log-reader.ts";
import type { LogEntry } from "../storage.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { corrupt, storageError } from "./errors.ts";
import { encodeEntry, LogSegment, segmentNameOf } from "./log-segment.ts";
import type { Losses } from "./losses.ts";
import { decodeRecord } from "./record.ts";
import { setAside } from "./set-aside.ts";

const namePattern = /^(\d{12})\.jsonl$/;
/** Entries that wait in memory before they are written to a segment. */
const maxWaiting = 512;
const sliceBytes = 256 * 1_024;

/** What a log is kept in. */
export interface LogFileOptions {
  disk: Disk;
  folder: string;
  /** A segment that is larger takes no more entries. */
  segmentBytes: number;
  /** Why nothing is written any more; null while it is. Default: it always is. */
  failure?: () => Error | null;
  /** Told when the entries can't be written in the background. */
  onError: (error: unknown) => void;
}

/** Sequences of a log at a start. */
export interface LogPlaces {
  /** Of the last entry that must be in the segments; what is behind it is cut off, the journal has it. */
  persisted: number;
  /** Of the last entry that was trimmed. */
  base: number;
  /** Of the last entry that the journal knows of. */
  head: number;
}

/** The entries of one log. */
export class LogFile implements LogEntries {
  readonly #options: LogFileOptions;
  #segments: LogSegment[] = [];
  /** The last segment, open for writing. */
  #file: DiskFile | null = null;
  #unsyncedNames = false;
  /** Entries that are in no segment yet. Replaced, never shortened in place: a reader may hold it. */
  #waiting: LogEntry[] = [];
  #persisted = 0;
  #work: Promise<void> = Promise.resolve();
  #flushScheduled = false;
  #syncFailure: unknown = null;
  #base = 0;
  #isHeld = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /**
   * Finds the segments of a log.
   *
   * @throws {OrchestratorError} `STORAGE_CORRUPT` when entries between base and `persisted` are missing, or there are some
   *   behind the head: an entry comes here only when it is durable in the journal, so the journal has lost them. Where such
   *   a loss is accepted, what the segments have is set aside.
   */
  async open({ persisted, base, head }: LogPlaces, losses: Losses): Promise<{ isLost: boolean }> {
    const { disk, folder } = this.#options;
    this.#persisted = Math.max(persisted, base);
    await disk.makeFolder(folder);
    const found = (await disk.list(folder))
      .filter((name) => namePattern.test(name))
      .sort()
      .map((name) => new LogSegment(join(folder, name), Number(namePattern.exec(name)?.[1]), false));
    await this.#checkEnd(found, { persisted, base, head }, losses);
    for (const segment of found) {
      if (segment.first > persisted) await disk.remove(segment.path);
      else this.#segments.push(segment);
    }
    if (base >= persisted) await this.#removeAll();
    await this.trim(base);
    if (this.#persisted === base) return { isLost: false };
    try {
      await this.#continue(persisted, base);
      return { isLost: false };
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
      losses.reportRefusal(error);
      await losses.save();
      for (const { path } of this.#segments) await setAside(disk, path);
      this.#segments = [];
      return { isLost: true };
    }
  }

  /** Goes on in the last segment, without what is behind the last entry that it must have. */
  async #continue(persisted: number, base: number): Promise<void> {
    const { disk, folder } = this.#options;
    const last = this.#segments.at(-1);
    if (last === undefined || (this.#segments[0] as LogSegment).first > base + 1) {
      throw corrupt(folder, 0, `log entry ${base + 1} is missing`);
    }
    await last.index(disk, persisted);
    this.#file = await disk.open(last.path, "write");
    await this.#file.truncate(last.bytes);
  }

  /** Compares what the segments have with the head. Only those behind `persisted` are read, which are few. */
  async #checkEnd(
    found: readonly LogSegment[],
    { persisted, head }: LogPlaces,
    losses: Losses,
  ): Promise<void> {
    const { disk } = this.#options;
    for (const [index, segment] of found.entries()) {
      if ((found[index + 1]?.first ?? Infinity) <= persisted + 1) continue;
      const content = (await disk.readWhole(segment.path)) ?? Buffer.alloc(0);
      const behind = placeBehind(content, head);
      if (behind === null) continue;
      const { first, last, offset } = behind;
      const what = `log entries ${first} to ${last} are there, and the changes that they tell of are missing`;
      losses.report({ file: segment.path, offset, what });
      await losses.save();
      await setAside(disk, segment.path, content);
    }
  }

  /** Takes in an entry that is durable in the journal. */
  append(entry: LogEntry): void {
    this.#waiting.push(entry);
    if (this.#waiting.length % maxWaiting !== 0 || this.#flushScheduled) return;
    this.#flushScheduled = true;
    this.#enqueue(() => this.#flush()).then(
      () => (this.#flushScheduled = false),
      (error: unknown) => {
        this.#flushScheduled = false;
        this.#options.onError(error);
      },
    );
  }

  async blockAt(sequence: number): Promise<readonly LogEntry[]> {
    const firstWaiting = this.#waiting[0];
    if (firstWaiting !== undefined && sequence >= firstWaiting.sequence) return this.#waiting;
    const place = this.#segments.findLastIndex((segment) => segment.first <= sequence);
    const segment = this.#segments[place];
    if (segment === undefined) return [];
    const { disk } = this.#options;
    try {
      await segment.index(disk, (this.#segments[place + 1]?.first ?? this.#persisted + 1) - 1);
      return await segment.read(disk, sequence);
    } catch (error) {
      // Trimmed while it was read.
      if (!this.#segments.includes(segment)) return [];
      throw storageError(error);
    }
  }

  /** Makes every entry that came so far durable in the segments. */
  persist(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#flush();
      await this.#sync();
      if (this.#unsyncedNames) await this.#options.disk.syncFolder(this.#options.folder);
      this.#unsyncedNames = false;
    });
  }

  /** Removes the segments that hold nothing after a sequence. */
  trim(base: number): Promise<void> {
    this.#base = Math.max(this.#base, base);
    return this.#enqueue(async () => {
      while (!this.#isHeld && (this.#segments[1]?.first ?? Infinity) <= base + 1) {
        await this.#options.disk.remove(this.#segments.shift()?.path ?? "");
      }
    });
  }

  /** Keeps every segment, whatever is trimmed, until the function that it returns is called. One holder at a time. */
  hold(): () => Promise<void> {
    this.#isHeld = true;
    return () => {
      this.#isHeld = false;
      return this.trim(this.#base);
    };
  }

  async close(): Promise<void> {
    await this.#work;
    await this.#file?.close();
    this.#file = null;
  }

  async #removeAll(): Promise<void> {
    for (const { path } of this.#segments) await this.#options.disk.remove(path);
    this.#segments = [];
  }

  /** One piece of work after the other, also after one that failed. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => {});
    return result;
  }

  /** Writes what waits now; what comes meanwhile must not keep others waiting for ever. */
  async #flush(): Promise<void> {
    const failure = this.#options.failure?.() ?? null;
    if (failure !== null) throw failure;
    const last = this.#waiting.at(-1)?.sequence ?? 0;
    while ((this.#waiting[0]?.sequence ?? Infinity) <= last) {
      const { segment, file } = await this.#segmentToFill(this.#waiting[0] as LogEntry);
      const records: Buffer[] = [];
      const room = Math.min(sliceBytes, this.#options.segmentBytes - segment.bytes);
      let bytes = 0;
      while (records.length < this.#waiting.length && bytes < room) {
        const record = encodeEntry(this.#waiting[records.length] as LogEntry);
        records.push(record);
        bytes += record.length;
      }
      try {
        await file.write(Buffer.concat(records), segment.bytes);
      } catch (error) {
        // What was written in part is written again, over it, from the same place.
        throw storageError(error);
      }
      segment.added(records);
      this.#persisted = segment.next - 1;
      this.#waiting = this.#waiting.slice(records.length);
    }
  }

  /** A sync that failed once may succeed the next time without having written anything: the first failure is final. */
  async #sync(): Promise<void> {
    if (this.#syncFailure !== null) throw this.#syncFailure;
    try {
      await this.#file?.sync();
    } catch (error) {
      this.#syncFailure = storageError(error);
      throw this.#syncFailure;
    }
  }

  async #segmentToFill(entry: LogEntry): Promise<{ segment: LogSegment; file: DiskFile }> {
    const last = this.#segments.at(-1);
    if (last !== undefined && this.#file !== null && last.bytes < this.#options.segmentBytes) {
      return { segment: last, file: this.#file };
    }
    await this.#sync();
    const path = join(this.#options.folder, segmentNameOf(entry.sequence));
    const segment = new LogSegment(path, entry.sequence, true);
    const file = await this.#options.disk.open(segment.path, "replace");
    const before = this.#file;
    this.#file = file;
    this.#segments.push(segment);
    this.#unsyncedNames = true;
    // Synced already: where it can't be closed, what waits goes to the new one the next time.
    await before?.close();
    return { segment, file };
  }
}

/** The entries of a segment behind a sequence; null where there are none. */
function placeBehind(content: Buffer, head: number): { first: number; last: number; offset: number } | null {
  const found: { sequence: number; at: number }[] = [];
  let at = 0;
  for (let record = decodeRecord(content, at); record !== null; record = decodeRecord(content, at)) {
    if (record.sequence > head) found.push({ sequence: record.sequence, at });
    at = record.end;
  }
  const [first, last] = [found[0], found.at(-1)];
  return first && last ? { first: first.sequence, last: last.sequence, offset: first.at } : null;
}
