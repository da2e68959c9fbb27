/** Reading a journal at a start. Changes nothing: what is found wrong is refused, or left for the writer to set aside. */
import { join } from "node:path";
import type { Logger } from "../../logger.ts";
import type { Disk } from "./disk.ts";
import type { Head } from "./head-file.ts";
import type { Losses } from "./losses.ts";
import { decodeRecord, hasRecordBehind, isBlankFrom } from "./record.ts";

const namePattern = /^journal-(\d{8})\.jsonl$/;

/** The name of a segment. */
export function journalNameOf(number: number): string {
  return `journal-${String(number).padStart(8, "0")}.jsonl`;
}

/** A segment as it was found. */
export interface FoundSegment {
  number: number;
  path: string;
  content: Buffer;
}

/** Takes a record's text, and where it stands for an error message. */
export type TakeRecord = (text: string, place: { path: string; at: number }) => void;

/** A journal as it was read. */
export interface ReplayedJournal {
  /** Sequence of the last record, or the one that was given where there is none behind it. */
  sequence: number;
  /** Segments in order, with where their last record begins and where it ends. */
  segments: (FoundSegment & { last: number; end: number })[];
  /** Segments that were prepared and never used. */
  unused: FoundSegment[];
  /** Segments with what can't be used because something before it is lost. */
  dropped: FoundSegment[];
  /** Whether something behind the end of the last of `segments` is lost, and not just torn. */
  isCut: boolean;
}

/** What a journal is read with. */
export interface ReplayOptions {
  disk: Disk;
  folder: string;
  logger: Logger;
  segmentBytes: number;
  losses: Losses;
  /** How far it goes for certain; null where nobody knows. */
  head: Head | null;
}

/**
 * Reads every record after a sequence.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT` where a record is damaged or missing, with the place.
 */
export async function replayJournal(
  options: ReplayOptions,
  afterSequence: number,
  take: TakeRecord,
): Promise<ReplayedJournal> {
  const { folder, logger, losses, head, segmentBytes } = options;
  const found = await readSegments(options);
  const unused: FoundSegment[] = [];
  for (let last = found.at(-1); last !== undefined; last = found.at(-1)) {
    const { path, content } = last;
    // It lost its end, or was being made, or there was no space to allocate it whole again.
    if (content.length < segmentBytes)
      logger.warn("A journal segment is shorter than it is made.", { path, bytes: content.length });
    if (found.length === 1 || !isBlankFrom(content, 0)) break;
    unused.push(last);
    found.pop();
  }
  const replay = new Replay(options, afterSequence, take);
  for (const [index, segment] of found.entries()) replay.read(segment, index === found.length - 1);
  const { sequence, segments, dropped, isCut } = replay;
  const last = segments.at(-1);
  if (head !== null && sequence < head.sequence && !isCut) {
    // Where its records are not, or no more than some of them: of its beginning, where it is not there at all.
    const isThere = last !== undefined && last.number >= head.journal;
    losses.report({
      file: isThere ? last.path : join(folder, journalNameOf(head.journal)),
      offset: isThere ? last.end : 0,
      what: `changes ${sequence + 1} to ${head.sequence} were answered and are missing`,
    });
    return { sequence, segments, unused, dropped, isCut: true };
  }
  if (last !== undefined && !isCut && !isBlankFrom(last.content, last.end))
    logger.warn("The torn end of the journal was cut off.", { path: last.path, offset: last.end });
  return { sequence, segments, unused, dropped, isCut };
}

async function readSegments({ disk, folder }: ReplayOptions): Promise<FoundSegment[]> {
  const names = (await disk.list(folder)).filter((name) => namePattern.test(name)).sort();
  const segments = [];
  for (const name of names) {
    const path = join(folder, name);
    const content = (await disk.readWhole(path)) ?? Buffer.alloc(0);
    segments.push({ number: Number(namePattern.exec(name)?.[1]), path, content });
  }
  return segments;
}

/** The reading of one journal, segment by segment. */
class Replay {
  sequence: number;
  readonly segments: ReplayedJournal["segments"] = [];
  readonly dropped: FoundSegment[] = [];
  isCut = false;
  readonly #losses: Losses;
  readonly #take: TakeRecord;

  constructor({ losses }: ReplayOptions, afterSequence: number, take: TakeRecord) {
    this.sequence = afterSequence;
    this.#losses = losses;
    this.#take = take;
  }

  read(segment: FoundSegment, isLast: boolean): void {
    if (this.isCut) return void this.dropped.push(segment);
    const { path, content } = segment;
    let [last, at] = [0, 0];
    for (let record = decodeRecord(content, at); record !== null; record = decodeRecord(content, at)) {
      if (record.sequence > this.sequence + 1) {
        this.#cut(path, at, `journal record ${this.sequence + 1} is missing`);
        break;
      }
      if (record.sequence > this.sequence) {
        this.#take(record.text, { path, at });
        this.sequence = record.sequence;
      }
      [last, at] = [at, record.end];
    }
    if (!this.isCut && !isBlankFrom(content, at) && (!isLast || hasRecordBehind(content, at)))
      this.#cut(path, at, "a journal record does not match its checksum");
    if (this.isCut && at === 0) this.dropped.push(segment);
    else this.segments.push({ ...segment, last, end: at });
  }

  #cut(file: string, offset: number, what: string): void {
    this.#losses.report({ file, offset, what });
    this.isCut = true;
  }
}
