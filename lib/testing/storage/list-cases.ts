import assert from "node:assert/strict";
import type { Json, JsonObject } from "../../json.ts";
import type { ListQuery, Storage } from "../../storage/storage.ts";
import { assertRefused, beforeAndAfterRestart, putAgent, reopen, type StorageCase } from "./subject.ts";

async function keysOf(storage: Storage, query: ListQuery): Promise<string[]> {
  return (await storage.list("agents", query)).items.map((item) => item.key);
}

async function allKeys(storage: Storage, query: ListQuery): Promise<string[]> {
  const keys: string[] = [];
  for (let after: string | null | undefined; after !== null;) {
    // A storage that never comes to an end would hold the thread, and its test runner's time limit with it.
    assert.ok(keys.length <= 10_000, "The pages have no end.");
    const page = await storage.list("agents", after === undefined ? query : { ...query, after });
    keys.push(...page.items.map((item) => item.key));
    after = page.next;
  }
  return keys;
}

const mixedRanks: [key: string, value: JsonObject][] = [
  ["missing-2", {}],
  ["missing-1", { other: 1 }],
  ["null", { rank: null }],
  ["false", { rank: false }],
  ["true", { rank: true }],
  ["minus", { rank: -3 }],
  ["ten", { rank: 10 }],
  ["nine", { rank: 9.5 }],
  ["text-b", { rank: "b" }],
  ["text-B", { rank: "B" }],
  ["text-end", { rank: "\uffee" }],
  ["text-astral", { rank: "😀" }],
  ["list", { rank: [1] }],
  ["object", { rank: { a: 1 } }],
];
const inOrder =
  "missing-1 missing-2 null false true minus nine ten text-B text-b text-end text-astral list object".split(
    " ",
  );

/** Promise 5: how a collection is listed. */
export const listCases: StorageCase[] = [
  {
    name: "values of all types have one order, either way round, and after a restart",
    promise: 5,
    async run(subject) {
      const { storage } = subject;
      await storage.commit(mixedRanks.map(([key, value]) => putAgent(key, value)));
      assert.deepEqual(await keysOf(storage, { index: "by_rank" }), inOrder);
      assert.deepEqual(await keysOf(storage, { index: "by_rank", order: "desc" }), inOrder.toReversed());
      assert.deepEqual(await allKeys(storage, { index: "by_rank", limit: 1 }), inOrder);
      const next = await reopen(subject);
      assert.deepEqual(
        await allKeys(next, { index: "by_rank", limit: 3, order: "desc" }),
        inOrder.toReversed(),
      );
    },
  },
  {
    name: "a range takes values from its start to before its end, of its type only",
    promise: 5,
    async run({ storage }) {
      await storage.commit(mixedRanks.map(([key, value]) => putAgent(key, value)));
      const index = "by_rank";
      assert.deepEqual(await keysOf(storage, { index, from: -3, to: 10 }), ["minus", "nine"]);
      assert.deepEqual(await keysOf(storage, { index, to: 10 }), ["minus", "nine"]);
      assert.deepEqual(await keysOf(storage, { index, from: 9.5 }), ["nine", "ten"]);
      assert.deepEqual(await keysOf(storage, { index, from: 9.5, order: "desc" }), ["ten", "nine"]);
      assert.deepEqual(await keysOf(storage, { index, to: 10, order: "desc", limit: 1 }), ["nine"]);
      const equal = [null, false, 9.5, "B", [1], { a: 1 }];
      for (const [at, key] of ["null", "false", "nine", "text-B", "list", "object"].entries())
        assert.deepEqual(await keysOf(storage, { index, equals: [equal[at] as Json] }), [key]);
      assert.deepEqual(await keysOf(storage, { index, from: "b", to: "c" }), ["text-b"]);
    },
  },
  {
    name: "a list of several fields orders by each, then by key",
    promise: 5,
    async run({ storage }) {
      const rows = [
        ["3", "up", "a"],
        ["1", "up", "b"],
        ["2", "up", "a"],
        ["0", "down", "z"],
      ] as const;
      await storage.commit(rows.map(([key, status, name]) => putAgent(key, { status, name })));
      const index = "by_status";
      assert.deepEqual(await keysOf(storage, { index }), ["0", "2", "3", "1"]);
      assert.deepEqual(await keysOf(storage, { index, equals: ["up"] }), ["2", "3", "1"]);
      assert.deepEqual(await keysOf(storage, { index, equals: ["up", "a"], order: "desc" }), ["3", "2"]);
      assert.deepEqual(await keysOf(storage, { index, equals: ["up"], from: "b" }), ["1"]);
      assert.deepEqual(await keysOf(storage, { from: "1", to: "3" }), ["1", "2"]);
    },
  },
  {
    name: "a document moves in an index when its field changes, and leaves it when it is deleted",
    promise: 5,
    async run({ storage }) {
      await storage.commit([
        putAgent("a", { site: { city: "Bern" } }),
        putAgent("b", { site: { city: "Kyiv" } }),
      ]);
      await storage.commit([putAgent("a", { site: { city: "Oslo" } })]);
      assert.deepEqual(await keysOf(storage, { index: "by_city" }), ["b", "a"]);
      assert.deepEqual(await keysOf(storage, { index: "by_city", equals: ["Bern"] }), []);
      await storage.commit([{ kind: "delete", collection: "agents", key: "b" }]);
      assert.deepEqual(await keysOf(storage, { index: "by_city" }), ["a"]);
    },
  },
  {
    name: "pages under writes neither skip nor repeat what is not changed",
    promise: 5,
    async run({ storage }) {
      const key = (n: number): string => `k${String(n).padStart(5, "0")}`;
      for (let n = 0; n < 1_200; n += 2) await storage.commit([putAgent(key(n), { rank: n, even: true })]);
      for (const order of ["asc", "desc"] as const) {
        const seen: string[] = [];
        for (let after: string | null | undefined; after !== null;) {
          assert.ok(seen.length <= 600, "A document came twice.");
          const page = await storage.list("agents", {
            index: "by_rank",
            order,
            limit: 70,
            ...(after === undefined ? {} : { after }),
          });
          seen.push(...page.items.filter((item) => item.value["even"]).map((item) => item.key));
          after = page.next;
          const odd = (seen.length * 2 + 1) % 1_200;
          await storage.commit([
            putAgent(key(odd), { rank: odd }),
            { kind: "delete", collection: "agents", key: key((odd * 7) | 1) },
          ]);
        }
        const even = Array.from({ length: 600 }, (_, n) => key(n * 2));
        assert.deepEqual(seen, order === "asc" ? even : even.toReversed());
      }
    },
  },
  {
    name: "the pages of a stretch stay in it, either way round",
    promise: 5,
    async run({ storage }) {
      const key = (n: number): string => `k${String(n).padStart(2, "0")}`;
      const numbers = Array.from({ length: 30 }, (_, n) => n);
      await storage.commit(
        numbers.map((n) => putAgent(key(n), { rank: n, status: n % 3 === 0 ? "up" : "down", name: key(n) })),
      );
      const within = numbers.slice(5, 25).map(key);
      const up = numbers.filter((n) => n % 3 === 0).map(key);
      const stretches: [query: ListQuery, keys: string[]][] = [
        [{ index: "by_rank", from: 5, to: 25 }, within],
        [{ from: key(5), to: key(25) }, within],
        [{ index: "by_status", equals: ["up"] }, up],
        [{ index: "by_status", equals: ["up"], from: key(6), to: key(27) }, up.slice(2, 9)],
      ];
      for (const [query, keys] of stretches) {
        assert.deepEqual(await allKeys(storage, { ...query, limit: 3 }), keys);
        assert.deepEqual(await allKeys(storage, { ...query, limit: 3, order: "desc" }), keys.toReversed());
      }
    },
  },
  {
    name: "a page goes on where the document that it ended with was deleted",
    promise: 5,
    async run({ storage }) {
      await storage.commit(["a", "b", "c"].map((key) => putAgent(key, {})));
      const { next } = await storage.list("agents", { limit: 2 });
      assert.ok(next !== null);
      await storage.commit([{ kind: "delete", collection: "agents", key: "b" }]);
      assert.deepEqual(await keysOf(storage, { after: next }), ["c"]);
    },
  },
  {
    name: "a list has the documents as they were put last, also after a restart",
    promise: 5,
    async run(subject) {
      const { storage } = subject;
      await storage.commit([putAgent("a", { rank: 1, n: 1 }), putAgent("b", { rank: 2 })]);
      assert.equal((await storage.list("agents", { index: "by_rank" })).items.length, 2);
      await storage.commit([putAgent("a", { rank: 1, n: 2 })]);
      const items = [
        { key: "a", revision: 2, value: { rank: 1, n: 2 } },
        { key: "b", revision: 1, value: { rank: 2 } },
      ];
      for await (const reader of beforeAndAfterRestart(subject)) {
        assert.deepEqual(await reader.list("agents"), { items, next: null });
        assert.deepEqual(await reader.list("agents", { index: "by_rank" }), { items, next: null });
        assert.deepEqual(await reader.list("modules"), { items: [], next: null });
      }
    },
  },
  {
    name: "a page has 50 documents, or as many as are asked for, up to 1,000",
    promise: 5,
    async run({ storage }) {
      await storage.commit(Array.from({ length: 1_001 }, (_, n) => putAgent(String(n), {})));
      assert.equal((await keysOf(storage, {})).length, 50);
      assert.equal((await keysOf(storage, { limit: 1_000 })).length, 1_000);
    },
  },
  {
    name: "keys are ordered by code point, alone and behind equal values",
    promise: 5,
    async run({ storage }) {
      const keys = ["B", "a", "b", "ü", "\uffee", "😀"];
      await storage.commit(keys.toReversed().map((key) => putAgent(key, { rank: 1 })));
      for (const query of [{}, { index: "by_rank" }] as const) {
        assert.deepEqual(await keysOf(storage, query), keys);
        assert.deepEqual(await keysOf(storage, { ...query, order: "desc" }), keys.toReversed());
      }
    },
  },
  {
    name: "the last page has no next, also when it is full",
    promise: 5,
    async run({ storage }) {
      assert.deepEqual(await storage.list("agents"), { items: [], next: null });
      await storage.commit([putAgent("a", {}), putAgent("b", {})]);
      assert.equal((await storage.list("agents", { limit: 2 })).next, null);
      assert.notEqual((await storage.list("agents", { limit: 1 })).next, null);
    },
  },
  {
    name: "a cursor of another order, or none at all, is refused",
    promise: 5,
    async run({ storage }) {
      await storage.commit([putAgent("a", {}), putAgent("b", {})]);
      const { next } = await storage.list("agents", { limit: 1 });
      assert.ok(next !== null);
      await assertRefused(storage.list("agents", { after: next, index: "by_rank" }), "CURSOR_INVALID");
      await assertRefused(storage.list("agents", { after: next, order: "desc" }), "CURSOR_INVALID");
      for (const after of ["", "x", "bnVsbA"]) {
        await assertRefused(storage.list("agents", { after }), "CURSOR_INVALID");
      }
    },
  },
  {
    name: "a query that the collection can't answer is refused",
    promise: 5,
    async run({ storage }) {
      await assertRefused(storage.list("agents", { index: "by_moon" }), "VALIDATION_FAILED");
      await assertRefused(storage.list("agents", { limit: 0 }), "VALIDATION_FAILED");
      await assertRefused(storage.list("agents", { limit: 1_001 }), "VALIDATION_FAILED");
      await assertRefused(storage.list("agents", { equals: ["a"], from: "b" }), "VALIDATION_FAILED");
      await assertRefused(storage.list("nowhere"), "VALIDATION_FAILED");
      await assertRefused(storage.get("nowhere", "a"), "VALIDATION_FAILED");
    },
  },
];
