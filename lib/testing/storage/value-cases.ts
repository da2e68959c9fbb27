import assert from "node:assert/strict";
import type { JsonObject } from "../../json.ts";
import type { Write } from "../../storage/storage.ts";
import { beforeAndAfterRestart, assertRefused, putAgent, type StorageCase } from "./subject.ts";

const oddKeys = [
  "",
  " ",
  "a/b",
  "../x",
  "\u0000",
  "\n",
  "__proto__",
  "constructor",
  "ü",
  "u\u0308",
  "😀",
  "\ud800",
  '"',
  "x".repeat(10_000),
];

/** Promises 12 and 13: keys and values. */
export const valueCases: StorageCase[] = [
  {
    name: "a caller that changes its object afterwards changes nothing",
    promise: 12,
    async run({ storage }) {
      const value: JsonObject = { list: [1, 2], inner: { a: 1 } };
      const event: JsonObject = { n: 1 };
      const commit = storage.commit([
        putAgent("a", value),
        { kind: "append", log: "events", at: 1, value: event },
      ]);
      (value["list"] as number[]).push(3);
      event["n"] = 2;
      await commit;
      value["inner"] = null;
      assert.deepEqual((await storage.get("agents", "a"))?.value, { list: [1, 2], inner: { a: 1 } });
      assert.deepEqual((await storage.readLog("events")).entries[0]?.value, { n: 1 });
    },
  },
  {
    name: "several documents are read in the order of their keys, with null where there is none",
    promise: 12,
    async run(subject) {
      await subject.storage.commit([putAgent("a", { n: 1 }), putAgent("b", { n: 2 })]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        const found = await storage.getMany("agents", ["b", "gone", "a", "b"]);
        assert.deepEqual(
          found.map((document) => document && [document.key, document.revision, document.value]),
          [["b", 1, { n: 2 }], null, ["a", 1, { n: 1 }], ["b", 1, { n: 2 }]],
        );
        assert.deepEqual(await storage.getMany("agents", []), []);
      }
    },
  },
  {
    name: "documents are counted as they come and go",
    promise: 12,
    async run(subject) {
      const { storage: first } = subject;
      assert.equal(await first.count("agents"), 0);
      await first.commit([putAgent("a", { n: 1 }), putAgent("b", { n: 2 }), putAgent("c", { n: 3 })]);
      assert.equal(await first.count("agents"), 3);
      await first.commit([putAgent("a", { n: 4 }), { kind: "delete", collection: "agents", key: "b" }]);
      await first.commit([{ kind: "delete", collection: "agents", key: "gone" }]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        assert.equal(await storage.count("agents"), 2);
        await assert.rejects(storage.count("nothing"), { code: "VALIDATION_FAILED" });
      }
    },
  },
  {
    name: "a commit of very many documents is made, counted and told whole, or not at all",
    promise: 2,
    async run({ storage }) {
      const told: string[] = [];
      storage.follow((changes) => void told.push(...changes.map(({ kind }) => kind)));
      const puts = Array.from({ length: 1_234 }, (_, n) => putAgent(String(n), {}));
      const last: Write = { kind: "put", collection: "modules", key: "last", value: {}, expected: 1 };
      await assertRefused(storage.commit([...puts, last]), "REVISION_CONFLICT");
      assert.deepEqual([await storage.count("agents"), told.length], [0, 0]);
      const { revisions } = await storage.commit(puts);
      assert.deepEqual([await storage.count("agents"), revisions.length, told.length], [1_234, 1_234, 1_234]);
    },
  },
  {
    name: "a key of one collection is not that of another",
    promise: 13,
    async run(subject) {
      const { storage: first } = subject;
      const module: Write = { kind: "put", collection: "modules", key: "a", value: { module: true } };
      await first.commit([module, putAgent("a", { n: 1 })]);
      await first.commit([{ kind: "delete", collection: "agents", key: "a" }]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        assert.equal(await storage.get("agents", "a"), null);
        assert.deepEqual(await storage.get("modules", "a"), { key: "a", revision: 1, value: module.value });
        assert.deepEqual([await storage.count("agents"), await storage.count("modules")], [0, 1]);
      }
    },
  },
  {
    name: "what was read can't be changed",
    promise: 12,
    async run(subject) {
      const value = { list: [1], inner: { a: 1 } };
      await subject.storage.commit([putAgent("a", value), { kind: "append", log: "events", at: 1, value }]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        const document = await storage.get<typeof value>("agents", "a");
        const entry = (await storage.readLog<typeof value>("events")).entries[0];
        assert.ok(document && entry);
        for (const read of [document, entry]) {
          assert.throws(() => (read.value.list[0] = 2), TypeError);
          assert.throws(() => (read.value.inner.a = 2), TypeError);
          assert.throws(() => Object.assign(read, { value: {} }), TypeError);
        }
        assert.deepEqual((await storage.get("agents", "a"))?.value, value);
      }
    },
  },
  {
    name: "every kind of JSON value comes back as it was",
    promise: 12,
    async run(subject) {
      const value: JsonObject = {
        numbers: [0, -1, 1.5, 1e300, 5e-324, Number.MAX_SAFE_INTEGER],
        texts: ["", "\u0000", "\u2028", "\ud800", "😀", "\ufeff"],
        nested: [[[{}]], { a: { b: { c: [null, true, false] } } }],
        "": "empty name",
      };
      Object.defineProperty(value, "__proto__", { value: { own: 1 }, enumerable: true });
      await subject.storage.commit([putAgent("a", value)]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        assert.equal(JSON.stringify((await storage.get("agents", "a"))?.value), JSON.stringify(value));
      }
    },
  },
  {
    name: "a value that is not a JSON object is refused",
    promise: 12,
    async run({ storage }) {
      const circular: JsonObject = {};
      circular["self"] = circular;
      for (const value of [circular, { n: 1n }, [], null, "text", undefined]) {
        await assertRefused(
          storage.commit([putAgent("a", value as unknown as JsonObject)]),
          "VALIDATION_FAILED",
        );
      }
      assert.equal(await storage.get("agents", "a"), null);
    },
  },
  {
    name: "keys may hold any character",
    promise: 13,
    async run(subject) {
      await subject.storage.commit(oddKeys.map((key, index) => putAgent(key, { index, key })));
      for await (const storage of beforeAndAfterRestart(subject)) {
        for (const [index, key] of oddKeys.entries()) {
          assert.deepEqual(await storage.get("agents", key), { key, revision: 1, value: { index, key } });
        }
        const { items } = await storage.list("agents", { limit: 1_000 });
        assert.deepEqual(new Set(items.map((item) => item.key)), new Set(oddKeys));
      }
    },
  },
  {
    name: "a value of 1 MiB is kept whole",
    promise: 13,
    async run(subject) {
      const text = "aé😀\n".repeat(100_000);
      const value = { text, rest: "x".repeat(1_024 * 1_024 - text.length) };
      await subject.storage.commit([putAgent("big", value), { kind: "append", log: "audit", at: 1, value }]);
      await subject.storage.commit([putAgent("small", {})]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        assert.deepEqual((await storage.get("agents", "big"))?.value, value);
        assert.deepEqual((await storage.readLog("audit")).entries[0]?.value, value);
        assert.ok(await storage.get("agents", "small"));
      }
    },
  },
];
