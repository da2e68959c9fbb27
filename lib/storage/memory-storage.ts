import { systemClock, toTimestamp, type Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import { checkOptions, type OptionTable } from "../internal/check-options.ts";
import { anObject } from "../internal/option-rules.ts";
import type { JsonObject } from "../json.ts";
import { clockRule } from "../part-rules.ts";
import type { BlobWriter } from "./blob-writer.ts";
import { Database, type DatabaseView } from "./database.ts";
import { Followers } from "./followers.ts";
import { ProcessLeases } from "./leases.ts";
import { Lifetime } from "./lifetime.ts";
import { readLogPage } from "./log-reader.ts";
import { MemoryBlob, MemoryBlobWriter } from "./memory-blob.ts";
import { MemorySeries } from "./memory-series.ts";
import { Staging } from "./staging.ts";
import type {
  CommitListener,
  CommitOptions,
  CommitResult,
  DocumentPage,
  Lease,
  ListQuery,
  LogEntry,
  LogPage,
  LogQuery,
  Restored,
  RestoreNote,
  SampleRow,
  SeriesStorage,
  Storage,
  StorageSchema,
  StoredDocument,
  Write,
} from "./storage.ts";
import { prepareWrites, sizeOf } from "./writes.ts";

/** What a {@link MemoryStorage} leaves behind when it is closed: give it to the next one, as a restart would. */
export class MemoryData {
  /**
   * Bytes of JSON text and blobs that may be added before `STORAGE_FULL`, as free space on a disk. Default: no bound.
   * What a delete frees is not given back: set it anew.
   */
  freeBytes = Infinity;
  /** Bytes that commits with `reserve` may add when there is no free space left. Default 64 KiB. */
  reserveBytes = 65_536;
  /** @internal */
  restored: RestoreNote | null = null;
  /** @internal */
  copies = 0;
  /** The version of what was written into it; 0 where nothing was. The storage's to set. */
  schemaVersion = 0;
  /** @internal */
  inUse = false;
  /** @internal */
  view: DatabaseView = { collections: {}, logs: {} };
  /** @internal */
  readonly logs = new Map<string, LogEntry[]>();
  /** @internal */
  readonly blobs = new Map<string, MemoryBlob>();
  /** @internal */
  readonly series = new Map<string, SampleRow[]>();
}

/** What a {@link MemoryStorage} is made of. What is not of this form is refused when it is made: `OPTIONS_INVALID`. */
export interface MemoryStorageOptions {
  /** Runs the leases. Default the process's clock. */
  clock?: Clock;
  /** Left behind by another, closed memory storage. Default nothing stored. */
  data?: MemoryData;
}

/** What each option may be. */
export const memoryStorageOptions: OptionTable<Required<MemoryStorageOptions>> = {
  clock: { rule: clockRule, defaultText: "the process's clock" },
  data: { rule: anObject, defaultText: "nothing stored" },
};

/** A {@link Storage} in the memory of the process. Keeps every promise of the port but the outliving of the process. */
export class MemoryStorage implements Storage {
  readonly capabilities = { durable: false, shared: false };
  readonly series: SeriesStorage;
  readonly backup = null;
  readonly restored: Restored = {
    note: () => this.#data.restored,
    told: async () => void (this.#data.restored = null),
  };
  readonly #data: MemoryData;
  readonly #clock: Clock;
  readonly #leases: ProcessLeases;
  readonly #lifetime = new Lifetime();
  readonly #followers = new Followers();
  /** Blobs that have a writer. */
  readonly #written = new Set<string>();
  #schema: StorageSchema = { version: 0, collections: {}, logs: {} };
  #database = new Database(this.#schema, { collections: {}, logs: {} });

  /** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options. */
  constructor(options: MemoryStorageOptions = {}) {
    checkOptions(options, memoryStorageOptions, { of: "MemoryStorage" });
    const { clock = systemClock, data = new MemoryData() } = options;
    this.#data = data;
    this.#clock = clock;
    this.#leases = new ProcessLeases(clock);
    this.series = new MemorySeries(data.series, () => this.#lifetime.check());
  }

  async open(schema: StorageSchema): Promise<void> {
    this.#lifetime.checkNew();
    if (this.#data.inUse) throw new OrchestratorError("STORAGE_LOCKED", { message: "The data is in use." });
    if (this.#data.schemaVersion > schema.version) throw new OrchestratorError("STORAGE_VERSION_UNSUPPORTED");
    this.#data.inUse = true;
    this.#data.schemaVersion = schema.version;
    this.#schema = schema;
    this.#database = new Database(schema, this.#data.view);
    this.#lifetime.begin();
  }

  async close(): Promise<void> {
    if (!this.#lifetime.end()) return;
    this.#leases.clear();
    this.#data.view = this.#database.view();
    this.#data.inUse = false;
  }

  /** All that is stored now, as a restore of a backup of this moment would leave it: give it to another memory storage. */
  restoredCopy(): MemoryData {
    const copy = new MemoryData();
    copy.copies = this.#data.copies += 1;
    const restored_at = toTimestamp(this.#clock.now());
    copy.restored = { restore_id: `${restored_at}/${copy.copies}`, restored_at };
    copy.schemaVersion = this.#schema.version;
    copy.view = this.#database.view();
    for (const [name, entries] of this.#data.logs) copy.logs.set(name, [...entries]);
    for (const [id, bytes] of this.#data.blobs) copy.blobs.set(id, bytes.copy());
    for (const [name, rows] of this.#data.series) copy.series.set(name, [...rows]);
    return copy;
  }

  async check(): Promise<void> {
    this.#lifetime.check();
    if (this.#data.freeBytes <= 0) throw new OrchestratorError("STORAGE_FULL");
  }

  async get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    this.#lifetime.check();
    return this.#database.collection(collection).get(key) as StoredDocument<T> | null;
  }

  async getMany<T = JsonObject>(
    collection: string,
    keys: readonly string[],
  ): Promise<(StoredDocument<T> | null)[]> {
    this.#lifetime.check();
    const documents = this.#database.collection(collection);
    return keys.map((key) => documents.get(key) as StoredDocument<T> | null);
  }

  async count(collection: string): Promise<number> {
    this.#lifetime.check();
    return this.#database.collection(collection).size;
  }

  async list<T = JsonObject>(collection: string, query: ListQuery = {}): Promise<DocumentPage<T>> {
    this.#lifetime.check();
    return this.#database.collection(collection).list(query) as DocumentPage<T>;
  }

  async commit(writes: readonly Write[], { reserve = false }: CommitOptions = {}): Promise<CommitResult> {
    this.#lifetime.check();
    if (writes.length === 0) this.#checkSpace(1);
    const staging = new Staging(this.#database);
    const result = staging.commit(prepareWrites(this.#schema, writes));
    const bytes = staging.effects.reduce((sum, effect) => sum + sizeOf(effect), 0);
    if (reserve && bytes > this.#data.freeBytes) this.#takeReserve(bytes);
    else this.#takeSpace(bytes);
    for (const effect of staging.effects) {
      this.#database.apply(effect);
      if (effect.kind === "append") this.#entries(effect.log).push(effect.entry);
      else if (effect.kind === "dropBlob") this.#data.blobs.delete(effect.id);
    }
    this.#followers.tell(staging.effects, this.#database);
    return result;
  }

  async readLog<T = JsonObject>(log: string, query: LogQuery = {}): Promise<LogPage<T>> {
    this.#lifetime.check();
    const state = this.#database.log(log);
    const page = await readLogPage(state, { blockAt: async () => this.#entries(log) }, query);
    return page as LogPage<T>;
  }

  async trimLog(log: string, beforeSequence: number): Promise<number> {
    this.#lifetime.check();
    const { base } = this.#database.log(log);
    const entries = this.#entries(log);
    const removed = entries.splice(0, Math.max(0, beforeSequence - 1 - base.sequence));
    const last = removed.at(-1);
    if (last !== undefined) {
      this.#database.apply({ kind: "trim", log, base: { sequence: last.sequence, hash: last.hash } });
    }
    return removed.length;
  }

  async appendBlob(id: string, bytes: Uint8Array, expectedSize?: number): Promise<number> {
    this.#lifetime.check();
    const { size } = this.#data.blobs.get(id) ?? new MemoryBlob();
    if (expectedSize !== undefined && expectedSize !== size) {
      const details = { blob: id, expected: expectedSize, actual: size };
      throw new OrchestratorError("REVISION_CONFLICT", { details });
    }
    this.#refuseWhereWritten(id);
    this.#takeSpace(bytes.length);
    return this.#blob(id).append(bytes);
  }

  async openBlob(id: string): Promise<BlobWriter> {
    this.#lifetime.check();
    this.#refuseWhereWritten(id);
    this.#written.add(id);
    const blob = this.#blob(id);
    return new MemoryBlobWriter(blob, {
      take: (bytes) => {
        this.#lifetime.check();
        this.#takeSpace(bytes);
      },
      closed: () => this.#written.delete(id),
    });
  }

  async readBlob(id: string, range: { from?: number; to?: number } = {}): Promise<Uint8Array | null> {
    this.#lifetime.check();
    return this.#data.blobs.get(id)?.read(range) ?? null;
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    this.#lifetime.check();
    return this.#leases.take(name, ttlMs);
  }

  follow(listener: CommitListener): () => void {
    this.#lifetime.check();
    return this.#followers.add(listener);
  }

  #blob(id: string): MemoryBlob {
    let blob = this.#data.blobs.get(id);
    if (blob === undefined) this.#data.blobs.set(id, (blob = new MemoryBlob()));
    return blob;
  }

  #refuseWhereWritten(id: string): void {
    if (this.#written.has(id))
      throw new OrchestratorError("REVISION_CONFLICT", { message: `The blob ${id} has a writer.` });
  }

  #entries(log: string): LogEntry[] {
    let entries = this.#data.logs.get(log);
    if (entries === undefined) this.#data.logs.set(log, (entries = []));
    return entries;
  }

  #takeReserve(bytes: number): void {
    if (bytes > this.#data.reserveBytes) throw new OrchestratorError("STORAGE_FULL");
    this.#data.reserveBytes -= bytes;
  }

  #checkSpace(bytes: number): void {
    if (bytes > this.#data.freeBytes) throw new OrchestratorError("STORAGE_FULL");
  }

  #takeSpace(bytes: number): void {
    this.#checkSpace(bytes);
    this.#data.freeBytes -= bytes;
  }
}
