import type { JsonObject } from "../../lib/json.ts";
import { guardedWriter, type BlobWriter } from "../../lib/storage/blob-writer.ts";
import type { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type {
  CommitListener,
  CommitOptions,
  CommitResult,
  DocumentPage,
  Lease,
  ListQuery,
  LogPage,
  LogQuery,
  Storage,
  StorageSchema,
  StoredDocument,
  Write,
} from "../../lib/storage/storage.ts";
import type { Life } from "./life.ts";

/**
 * A storage whose process may die before a write is applied, or after it was applied and before anybody hears of it. Writes
 * take their time, one after another, and so does what a disk must be asked for; what was written stays for the next process.
 */
export class MortalStorage implements Storage {
  readonly capabilities;
  readonly series;
  readonly backup = null;
  readonly #inner: MemoryStorage;
  readonly #life: Life;
  readonly #random: () => number;
  #last: Promise<unknown> = Promise.resolve();

  constructor(inner: MemoryStorage, life: Life, random: () => number) {
    this.#inner = inner;
    this.#life = life;
    this.#random = random;
    this.capabilities = inner.capabilities;
    this.series = inner.series;
    // The data is the next one's from then on; its `close` takes effect at once.
    life.onEnd(() => void inner.close());
  }

  open(schema: StorageSchema): Promise<void> {
    return this.#inner.open(schema);
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#inner.close();
  }

  check(): Promise<void> {
    return this.#inner.check();
  }

  get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    return this.#inner.get<T>(collection, key);
  }

  getMany<T = JsonObject>(
    collection: string,
    keys: readonly string[],
  ): Promise<(StoredDocument<T> | null)[]> {
    return this.#inner.getMany<T>(collection, keys);
  }

  count(collection: string): Promise<number> {
    return this.#inner.count(collection);
  }

  list<T = JsonObject>(collection: string, query?: ListQuery): Promise<DocumentPage<T>> {
    return this.#inner.list<T>(collection, query);
  }

  async readLog<T = JsonObject>(log: string, query?: LogQuery): Promise<LogPage<T>> {
    await this.#life.outlive(this.#delay());
    return this.#inner.readLog<T>(log, query);
  }

  async readBlob(id: string, range?: { from?: number; to?: number }): Promise<Uint8Array | null> {
    await this.#life.outlive(this.#delay());
    return this.#inner.readBlob(id, range);
  }

  commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    return this.#write(() => this.#inner.commit(writes, options));
  }

  trimLog(log: string, beforeSequence: number): Promise<number> {
    return this.#write(() => this.#inner.trimLog(log, beforeSequence));
  }

  appendBlob(id: string, bytes: Uint8Array, expectedSize?: number): Promise<number> {
    return this.#write(() => this.#inner.appendBlob(id, bytes, expectedSize));
  }

  async openBlob(id: string): Promise<BlobWriter> {
    const writer = await this.#write(() => this.#inner.openBlob(id));
    const guard = (write: () => Promise<void>): Promise<void> => this.#write(write);
    return guardedWriter(writer, { append: guard, sync: guard });
  }

  lease(name: string, ttlMs: number): Promise<Lease | null> {
    return this.#inner.lease(name, ttlMs);
  }

  follow(listener: CommitListener): () => void {
    return this.#inner.follow(listener);
  }

  #write<T>(act: () => Promise<T>): Promise<T> {
    const written = this.#last.then(async () => {
      this.#life.pass();
      await this.#life.outlive(this.#delay());
      const result = await act();
      this.#life.pass();
      return result;
    });
    this.#last = written.catch(() => {});
    return written;
  }

  /** Most disks are quick, most of the time. */
  async #delay(): Promise<void> {
    const chance = this.#random();
    if (chance < 0.75) return;
    const ms = chance < 0.95 ? this.#random() * 30 : this.#random() * 2000;
    await new Promise<void>((resolve) => void this.#life.clock.setTimer(ms, resolve));
  }
}
