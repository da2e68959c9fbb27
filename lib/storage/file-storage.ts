import { join, resolve } from "node:path";
import { systemClock, type Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { JsonObject } from "../internal/json.ts";
import { silentLogger, type Logger } from "../logger.ts";
import { writeArchive } from "./file/archive.ts";
import { CommitPump } from "./file/commit-pump.ts";
import { nodeDisk, type Disk } from "./file/disk.ts";
import { effectsToText } from "./file/effects.ts";
import { storageError, unusable } from "./file/errors.ts";
import { folderParts } from "./file/folder-parts.ts";
import { openFolder, type OpenFolder } from "./file/folder.ts";
import type { LogFile } from "./file/log-file.ts";
import { FolderLock } from "./file/lock.ts";
import { FileSeries } from "./file/series/file-series.ts";
import { ProcessLeases } from "./leases.ts";
import { Lifetime } from "./lifetime.ts";
import { readLogPage } from "./log-reader.ts";
import type {
  CommitOptions,
  CommitResult,
  DocumentPage,
  ForeignChange,
  Lease,
  ListQuery,
  LogPage,
  LogQuery,
  SeriesStorage,
  Storage,
  StorageBackup,
  StorageSchema,
  StoredDocument,
  Write,
} from "./storage.ts";
import { prepareWrites, type Effect } from "./writes.ts";

const mebibyte = 1_024 * 1_024;
const dayMs = 86_400_000;

/** What a {@link FileStorage} is made of. */
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
  /** The file system. Default: the machine's. @internal */
  disk?: Disk;
}

/**
 * The default {@link Storage}: one folder of files, for one process.
 *
 * Documents live in memory and, as a lowdb snapshot `db.json` and the journal written since, in the folder. Commits that
 * arrive together share one synced write; what one costs depends on what it writes, never on what is stored. Time
 * series lie beside them in files of their own and are synced once a second.
 */
export class FileStorage implements Storage {
  readonly capabilities = { durable: true, shared: false };
  readonly series: SeriesStorage;
  readonly backup: StorageBackup = {
    archive: () => {
      this.#checkBackup();
      return this.#archive();
    },
  };
  readonly #series: FileSeries;
  readonly #options: Required<FileStorageOptions>;
  readonly #leases: ProcessLeases;
  readonly #lifetime = new Lifetime();
  readonly #pump: CommitPump;
  #schema: StorageSchema = { version: 0, collections: {}, logs: {} };
  #lock: FolderLock | null = null;
  #content: OpenFolder | null = null;
  #closing: Promise<void> | null = null;
  #isBackingUp = false;

  constructor(options: FileStorageOptions) {
    this.#options = {
      clock: systemClock,
      logger: silentLogger,
      segmentBytes: 4 * mebibyte,
      minJournalBytes: 8 * mebibyte,
      logSegmentBytes: mebibyte,
      rawSamplesMs: dayMs,
      samplePointsMs: 30 * dayMs,
      disk: nodeDisk,
      ...options,
      folder: resolve(options.folder),
    };
    this.#series = new FileSeries({
      ...this.#options,
      folder: join(this.#options.folder, "series"),
      rawMs: this.#options.rawSamplesMs,
      pointsMs: this.#options.samplePointsMs,
      check: () => this.#lifetime.check(),
    });
    this.series = this.#series;
    this.#leases = new ProcessLeases(this.#options.clock);
    this.#pump = new CommitPump({
      revisionOf: (collection, key) => this.#open.database.revisionOf(collection, key),
      headOf: (log) => this.#open.database.headOf(log),
      baseOf: (log) => this.#open.database.baseOf(log),
      write: (effects, commitOptions) => this.#open.journal.append(effectsToText(effects), commitOptions),
      apply: (effects) => this.#apply(effects),
      afterBatch: () => this.#open.checkpoints.beginIfDue(),
    });
  }

  async open(schema: StorageSchema): Promise<void> {
    this.#lifetime.checkNew();
    const { disk, folder, logger } = this.#options;
    try {
      await disk.makeFolder(folder);
      this.#lock = await FolderLock.take(disk, folder, logger);
      this.#content = await openFolder(this.#options, schema);
    } catch (error) {
      await this.#lock?.release().catch((lost: unknown) => {
        logger.warn("The lock of the data folder could not be removed.", { folder, error: lost });
      });
      throw unusable(error, folder);
    }
    await this.#series.open();
    this.#schema = schema;
    this.#lifetime.begin();
  }

  close(): Promise<void> {
    if (this.#lifetime.end()) this.#closing = this.#close();
    return this.#closing ?? Promise.resolve();
  }

  async check(): Promise<void> {
    this.#lifetime.check();
    await this.#open.journal.check();
  }

  async get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    this.#lifetime.check();
    return this.#open.database.collection(collection).get(key) as StoredDocument<T> | null;
  }

  async getMany<T = JsonObject>(
    collection: string,
    keys: readonly string[],
  ): Promise<(StoredDocument<T> | null)[]> {
    this.#lifetime.check();
    const documents = this.#open.database.collection(collection);
    return keys.map((key) => documents.get(key) as StoredDocument<T> | null);
  }

  async list<T = JsonObject>(collection: string, query: ListQuery = {}): Promise<DocumentPage<T>> {
    this.#lifetime.check();
    return this.#open.database.collection(collection).list(query) as DocumentPage<T>;
  }

  commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    return this.#pump.submit(() => {
      this.#lifetime.check();
      const prepared = prepareWrites(this.#schema, writes);
      return (batch) => batch.commit(prepared);
    }, options);
  }

  async readLog<T = JsonObject>(log: string, query: LogQuery = {}): Promise<LogPage<T>> {
    this.#lifetime.check();
    const state = this.#open.database.log(log);
    return (await readLogPage(state, this.#log(log), query)) as LogPage<T>;
  }

  async trimLog(log: string, beforeSequence: number): Promise<number> {
    this.#lifetime.check();
    const { head, base } = this.#open.database.log(log);
    const sequence = Math.min(beforeSequence - 1, head.sequence);
    if (!(sequence > base.sequence)) return 0;
    const block = await this.#log(log).blockAt(sequence);
    const hash = block.find((entry) => entry.sequence === sequence)?.hash ?? null;
    this.#lifetime.check();
    const removed = await this.#pump.submit(
      () => (batch) => {
        const before = batch.baseOf(log).sequence;
        if (before < sequence) batch.add({ kind: "trim", log, base: { sequence, hash } });
        return Math.max(0, sequence - before);
      },
      { reserve: true },
    );
    try {
      await this.#log(log).trim(sequence);
    } catch (error) {
      // The trim itself is durable; the next start removes what is left.
      this.#options.logger.warn("A trimmed log segment could not be removed.", { log, error });
    }
    return removed;
  }

  async appendBlob(id: string, bytes: Uint8Array, expectedSize?: number): Promise<number> {
    this.#lifetime.check();
    return this.#open.blobs.append(id, bytes, expectedSize);
  }

  async readBlob(id: string, range: { from?: number; to?: number } = {}): Promise<Uint8Array | null> {
    this.#lifetime.check();
    return this.#open.blobs.read(id, range);
  }

  async deleteBlob(id: string): Promise<void> {
    this.#lifetime.check();
    return this.#open.blobs.delete(id);
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    this.#lifetime.check();
    return this.#leases.take(name, ttlMs);
  }

  watch(signal: AbortSignal): AsyncIterable<ForeignChange> {
    return this.#lifetime.watchNothing(signal);
  }

  get #open(): OpenFolder {
    // Every public call checks the lifetime first; this covers a programming error in between.
    if (this.#content === null) throw new Error("The folder is not open.");
    return this.#content;
  }

  #log(name: string): LogFile {
    const log = this.#open.logs.get(name);
    if (log === undefined) throw new Error(`The log "${name}" is not open.`);
    return log;
  }

  #apply(effects: readonly Effect[]): void {
    for (const effect of effects) {
      this.#open.database.apply(effect);
      if (effect.kind === "append") this.#log(effect.log).append(effect.entry);
    }
  }

  #checkBackup(): void {
    this.#lifetime.check();
    if (!this.#isBackingUp) return;
    throw new OrchestratorError("UNAVAILABLE", { message: "Another backup is being made." });
  }

  async *#archive(): AsyncGenerator<Uint8Array> {
    this.#checkBackup();
    this.#isBackingUp = true;
    try {
      for await (const piece of writeArchive(
        folderParts({ ...this.#open, series: this.#series }, this.#schema.version),
      )) {
        yield piece;
        this.#lifetime.check();
      }
    } catch (error) {
      throw storageError(error);
    } finally {
      this.#isBackingUp = false;
    }
  }

  async #close(): Promise<void> {
    this.#leases.clear();
    const { journal, logs, blobs, checkpoints } = this.#open;
    // Each is done whatever became of those before it: the lock goes last, when nothing can be written any more, and always.
    const failures: unknown[] = [];
    for (const step of [
      () => Promise.all([this.#pump.idle(), blobs.settled()]),
      () => this.#series.close(),
      () => checkpoints.settled(),
      ...[...logs.values()].map((log) => () => log.close()),
      () => journal.close(),
      () => this.#lock?.release(),
    ])
      await Promise.resolve(step()).catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw storageError(failures[0]);
  }
}
