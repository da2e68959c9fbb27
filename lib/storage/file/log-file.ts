/**
 * The entries of one log: segments `<first sequence>.jsonl` in a folder, and the newest entries in memory.
 *
 * An entry is durable in the journal before it comes here. It is written to a segment in the background and synced before
 * the journal forgets it. After a crash, what the last snapshot does not vouch for is cut off: the journal brings it again.
 */
import { join } from "node:path";
import type { LogEntries } from "../log-reader.ts";
import type { LogEntry } from "../storage.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { corrupt, storageError } from "./errors.ts";
import { encodeEntry, LogSegment, segmentNameOf } from "./log-segment.ts";

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
  /** Told when the entries can't be written in the background. */
  onError: (error: unknown) => void;
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
   * @param persisted - Sequence of the last entry that must be in them; what is behind it is cut off.
   * @param base - Sequence of the last entry that was trimmed.
   * @throws {OrchestratorError} `STORAGE_CORRUPT` when entries between the two are missing.
   */
  async open(persisted: number, base: number): Promise<void> {
    const { disk, folder } = this.#options;
    this.#persisted = Math.max(persisted, base);
    await disk.makeFolder(folder);
    for (const name of (await disk.list(folder)).sort()) {
      const first = Number(namePattern.exec(name)?.[1] ?? NaN);
      if (first > persisted) await disk.remove(join(folder, name));
      else if (first > 0) this.#segments.push(new LogSegment(join(folder, name), first, false));
    }
    if (base >= persisted) await this.#removeAll();
    await this.trim(base);
    if (this.#persisted === base) return;
    const last = this.#segments.at(-1);
    if (last === undefined || (this.#segments[0] as LogSegment).first > base + 1) {
      throw corrupt(folder, 0, `log entry ${base + 1} is missing`);
    }
    await last.index(disk, persisted);
    this.#file = await disk.open(last.path, "write");
    await this.#file.truncate(last.bytes);
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
    await this.#file?.close();
    this.#file = file;
    this.#segments.push(segment);
    this.#unsyncedNames = true;
    return { segment, file };
  }
}
