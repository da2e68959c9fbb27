/** The conformance suite finds a storage that breaks a promise: each fault here is one that an author may make without noticing. */
import { expect, test } from "vitest";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type {
  CommittedChange,
  DocumentPage,
  ListQuery,
  LogQuery,
  Storage,
} from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { storageConformance } from "../../lib/testing/storage-conformance.ts";

/** What a storage does wrong; `kept` is its own to remember something in. */
type Fault = (real: MemoryStorage, kept: Map<string, unknown>) => Partial<Storage>;

/** Answers a page that is not the first for another query than was asked. */
const onLaterPages =
  (change: (query: ListQuery) => ListQuery): Fault =>
  (real) => ({
    list: (name, query = {}) => real.list(name, query.after === undefined ? query : change(query)),
  });

const onLogs =
  (change: (query: LogQuery) => LogQuery): Fault =>
  (real) => ({ readLog: (name, query = {}) => real.readLog(name, change(query)) });

const onTold =
  (change: (changes: readonly CommittedChange[], kept: Map<string, unknown>) => CommittedChange[]): Fault =>
  (real, kept) => ({ follow: (listener) => real.follow((changes) => listener(change(changes, kept))) });

const onItems =
  (
    change: (
      page: DocumentPage["items"][number],
      kept: Map<string, unknown>,
    ) => DocumentPage["items"][number],
  ): Fault =>
  (real, kept) => ({
    async list<T>(name: string, query?: ListQuery) {
      const page = await real.list(name, query);
      return { ...page, items: page.items.map((item) => change(item, kept)) } as DocumentPage<T>;
    },
  });

/** Which deletes lose what they expect: those of a document whose revision `isLost`. */
const onDeletes =
  (isLost: (revision: number, expected: number) => boolean): Fault =>
  (real) => ({
    async commit(writes, options) {
      const changed = await Promise.all(
        writes.map(async (write) => {
          if (write.kind !== "delete" || write.expected === undefined) return write;
          const revision = (await real.get(write.collection, write.key))?.revision ?? 0;
          const { expected, ...rest } = write;
          return isLost(revision, expected) ? rest : write;
        }),
      );
      return real.commit(changed, options);
    },
  });

const without = <T extends object>(query: T, field: keyof T): T =>
  Object.fromEntries(Object.entries(query).filter(([name]) => name !== field)) as T;

const stretches = "the pages of a stretch stay in it, either way round";
const lasting = "a list has the documents as they were put last, also after a restart";
const many = "a commit of very many documents is made, counted and told whole, or not at all";
const deletes = "a delete that expects another revision is refused";
const told =
  "each put of a commit is told as it was, also where it is read later, and each entry as it is in the log";
const logPages = "a page has 50 entries, or as many as are asked for, and the head of the whole log";
const within = "a filter finds entries within a stretch, either way round";
const trimmed = "a log that was trimmed whole goes on from its head, and no other log is trimmed";
const pages = "a page has 50 documents, or as many as are asked for, up to 1,000";
const closed = "after close every call is refused, and close may be called again";
const full = "out of space refuses writes, leaves reads, and heals";

const faults: [fault: string, finder: string, plant: Fault][] = [
  ["a later page forgets the end of its range", stretches, onLaterPages((query) => without(query, "to"))],
  ["a later page forgets the start of its range", stretches, onLaterPages((query) => without(query, "from"))],
  ["a later page forgets its equals", stretches, onLaterPages((query) => without(query, "equals"))],
  ["every page is the first", stretches, onLaterPages((query) => without(query, "after"))],
  [
    "no page follows where the last document was deleted",
    "a page goes on where the document that it ended with was deleted",
    (real, kept) => ({
      async list<T>(name: string, query: ListQuery = {}) {
        const last = kept.get(query.after ?? "");
        if (typeof last === "string" && (await real.get(name, last)) === null)
          return { items: [], next: null };
        const page = await real.list<T>(name, query);
        if (page.next !== null) kept.set(page.next, page.items.at(-1)?.key);
        return page;
      },
    }),
  ],
  [
    "a list has what was put first",
    lasting,
    onItems((item, kept) => {
      if (!kept.has(item.key)) kept.set(item.key, item);
      return kept.get(item.key) as typeof item;
    }),
  ],
  ["a list has no revisions", lasting, onItems((item) => ({ ...item, revision: 1 }))],
  [
    "a list has all by default",
    pages,
    (real) => ({ list: (name, query) => real.list(name, { limit: 1_000, ...query }) }),
  ],
  [
    "a page has 100 documents at most",
    pages,
    (real) => ({
      list: (name, query = {}) => real.list(name, { ...query, limit: Math.min(query.limit ?? 50, 100) }),
    }),
  ],
  [
    "keys are ordered by code unit",
    "keys are ordered by code point, alone and behind equal values",
    (real) => ({
      async list<T>(name: string, query?: ListQuery) {
        const page = await real.list<T>(name, query);
        return { ...page, items: page.items.toSorted((a, b) => (a.key < b.key ? -1 : 1)) };
      },
    }),
  ],
  [
    "numbers are compared as texts",
    "a range takes values from its start to before its end, of its type only",
    (real) => ({
      list: (name, query = {}) =>
        real.list(name, {
          ...query,
          ...(query.equals && {
            equals: query.equals.map((value) => (typeof value === "number" ? `${value}` : value)),
          }),
        }),
    }),
  ],
  [
    "several documents are read one after the other",
    "a read that begins after a commit resolved sees it, and none sees a part of one",
    (real) => ({
      async getMany<T>(name: string, keys: readonly string[]) {
        const found = [];
        for (const key of keys) found.push(await real.get<T>(name, key));
        return found;
      },
    }),
  ],
  ["a delete expects nothing", deletes, onDeletes((revision) => revision > 0)],
  ["a delete of nothing expects nothing", deletes, onDeletes((revision) => revision === 0)],
  ["a delete that expects none is made", deletes, onDeletes((_, expected) => expected === 0)],
  [
    "a large commit is made in parts",
    many,
    (real) => ({
      async commit(writes, options) {
        const first = await real.commit(writes.slice(0, 100), options);
        if (writes.length <= 100) return first;
        const rest = await real.commit(writes.slice(100), options);
        return {
          revisions: [...first.revisions, ...rest.revisions],
          sequences: [...first.sequences, ...rest.sequences],
        };
      },
    }),
  ],
  [
    "only a page is counted",
    many,
    (real) => ({ count: async (name) => (await real.list(name, { limit: 1_000 })).items.length }),
  ],
  ["the end of a large commit is not told", many, onTold((changes) => changes.slice(0, 1_000))],
  [
    "a count never falls",
    "documents are counted as they come and go",
    (real, kept) => ({
      async count(name) {
        kept.set(name, Math.max((kept.get(name) as number | undefined) ?? 0, await real.count(name)));
        return kept.get(name) as number;
      },
    }),
  ],
  [
    "a delete reaches other collections",
    "a key of one collection is not that of another",
    (real) => ({
      async commit(writes, options) {
        const result = await real.commit(writes, options);
        for (const write of writes)
          if (write.kind === "delete") await real.commit([{ ...write, collection: "modules" }]);
        return result;
      },
    }),
  ],
  [
    "a filter forgets where to end",
    within,
    onLogs((query) => (query.where && !query.reverse ? without(query, "to") : query)),
  ],
  [
    "a filter forgets where to begin",
    within,
    onLogs((query) => (query.where ? without(query, "from") : query)),
  ],
  ["a log is read whole by default", logPages, onLogs((query) => ({ limit: 1_000, ...query }))],
  [
    "any limit of a log is taken",
    logPages,
    onLogs((query) => ({ ...query, limit: Math.min(1_000, Math.max(1, query.limit ?? 50)) })),
  ],
  [
    "the head is that of the page",
    logPages,
    (real) => ({
      async readLog<T>(name: string, query: LogQuery = {}) {
        const page = await real.readLog<T>(name, query);
        const last = page.entries.at(query.reverse ? 0 : -1);
        return last ? { ...page, head: { sequence: last.sequence, hash: last.hash } } : page;
      },
    }),
  ],
  [
    "a log that was trimmed whole has no base",
    trimmed,
    (real) => ({
      async readLog<T>(name: string, query?: LogQuery) {
        const page = await real.readLog<T>(name, query);
        return page.entries.length > 0 ? page : { ...page, base: { sequence: 0, hash: "0".repeat(64) } };
      },
    }),
  ],
  [
    "a trim reaches every log",
    trimmed,
    (real) => ({
      async trimLog(name, before) {
        await real.trimLog(name === "audit" ? "events" : "audit", before);
        return real.trimLog(name, before);
      },
    }),
  ],
  [
    "an append of nothing does nothing",
    "an append of nothing makes an empty blob",
    (real) => ({
      appendBlob: async (id, bytes, size) => (bytes.length === 0 ? 0 : real.appendBlob(id, bytes, size)),
    }),
  ],
  [
    "a put is told as its commit left the document",
    told,
    onTold((changes) => {
      const last = new Map(changes.map((change) => ["key" in change ? change.key : "", change]));
      return changes.map((change) => (change.kind === "put" ? (last.get(change.key) ?? change) : change));
    }),
  ],
  [
    "a put is told as the document is when it is read",
    told,
    onTold((changes, kept) =>
      changes.map((change) => {
        if (change.kind !== "put") return change;
        kept.set(change.key, change.document);
        const { kind, collection, key } = change;
        return {
          kind,
          collection,
          key,
          get document() {
            return kept.get(key) as typeof change.document;
          },
        };
      }),
    ),
  ],
  [
    "an entry is told without its hash",
    told,
    onTold((changes) =>
      changes.map((change) =>
        change.kind === "append" ? { ...change, entry: { ...change.entry, hash: null } } : change,
      ),
    ),
  ],
  [
    "one listener that ends ends all",
    "a listener that ended hears nothing more",
    (real, kept) => ({
      follow(listener) {
        kept.set(`${kept.size}`, real.follow(listener));
        return () => {
          for (const end of kept.values()) (end as () => void)();
        };
      },
    }),
  ],
  [
    "a lease that was released can be renewed",
    "one of many takers gets a lease, and release gives it to the next",
    (real) => ({
      async lease(name, ttlMs) {
        const lease = await real.lease(name, ttlMs);
        return lease && { renew: async () => (await lease.renew()) || true, release: () => lease.release() };
      },
    }),
  ],
  ["a closed storage counts", closed, (real) => ({ count: (name) => real.count(name).catch(() => 0) })],
  [
    "a closed storage reads several",
    closed,
    (real) => ({ getMany: (name, keys) => real.getMany<never>(name, keys).catch(() => []) }),
  ],
  ["space never runs out", full, (real) => ({ commit: (writes) => real.commit(writes, { reserve: true }) })],
];

test.each(faults)("%s: found by the case '%s'", { timeout: 120_000 }, async (_fault, finder, plant) => {
  const cases = storageConformance(async () => {
    const [clock, data, kept] = [new FakeClock(), new MemoryData(), new Map<string, unknown>()];
    data.reserveBytes = Infinity;
    const setFull = (isFull: boolean): void => void (data.freeBytes = isFull ? 0 : Infinity);
    const again = (): Storage => faulty(new MemoryStorage({ clock, data }), (real) => plant(real, kept));
    return { storage: again(), clock, again, setFull, dispose: async () => {} };
  });
  const found = cases.find(({ name }) => name === finder);
  await expect(found?.run()).rejects.toMatchObject({ code: "ERR_ASSERTION" });
});

function faulty(real: MemoryStorage, plant: (real: MemoryStorage) => Partial<Storage>): Storage {
  const planted = plant(real);
  return new Proxy<Storage>(real, {
    get(_, name: keyof Storage) {
      const value: unknown = planted[name] ?? real[name as keyof MemoryStorage];
      return typeof value === "function" ? value.bind(real) : value;
    },
  });
}
