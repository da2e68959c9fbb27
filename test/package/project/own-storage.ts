/** A storage of one's own, written with exported names alone. */
import { OrchestratorError } from "fleetwright/errors";
import {
  type BlobWriter,
  type CommittedChange,
  type CommitListener,
  canonicalJson,
  chainHash,
  compareWithBound,
  readCursor,
  TypeEdge,
  writeCursor,
  zeroHash,
  type Clock,
  type CommitOptions,
  type CommitResult,
  type DocumentPage,
  type Json,
  type JsonObject,
  type Lease,
  type ListQuery,
  type LogEntry,
  type LogPage,
  type LogPlace,
  type LogQuery,
  type OrderValue,
  type SeriesStorage,
  type Storage,
  type StorageBackup,
  type StorageCapabilities,
  type StorageSchema,
  type StoredDocument,
  type Write,
} from "fleetwright/ports";

interface Log {
  entries: LogEntry[];
  head: LogPlace;
  base: LogPlace;
}

/** What outlives a storage. */
export class OwnData {
  version = 0;
  isOpen = false;
  documents = new Map<string, Map<string, StoredDocument>>();
  logs = new Map<string, Log>();
  readonly blobs = new Map<string, Uint8Array>();
}

export class OwnStorage implements Storage {
  readonly capabilities: StorageCapabilities = { durable: false, shared: false };
  readonly series: SeriesStorage | null = null;
  readonly backup: StorageBackup | null = null;
  readonly #clock: Clock;
  readonly #data: OwnData;
  readonly #leases = new Map<string, { until: number }>();
  /** Blobs that have a writer. */
  readonly #written = new Set<string>();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<CommitListener>();
  readonly #untold: (readonly CommittedChange[])[] = [];
  #schema: StorageSchema | null = null;

  constructor(clock: Clock, data: OwnData) {
    this.#clock = clock;
    this.#data = data;
  }

  async open(schema: StorageSchema): Promise<void> {
    this.#requireOpen(null);
    if (this.#data.isOpen) throw new OrchestratorError("STORAGE_LOCKED");
    if (this.#data.version > schema.version) throw new OrchestratorError("STORAGE_VERSION_UNSUPPORTED");
    this.#data.version = schema.version;
    this.#data.isOpen = true;
    this.#schema = schema;
  }

  async close(): Promise<void> {
    if (this.#schema && !this.#closing.signal.aborted) this.#data.isOpen = false;
    this.#closing.abort();
    this.#leases.clear();
  }

  async check(): Promise<void> {
    this.#requireOpen(this.#schema);
  }

  async get<T = JsonObject>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    return (this.#documents(collection).get(key) ?? null) as StoredDocument<T> | null;
  }

  async getMany<T = JsonObject>(
    collection: string,
    keys: readonly string[],
  ): Promise<(StoredDocument<T> | null)[]> {
    const documents = this.#documents(collection);
    return keys.map((key) => (documents.get(key) ?? null) as StoredDocument<T> | null);
  }

  async count(collection: string): Promise<number> {
    return this.#documents(collection).size;
  }

  async list<T = JsonObject>(collection: string, query: ListQuery = {}): Promise<DocumentPage<T>> {
    const documents = this.#documents(collection);
    const { index = "", order = "asc", equals = [], from, to } = query;
    const limit = limitOf(query.limit);
    const fields =
      index === "" ? [] : this.#requireOpen(this.#schema).collections[collection]?.indexes[index];
    if (!fields) throw invalid(`There is no index "${index}".`);
    const isRange = from !== undefined || to !== undefined;
    if (equals.length + (isRange ? 1 : 0) > fields.length + 1) throw invalid("There are fewer fields.");
    const lower: OrderValue[] = [...equals, ...(isRange ? [from ?? TypeEdge.before(to as Json)] : [])];
    const upper: OrderValue[] = [...equals, ...(isRange ? [to ?? TypeEdge.after(from as Json)] : [])];
    const after = query.after === undefined ? null : readCursor(query.after, query);
    const sign = order === "asc" ? 1 : -1;
    const rows = [...documents.values()]
      .map((document) => ({
        document,
        entry: [...fields.map((path) => fieldAt(document.value, path)), document.key],
      }))
      .filter(({ entry }) => {
        const end = compareWithBound(entry, upper);
        return compareWithBound(entry, lower) >= 0 && (isRange ? end < 0 : end === 0);
      })
      .filter(({ entry }) => after === null || compareWithBound(entry, after) * sign > 0)
      .sort((a, b) => compareWithBound(a.entry, b.entry) * sign);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      items: page.map(({ document }) => document as StoredDocument<T>),
      next: last && rows.length > limit ? writeCursor({ index, order, entry: last.entry }) : null,
    };
  }

  async commit(writes: readonly Write[], _options?: CommitOptions): Promise<CommitResult> {
    const schema = this.#requireOpen(this.#schema);
    const documents = new Map(
      [...this.#data.documents].map(([name, kept]) => [name, new Map(kept)] as const),
    );
    const logs = new Map<string, Log>();
    for (const [name, log] of this.#data.logs) logs.set(name, { ...log, entries: [...log.entries] });
    const result: CommitResult = { revisions: [], sequences: [] };
    const changes: CommittedChange[] = [];
    const dropped: string[] = [];
    for (const write of writes) {
      if (write.kind === "dropBlob") {
        dropped.push(write.id);
        result.revisions.push(0);
        result.sequences.push(0);
        continue;
      }
      const known = write.kind === "delete" && documents.get(write.collection)?.has(write.key);
      const [revision, sequence] =
        write.kind === "append" ? [0, append(logs, schema, write)] : [change(documents, schema, write), 0];
      result.revisions.push(revision);
      result.sequences.push(sequence);
      if (write.kind === "put") {
        const { collection, key } = write;
        changes.push({ kind: "put", collection, key, document: documents.get(collection)!.get(key)! });
      } else if (write.kind === "append") {
        const { log } = write;
        changes.push({ kind: "append", log, entry: logs.get(log)!.entries.at(-1)! });
      } else if (known) changes.push({ kind: "delete", collection: write.collection, key: write.key });
    }
    this.#data.documents = documents;
    this.#data.logs = logs;
    for (const id of dropped) this.#data.blobs.delete(id);
    this.#tell(changes);
    return result;
  }

  async readLog<T = JsonObject>(name: string, query: LogQuery = {}): Promise<LogPage<T>> {
    const { entries, head, base } = this.#log(name);
    const { from = 1, to = Infinity, reverse = false, where = {} } = query;
    const limit = limitOf(query.limit);
    const found = entries.filter(
      ({ sequence, value }) =>
        sequence >= from &&
        sequence <= to &&
        Object.entries(where).every(([path, wanted]) => {
          const field = fieldAt(value, path);
          return field !== undefined && canonicalJson(field) === canonicalJson(wanted);
        }),
    );
    if (reverse) found.reverse();
    const next = found[limit]?.sequence ?? null;
    return { entries: found.slice(0, limit) as LogEntry<T>[], next, head, base };
  }

  async trimLog(name: string, beforeSequence: number): Promise<number> {
    const log = this.#log(name);
    const gone = log.entries.filter(({ sequence }) => sequence < beforeSequence);
    const last = gone.at(-1);
    if (!last) return 0;
    const base = { sequence: last.sequence, hash: last.hash };
    this.#data.logs.set(name, { ...log, entries: log.entries.slice(gone.length), base });
    return gone.length;
  }

  async appendBlob(id: string, bytes: Uint8Array, expectedSize?: number): Promise<number> {
    const size = this.#blob(id).length;
    if (expectedSize !== undefined && expectedSize !== size) throw new OrchestratorError("REVISION_CONFLICT");
    if (this.#written.has(id)) throw new OrchestratorError("REVISION_CONFLICT");
    return this.#addTo(id, bytes);
  }

  async openBlob(id: string): Promise<BlobWriter> {
    let size = this.#blob(id).length;
    if (this.#written.has(id)) throw new OrchestratorError("REVISION_CONFLICT");
    this.#written.add(id);
    let isClosed = false;
    const append = async (bytes: Uint8Array): Promise<void> => {
      if (isClosed) throw new OrchestratorError("STORAGE_CLOSED");
      size = this.#addTo(id, bytes);
    };
    await append(new Uint8Array());
    return {
      get size() {
        return size;
      },
      append,
      sync: () => append(new Uint8Array()),
      close: async () => {
        if (!isClosed) this.#written.delete(id);
        isClosed = true;
      },
    };
  }

  #blob(id: string): Uint8Array {
    const { blobs } = this.#requireOpen(this.#schema) && this.#data;
    return blobs.get(id) ?? new Uint8Array();
  }

  #addTo(id: string, bytes: Uint8Array): number {
    const longer = Uint8Array.from([...this.#blob(id), ...bytes]);
    this.#data.blobs.set(id, longer);
    return longer.length;
  }

  async readBlob(
    id: string,
    { from = 0, to = Infinity }: { from?: number; to?: number } = {},
  ): Promise<Uint8Array | null> {
    this.#requireOpen(this.#schema);
    return this.#data.blobs.get(id)?.slice(from, Math.max(from, to)) ?? null;
  }

  async lease(name: string, ttlMs: number): Promise<Lease | null> {
    this.#requireOpen(this.#schema);
    if (!(ttlMs >= 1 && ttlMs <= 3_600_000)) throw invalid("A lease lasts 1 to 3,600,000 ms.");
    const now = (): number => this.#clock.monotonic();
    if ((this.#leases.get(name)?.until ?? 0) > now()) return null;
    const mine = { until: now() + ttlMs };
    this.#leases.set(name, mine);
    return {
      renew: async () => {
        const isHeld = this.#leases.get(name) === mine && mine.until > now();
        if (isHeld) mine.until = now() + ttlMs;
        return isHeld;
      },
      release: async () => {
        if (this.#leases.get(name) === mine) this.#leases.delete(name);
      },
    };
  }

  follow(listener: CommitListener): () => void {
    this.#requireOpen(this.#schema);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** In order, also where a listener commits. */
  #tell(changes: readonly CommittedChange[]): void {
    this.#untold.push(changes);
    if (this.#untold.length > 1) return;
    for (; this.#untold[0]; this.#untold.shift())
      for (const listener of this.#listeners) if (this.#untold[0].length > 0) listener(this.#untold[0]);
  }

  #requireOpen<T>(state: T): NonNullable<T> {
    if (this.#closing.signal.aborted) throw new OrchestratorError("STORAGE_CLOSED");
    return state as NonNullable<T>;
  }

  #documents(collection: string): ReadonlyMap<string, StoredDocument> {
    const { collections } = this.#requireOpen(this.#schema);
    if (!Object.hasOwn(collections, collection)) throw invalid(`There is no collection "${collection}".`);
    return this.#data.documents.get(collection) ?? new Map<string, StoredDocument>();
  }

  #log(name: string): Log {
    return logIn(this.#data.logs, this.#requireOpen(this.#schema), name);
  }
}

function change(
  documents: Map<string, Map<string, StoredDocument>>,
  { collections }: StorageSchema,
  write: Exclude<Write, { kind: "append" | "dropBlob" }>,
): number {
  const { collection, key, expected } = write;
  if (!Object.hasOwn(collections, collection)) throw invalid(`There is no collection "${collection}".`);
  const kept = documents.get(collection) ?? new Map<string, StoredDocument>();
  documents.set(collection, kept);
  const actual = kept.get(key)?.revision ?? 0;
  if (expected !== undefined && expected !== actual) {
    throw new OrchestratorError("REVISION_CONFLICT", { details: { collection, key, expected, actual } });
  }
  if (write.kind === "delete") kept.delete(key);
  else kept.set(key, Object.freeze({ key, revision: actual + 1, value: own(write.value) }));
  return write.kind === "delete" ? 0 : actual + 1;
}

function append(
  logs: Map<string, Log>,
  schema: StorageSchema,
  write: Extract<Write, { kind: "append" }>,
): number {
  const log = logIn(logs, schema, write.log);
  const { at } = write;
  const sequence = log.head.sequence + 1;
  const value = own(write.value);
  const hash = log.head.hash === null ? null : hashOf(log.head.hash, { sequence, at, value });
  log.entries.push(Object.freeze({ sequence, at, value, hash }));
  logs.set(write.log, { ...log, head: { sequence, hash } });
  return sequence;
}

function hashOf(
  previous: string,
  entry: { sequence: number; at: number; value: Readonly<JsonObject> },
): string {
  try {
    return chainHash(previous, entry);
  } catch (cause) {
    throw new OrchestratorError("VALIDATION_FAILED", { cause });
  }
}

function logIn(logs: ReadonlyMap<string, Log>, schema: StorageSchema, name: string): Log {
  if (!Object.hasOwn(schema.logs, name)) throw invalid(`There is no log "${name}".`);
  const start: LogPlace = { sequence: 0, hash: schema.logs[name]?.chained === true ? zeroHash : null };
  return logs.get(name) ?? { entries: [], head: start, base: start };
}

/** A copy that nobody can change. */
function own(value: JsonObject): Readonly<JsonObject> {
  let copy: unknown;
  try {
    copy = JSON.parse(JSON.stringify(value), (_name, part: unknown) => Object.freeze(part));
  } catch (cause) {
    throw new OrchestratorError("VALIDATION_FAILED", { cause });
  }
  if (typeof copy !== "object" || copy === null || Array.isArray(copy))
    throw invalid("It is no JSON object.");
  return copy as Readonly<JsonObject>;
}

function fieldAt(value: Readonly<JsonObject>, path: string): Json | undefined {
  let field: Json | undefined = value as JsonObject;
  for (const name of path.split(".")) {
    if (typeof field !== "object" || field === null || Array.isArray(field)) return undefined;
    if (!Object.hasOwn(field, name)) return undefined;
    field = field[name];
  }
  return field;
}

function limitOf(limit = 50): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw invalid("A limit is 1 to 1000.");
  return limit;
}

function invalid(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
