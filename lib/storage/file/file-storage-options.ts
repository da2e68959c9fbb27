import { resolve } from "node:path";
import { systemClock, type Clock } from "../../clock.ts";
import { silentLogger, type Logger } from "../../logger.ts";
import { nodeDisk, type Disk } from "./disk.ts";
import { dayMs } from "../../internal/durations.ts";

const mebibyte = 1_024 * 1_024;

/** What a `FileStorage` is made of. */
export interface FileStorageOptions {
  /** Folder for all data, made if it is new (mode 0700, files 0600). One process at a time. */
  folder: string;
  /** Runs the leases. Default the process's clock. */
  clock?: Clock;
  /** Told of a torn end that was cut off, of a stale lock, and of failures in the background. Default: silent. */
  logger?: Logger;
  /** Size of a journal segment, which is allocated ahead: the space that commits are sure of. Default 4 MiB. */
  segmentBytes?: number;
  /**
   * The journal is turned into a snapshot when it is larger than this and than the last snapshot. Default 8 MiB; more
   * means less writing and a longer start.
   */
  minJournalBytes?: number;
  /** Size of one file of a log; trimming frees whole files. Default 1 MiB. */
  logSegmentBytes?: number;
  /** How long samples of time series are kept as they were taken, at least. Milliseconds, default 24 hours. */
  rawSamplesMs?: number;
  /** How long their five-minute points are kept after that. Milliseconds since they were taken, default 30 days. */
  samplePointsMs?: number;
  /**
   * Goes on without what is found damaged or missing at the start, which is refused else. What it was is kept beside, in
   * files `*.lost`, and told in the audit log. Default false.
   */
  acceptLoss?: boolean;
  /** The file system. Default: the machine's. @internal */
  disk?: Disk;
}

/** The options with their defaults. */
export function resolveFileOptions(options: FileStorageOptions): Required<FileStorageOptions> {
  return {
    clock: systemClock,
    logger: silentLogger,
    segmentBytes: 4 * mebibyte,
    minJournalBytes: 8 * mebibyte,
    logSegmentBytes: mebibyte,
    rawSamplesMs: dayMs,
    samplePointsMs: 30 * dayMs,
    acceptLoss: false,
    disk: nodeDisk,
    ...options,
    folder: resolve(options.folder),
  };
}
