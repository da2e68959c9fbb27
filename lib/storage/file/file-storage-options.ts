import { resolve } from "node:path";
import { systemClock, type Clock } from "../../clock.ts";
import { checkOptions, type OptionTable, withDefaults } from "../../internal/check-options.ts";
import { dayMs } from "../../internal/durations.ts";
import { anObject, plainText, trueOrFalse, wholeNumber } from "../../internal/option-rules.ts";
import { silentLogger, toSteadyLogger, type Logger } from "../../logger.ts";
import { clockRule, loggerRule } from "../../part-rules.ts";
import { nodeDisk, type Disk } from "./disk.ts";

const mebibyte = 1_024 * 1_024;

/** What a `FileStorage` is made of. What is not of this form is refused when it is made: `OPTIONS_INVALID`. */
export interface FileStorageOptions {
  /** Folder for all data, made if it is new (mode 0700, files 0600). One process at a time. A text of 1 or more characters. */
  folder: string;
  /** Runs the leases. Default the process's clock. */
  clock?: Clock;
  /** Told of a torn end that was cut off, of a stale lock, and of failures in the background. Default silent. */
  logger?: Logger;
  /** Bytes of a journal segment, which is allocated ahead: the space that commits are sure of. 1,024 to 1,073,741,824. Default 4 MiB. */
  segmentBytes?: number;
  /**
   * The journal is turned into a snapshot when it has more bytes than this and than the last snapshot, 1,024 to 68,719,476,736.
   * Default 8 MiB. More means less writing and a longer start.
   */
  minJournalBytes?: number;
  /** Bytes of one file of a log, 1,024 to 1,073,741,824; trimming frees whole files. Default 1 MiB. */
  logSegmentBytes?: number;
  /** Milliseconds for which samples of time series are kept as they were taken, at least: 300,000 to 3,155,760,000,000. Default 24 hours. */
  rawSamplesMs?: number;
  /** Milliseconds since they were taken for which their five-minute points are kept after that, 300,000 to 3,155,760,000,000. Default 30 days. */
  samplePointsMs?: number;
  /**
   * Goes on without what is found damaged or missing at the start, which is refused else. What it was is kept beside, in
   * files `*.lost`, and told in the audit log. Default false.
   */
  acceptLoss?: boolean;
  /** The file system. Default the machine's. @internal */
  disk?: Disk;
}

type ResolvedFileOptions = Required<FileStorageOptions>;

const segment = wholeNumber({ from: 1_024, to: 1_024 * mebibyte });
/** From one point of a series to a hundred years. */
const age = wholeNumber({ from: 300_000, to: 36_525 * dayMs });

/** What each option may be. */
export const fileStorageOptions: OptionTable<ResolvedFileOptions> = {
  folder: { rule: plainText({ pattern: /./, range: "1 or more characters" }), isRequired: true },
  clock: { rule: clockRule, default: systemClock, defaultText: "the process's clock" },
  logger: { rule: loggerRule, default: silentLogger, defaultText: "silent" },
  segmentBytes: { rule: segment, default: 4 * mebibyte, defaultText: "4 MiB" },
  minJournalBytes: {
    rule: wholeNumber({ from: 1_024, to: 65_536 * mebibyte }),
    default: 8 * mebibyte,
    defaultText: "8 MiB",
  },
  logSegmentBytes: { rule: segment, default: mebibyte, defaultText: "1 MiB" },
  rawSamplesMs: { rule: age, default: dayMs, defaultText: "24 hours" },
  samplePointsMs: { rule: age, default: 30 * dayMs, defaultText: "30 days" },
  acceptLoss: { rule: trueOrFalse, default: false },
  disk: { rule: anObject, default: nodeDisk, defaultText: "the machine's" },
};

/**
 * The options with their defaults.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault.
 */
export function resolveFileOptions(options: FileStorageOptions): ResolvedFileOptions {
  checkOptions<Partial<ResolvedFileOptions>>(options, fileStorageOptions, { of: "FileStorage" });
  const resolved = withDefaults(options, fileStorageOptions);
  return { ...resolved, folder: resolve(resolved.folder), logger: toSteadyLogger(resolved.logger) };
}
