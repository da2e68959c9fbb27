import { join } from "node:path";
import type { JsonObject } from "../json.ts";
import { guardedWriter, type BlobWriter } from "./blob-writer.ts";
import type { Collection } from "./collection.ts";
import { BlobGuard } from "./file/blob-guard.ts";
import { CommitPump } from "./file/commit-pump.ts";
import { effectsToText } from "./file/effects.ts";
import { storageError, takeEach, unusable } from "./file/errors.ts";
import { resolveFileOptions, type FileStorageOptions } from "./file/file-storage-options.ts";
import { FolderBackup } from "./file/folder-backup.ts";
import { folderParts } from "./file/folder-parts.ts";
import { FolderWatch } from "./file/folder-watch.ts";
import { openFolder, type OpenFolder } from "./file/folder.ts";
import { FolderLock } from "./file/lock.ts";
import type { LogFile } from "./file/log-file.ts";
import { FileSeries } from "./file/series/file-series.ts";
import { Followers } from "./followers.ts";
import { ProcessLeases } from "./leases.ts";
import { Lifetime } from "./lifetime.ts";
import { readLogPage } from "./log-reader.ts";
import type {
  AcceptedLosses,
  CommitListener,
  CommitOptions,
  CommitResult,
  DocumentPage,
  Lease,
  ListQuery,
  LogPage,
  LogQuery,
  Restored,
  SeriesStorage,
  Storage,
  StorageBackup,
  StorageSchema,
  StoredDocument,
  Write,
} from "./storage.ts";
import { prepareWrites, type Effect } from "./writes.ts";

export type { FileStorageOptions };

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
  readonly backup: StorageBackup = new FolderBackup({
    check: () => this.#lifetime.check(),
    parts: () => folderParts({ ...this.#open, series: this.#series }, this.#schema),
  });
  readonly #series: FileSeries;
  readonly #options: Required<FileStorageOptions>;
  readonly #leases: ProcessLeases;
  readonly #lifetime = new Lifetime();
  readonly #followers = new Followers();
  readonly #pump: CommitPump;
  readonly #guard = new BlobGuard({
    checkOpen: () => this.#lifetime.check(),
    checkInPlace: () => this.#checkInPlace(),
    space: () => this.#open.space,
  });
  #schema: StorageSchema = { version: 0, collections: {}, logs: {} };
  #lock: FolderLock | null = null;
  #content: OpenFolder | null = null;
  #watch: FolderWatch | null = null;
  #closing: Promise<void> | null = null;

  /** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options. */
  constructor(options: FileStorageOptions) {
    this.#options = resolveFileOptions(options);
    this.#series = new FileSeries({
      ...this.#options,
      folder: join(this.#options.folder, "series"),
      rawMs: this.#options.rawSamplesMs,
      pointsMs: this.#options.samplePointsMs,
      check: () => this.#lifetime.check(),
      failure: () => this.#content?.journal.failure ?? null,
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
      this.#lock = FolderLock.take(disk, folder, logger);
      this.#content = await openFolder(this.#options, schema);
      this.#watch = new FolderWatch({ ...this.#options, ...this.#content, lock: this.#lock });
    } catch (error) {
      this.#releaseLock();
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

  /** What was accepted as lost and is not told yet. */
  get losses(): AcceptedLosses {
    return this.#open.losses;
  }

  /** The restore that made the folder, until somebody has acted on it. */
  get restored(): Restored {
    return this.#open.restored;
  }

  async check(): Promise<void> {
    this.#lifetime.check();
    this.#watch?.check();
    const { journal, space, checkpoints } = this.#open;
    await journal.check();
    await space.check(checkpoints.missingBytes);
    checkpoints.hurry();
  }

  async get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    return this.#documents(collection).get(key) as StoredDocument<T> | null;
  }

  async getMany<T = JsonObject>(
    collection: string,
    keys: readonly string[],
  ): Promise<(StoredDocument<T> | null)[]> {
    const documents = this.#documents(collection);
    return keys.map((key) => documents.get(key) as StoredDocument<T> | null);
  }

  async count(collection: string): Promise<number> {
    return this.#documents(collection).size;
  }

  async list<T = JsonObject>(collection: string, query: ListQuery = {}): Promise<DocumentPage<T>> {
    return this.#documents(collection).list(query) as DocumentPage<T>;
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
    const own = Uint8Array.from(bytes);
    return this.#guard.write(async () => {
      await this.#keepBlob(id);
      return this.#open.blobs.append(id, own, expectedSize);
    });
  }

  async openBlob(id: string): Promise<BlobWriter> {
    const open = (): Promise<BlobWriter> => this.#keepBlob(id).then(() => this.#open.blobs.openWriter(id));
    return guardedWriter(await this.#guard.write(open), {
      append: (write) => this.#guard.add(write),
      sync: (write) => this.#guard.write(write),
    });
  }

  async readBlob(id: string, range: { from?: number; to?: number } = {}): Promise<Uint8Array | null> {
    this.#lifetime.check();
    return this.#open.blobs.read(id, range);
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    this.#lifetime.check();
    return this.#leases.take(name, ttlMs);
  }

  follow(listener: CommitListener): () => void {
    this.#lifetime.check();
    return this.#followers.add(listener);
  }

  get #open(): OpenFolder {
    // Every public call checks the lifetime first; this covers a programming error in between.
    if (this.#content === null) throw new Error("The folder is not open.");
    return this.#content;
  }

  #documents(collection: string): Collection {
    this.#lifetime.check();
    return this.#open.database.collection(collection);
  }

  #log(name: string): LogFile {
    const log = this.#open.logs.get(name);
    if (log === undefined) throw new Error(`The log "${name}" is not open.`);
    return log;
  }

  #keepBlob(id: string): Promise<void> {
    const keeps = (): Promise<void> =>
      this.#pump.submit(() => (batch) => batch.add({ kind: "keepBlob", id }));
    return this.#open.dropped.keep(id, keeps);
  }

  #checkInPlace(): void {
    this.#watch?.check();
    const { failure } = this.#open.journal;
    if (failure !== null) throw failure;
  }

  #apply(effects: readonly Effect[]): void {
    for (const effect of effects) {
      this.#open.database.apply(effect);
      this.#open.dropped.apply(effect);
      if (effect.kind === "append") this.#log(effect.log).append(effect.entry);
    }
    this.#followers.tell(effects, this.#open.database);
  }

  #releaseLock(): void {
    try {
      this.#lock?.release();
    } catch (error) {
      const { folder, logger } = this.#options;
      logger.warn("The lock of the data folder could not be removed.", { folder, error });
    }
  }

  async #close(): Promise<void> {
    this.#leases.clear();
    const { journal, logs, blobs, checkpoints } = this.#open;
    this.#watch?.end();
    // The lock goes last, when nothing can be written any more, and always.
    await takeEach([
      () => this.#pump.idle(),
      () => blobs.settled(),
      () => this.#series.close(),
      () => checkpoints.settled(),
      ...[...logs.values(), journal].map((each) => () => each.close()),
      async () => this.#lock?.release(),
    ]).catch((error: unknown) => {
      throw storageError(error);
    });
  }
}
