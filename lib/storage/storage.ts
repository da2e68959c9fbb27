/** PORT: where the orchestrator keeps what must outlive the process. */
import type { Json, JsonObject } from "../json.ts";
import type { AcceptedLosses } from "./accepted-losses.ts";
import type { BlobWriter } from "./blob-writer.ts";
import type { Restored } from "./restored.ts";
import type { SeriesStorage } from "./series.ts";
import type { StorageBackup } from "./storage-backup.ts";

export type { AcceptedLosses, StorageLoss } from "./accepted-losses.ts";
export type { BlobWriter } from "./blob-writer.ts";
export type { Restored, RestoreNote } from "./restored.ts";
export type { SamplePoint, SampleQuery, SampleRow, SeriesStorage } from "./series.ts";
export type { StorageBackup } from "./storage-backup.ts";

/**
 * Where the orchestrator keeps what must outlive the process.
 *
 * What every storage promises (each number is the `promise` of cases of the conformance suite in `fleetwright/testing`):
 *
 *  1. A resolved `commit` survives kill -9 and power loss; it is all there or not at all, documents, log entries and dropped blobs together.
 *  2. A rejected `commit` changes nothing, in memory or on disk.
 *  3. Of several commits that expect the same revision of a document, exactly one wins; the others get `REVISION_CONFLICT`.
 *  4. A read sees only what is durable, and every commit that resolved before the read began.
 *  5. `list` answers in index order, then by key; pages never skip or repeat a document that is not changed meanwhile.
 *  6. Log sequences start at 1, rise by 1 and are never used again, also after a trim.
 *  7. Entries of a chained log carry `SHA-256(previous hash || canonical JSON of { sequence, at, value })`; see {@link LogEntry.hash}.
 *  8. `trimLog` removes a prefix only, and the rest still verifies.
 *  9. A blob is read back as it was appended, in order; a resolved `appendBlob` is durable. A commit that drops one is all there
 *     with its removal or not at all, and a blob of the same id that is made after it stays. Damage inside a blob need not be
 *     noticed here: every blob of the orchestrator is named `<kind>-<SHA-256 of its content>` and checked when it is read,
 *     and a backup checks every blob whose id ends so.
 * 10. At most one holder has a lease at any moment of the given clock; an expired lease can be taken by another.
 * 11. After `close` every call is refused with `STORAGE_CLOSED`; `close` may be called twice.
 * 12. Values come back as the JSON that was given, and a caller that changes its own object afterwards changes nothing here.
 * 13. Keys may hold any character; values up to 1 MiB are kept whole.
 * 14. Out of space gives `STORAGE_FULL`, reads go on, and writing works again when there is space. Commits with `reserve`
 *     go on for a while longer.
 * 15. `follow` tells every commit once, in the order in which they were made, which is the same for every listener: within a commit in
 *     the order of its writes, and never of one that was rejected.
 * 16. What the writer of a blob has appended is read from then on, in order, and by the next process also where this one was killed; what
 *     it has synced survives a power loss, too. A blob has one writer at a time.
 *
 * A storage that is out of reach for a while rejects with `UNAVAILABLE`, and callers are told to come again. After that, `STORAGE_FULL`,
 * `STORAGE_FAILED` or an error of its own, the background tries again; calls over REST and tRPC are answered with `INTERNAL` for the last.
 */
export interface Storage {
  readonly capabilities: StorageCapabilities;
  /** Time series, where this storage keeps them; else null. */
  readonly series: SeriesStorage | null;
  /** Copies of everything while it is in use, where this storage makes them; else null. */
  readonly backup: StorageBackup | null;
  /** What it goes on without, where its owner can say so; absent where it always refuses. There from `open` on. */
  readonly losses?: AcceptedLosses;
  /** Whether the data was restored from a backup; absent where this storage can't tell. There from `open` on. */
  readonly restored?: Restored;

  /**
   * Makes the storage ready. Called once, before anything else. Where it rejects, it has let go of everything: nobody calls {@link close} then.
   *
   * @throws {OrchestratorError} `STORAGE_LOCKED`, `STORAGE_CORRUPT` (with file and offset), `STORAGE_VERSION_UNSUPPORTED`.
   */
  open(schema: StorageSchema): Promise<void>;
  /** Waits for writes under way, then lets go of everything. */
  close(): Promise<void>;
  /**
   * Resolves when a commit can be written, as far as is known without one.
   *
   * @throws {OrchestratorError} `STORAGE_FULL` while there is no space; `STORAGE_FAILED` when nothing is written any more.
   */
  check(): Promise<void>;

  /** Reads one document; null when there is none. */
  get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null>;
  /** Reads several documents at one moment, each in the place of its key; null where there is none. */
  getMany<T = JsonObject>(collection: string, keys: readonly string[]): Promise<(StoredDocument<T> | null)[]>;
  /** How many documents a collection has. Costs the same however many these are. */
  count(collection: string): Promise<number>;
  /** Reads a page of a collection. */
  list<T = JsonObject>(collection: string, query?: ListQuery): Promise<DocumentPage<T>>;
  /**
   * Writes documents and log entries as one atomic, durable step. A commit of nothing tells whether writing works: it is
   * refused where the last write failed and one now would fail too.
   *
   * @throws {OrchestratorError} `REVISION_CONFLICT` with `details { collection, key, expected, actual }`; `STORAGE_FULL`; `STORAGE_FAILED`;
   *   `VALIDATION_FAILED` for a collection or log that was not declared or a value that is not JSON.
   */
  commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult>;

  /** Reads a stretch of a log. */
  readLog<T = JsonObject>(log: string, query?: LogQuery): Promise<LogPage<T>>;
  /** Removes every entry before a sequence. Resolves with how many were removed. */
  trimLog(log: string, beforeSequence: number): Promise<number>;

  /**
   * Adds bytes to the end of a blob, making it if it is new. `expectedSize`, where given, is the size it must have now
   * (`REVISION_CONFLICT` otherwise). Resolves with the new size in bytes.
   */
  appendBlob(id: string, bytes: Uint8Array, expectedSize?: number): Promise<number>;
  /**
   * Makes ready to add to a blob again and again, making it if it is new: for what is written faster than a disk syncs.
   *
   * @throws {OrchestratorError} `REVISION_CONFLICT` while it has another writer. Until this one is closed, {@link appendBlob} is
   *   refused so, too.
   */
  openBlob(id: string): Promise<BlobWriter>;
  /** Reads a range (`from` inclusive, `to` exclusive, in bytes) of a blob; null when there is none. */
  readBlob(id: string, range?: { from?: number; to?: number }): Promise<Uint8Array | null>;

  /** Takes a lease for `ttlMs` (1-3,600,000 ms) if nobody holds it; null otherwise. */
  lease(name: string, ttlMs: number): Promise<Lease | null>;
  /**
   * Tells of everything that is committed from now on, whoever commits it. The listener is called with the changes of one or more
   * whole commits, when these are durable and can be read, and before the `commit` that made them resolves. It may read and commit; it must
   * not throw. The function returned ends it, as `close` does.
   */
  follow(listener: CommitListener): () => void;
}

/** What is kept in one collection of documents, declared once at `open`. */
export interface CollectionDefinition {
  /**
   * Orders in which the collection can be listed: index name -> dotted field paths, compared from left to right.
   * A document that lacks a field is ordered before those that have it; then null, false, true, numbers, texts (by code
   * point), lists, objects. The key is the last field of every index.
   */
  indexes: Record<string, readonly string[]>;
  /**
   * Fields of its documents, as dotted paths, that hold the SHA-256 of a blob, and the kind of the blob: its id is
   * `<kind>-<SHA-256>`. A blob that a document names must be there; a backup without it is refused.
   */
  blobs?: Readonly<Record<string, string>>;
}

/** One append-only log, declared once at `open`. */
export interface LogDefinition {
  /** Whether each entry carries a hash over itself and all before it. */
  chained: boolean;
}

/** Everything that will be kept, declared once at `open`. */
export interface StorageSchema {
  /** Version of the shape of the documents, from 1; a store of a newer one is refused with `STORAGE_VERSION_UNSUPPORTED`. */
  version: number;
  collections: Record<string, CollectionDefinition>;
  logs: Record<string, LogDefinition>;
}

/** A document as it is stored. Frozen: to change it, commit a new value. */
export interface StoredDocument<T = JsonObject> {
  key: string;
  /** 1 for a new document, one more with each put. */
  revision: number;
  value: Readonly<T>;
}

/** One change of a commit. */
export type Write =
  | {
      kind: "put";
      collection: string;
      key: string;
      value: JsonObject;
      /** The revision the document must have now; 0 = it must not exist; absent = any. */
      expected?: number;
    }
  | { kind: "delete"; collection: string; key: string; expected?: number }
  | {
      kind: "append";
      log: string;
      /** Milliseconds since 1970, by the writer's clock. May go backwards; the sequence never does. */
      at: number;
      value: JsonObject;
    }
  /** Removes a blob with the commit; nothing happens where there is none. */
  | { kind: "dropBlob"; id: string };

/** What a commit wrote. */
export interface CommitResult {
  /** Revisions of the puts, in the order of the writes; 0 for any other write. */
  revisions: number[];
  /** Sequences of the appends, in the order of the writes; 0 for any other write. */
  sequences: number[];
}

/** A page of a collection to read. */
export interface ListQuery {
  /** Index to order by; absent = by key. */
  index?: string;
  /** Values that the first fields of the index must have. */
  equals?: readonly Json[];
  /**
   * Bounds of the field after those in `equals`: `from` inclusive, `to` exclusive. Only values of the same JSON type are
   * in the range, so that `to: 5` finds no document whose field is missing or null.
   */
  from?: Json;
  to?: Json;
  /** Default "asc". */
  order?: "asc" | "desc";
  /** 1-1000, default 50; `VALIDATION_FAILED` for another. */
  limit?: number;
  /** Where the page before ended: its `next`. */
  after?: string;
}

/** A page of documents. */
export interface DocumentPage<T = JsonObject> {
  items: StoredDocument<T>[];
  /** Pass as `after` to go on; null at the end. */
  next: string | null;
}

/** An entry of a log. */
export interface LogEntry<T = JsonObject> {
  sequence: number;
  /** Milliseconds since 1970, by the writer's clock. */
  at: number;
  value: Readonly<T>;
  /**
   * Hex SHA-256 over the previous entry's hash as hex text (64 zeros before the first) followed by the canonical JSON of
   * `{ sequence, at, value }`; null in a log that is not chained.
   */
  hash: string | null;
}

/** A stretch of a log to read. */
export interface LogQuery {
  /** First sequence of the stretch, inclusive. Default: the oldest. */
  from?: number;
  /** Last sequence of the stretch, inclusive. Default: the newest. */
  to?: number;
  /** Newest first. Default false. */
  reverse?: boolean;
  /** Fields (dotted paths) that the value must have with exactly these values. */
  where?: Record<string, Json>;
  /** 1-1000, default 50; `VALIDATION_FAILED` for another. */
  limit?: number;
}

/** A place in a log. */
export interface LogPlace {
  /** 0 before the first entry. */
  sequence: number;
  /** Null in a log that is not chained. */
  hash: string | null;
}

/** A stretch of a log. */
export interface LogPage<T = JsonObject> {
  entries: LogEntry<T>[];
  /** The sequence to go on from in the same direction (as `from`, or as `to` when reversed); null at the end. */
  next: number | null;
  /** Sequence and hash of the newest entry of the log; 0 and zeros when there never was one. */
  head: LogPlace;
  /** Sequence and hash of the entry before the oldest that is kept: what the rest verifies against. 0 and zeros when never trimmed. */
  base: LogPlace;
}

/** A lease that is held. */
export interface Lease {
  /** Extends it by its time to live from now; false when it was lost, and then it must not be relied on. */
  renew(): Promise<boolean>;
  /** Gives it up. Does nothing when it was lost. */
  release(): Promise<void>;
}

/** One change that was committed. */
export type CommittedChange =
  | {
      kind: "put";
      collection: string;
      key: string;
      /** As it was then; read only where it is asked for. */
      readonly document: StoredDocument;
    }
  | { kind: "delete"; collection: string; key: string }
  | { kind: "append"; log: string; entry: LogEntry };

/** Hears of what is committed; see {@link Storage.follow}. */
export type CommitListener = (changes: readonly CommittedChange[]) => void;

/** How a commit is written. */
export interface CommitOptions {
  /**
   * Whether it may use the space that the storage keeps back for what must go on when the disk is full: signing in and
   * out, and removing. Default false. Never for what a stranger can cause.
   */
  reserve?: boolean;
}

/** What a storage can do beyond the promises above. */
export interface StorageCapabilities {
  /** Whether what is kept outlives the process. */
  durable: boolean;
  /** Whether several processes may open the same data at once. */
  shared: boolean;
}
