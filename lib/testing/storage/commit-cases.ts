import assert from "node:assert/strict";
import { isOrchestratorError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import { assertRefused, putAgent, reopen, testSchema, type StorageCase } from "./subject.ts";

const auditEntry: Write = { kind: "append", log: "audit", at: 1_000, value: { event: "agent.approved" } };

/** Promises 1 to 4 and 14: what a commit is. */
export const commitCases: StorageCase[] = [
  {
    name: "documents and log entries of a commit are there after a restart",
    promise: 1,
    async run(subject) {
      const { storage } = subject;
      const result = await storage.commit([
        putAgent("a", { name: "one" }),
        auditEntry,
        putAgent("b", { name: "two" }),
      ]);
      assert.deepEqual(result, { revisions: [1, 0, 1], sequences: [0, 1, 0] });
      const next = await reopen(subject);
      assert.deepEqual(await next.get("agents", "a"), { key: "a", revision: 1, value: { name: "one" } });
      assert.deepEqual(await next.get("agents", "b"), { key: "b", revision: 1, value: { name: "two" } });
      const { entries } = await next.readLog("audit");
      assert.deepEqual(
        entries.map(({ sequence, at, value }) => ({ sequence, at, value })),
        [{ sequence: 1, at: 1_000, value: { event: "agent.approved" } }],
      );
    },
  },
  {
    name: "a crash between two writes leaves the first, and of the second all or nothing",
    promise: 1,
    needs: "crash",
    async run({ storage, crash }) {
      assert.ok(crash, "The subject has no crash.");
      for (let n = 1; n <= 5; n++) {
        await storage.commit([putAgent("first", { n }), auditEntry]);
        const second = storage.commit([putAgent("a", { n }), auditEntry, putAgent("b", { n }), auditEntry]);
        const left: Storage = await crash();
        await left.open(testSchema);
        assert.deepEqual((await left.get("agents", "first"))?.value, { n });
        const [a, b] = await Promise.all([left.get("agents", "a"), left.get("agents", "b")]);
        assert.deepEqual(a?.value, b?.value);
        assert.equal((await left.readLog("audit")).head.sequence, a?.value["n"] === n ? 3 * n : 3 * n - 2);
        await second;
      }
    },
  },
  {
    name: "replaced and deleted documents stay so after a restart",
    promise: 1,
    async run(subject) {
      const { storage } = subject;
      await storage.commit([putAgent("a", { n: 1 }), putAgent("b", { n: 1 })]);
      await storage.commit([putAgent("a", { n: 2 }), { kind: "delete", collection: "agents", key: "b" }]);
      const next = await reopen(subject);
      assert.deepEqual(await next.get("agents", "a"), { key: "a", revision: 2, value: { n: 2 } });
      assert.equal(await next.get("agents", "b"), null);
      assert.deepEqual((await next.commit([putAgent("b", {})])).revisions, [1]);
    },
  },
  {
    name: "a conflict in the last write undoes all writes before it",
    promise: 2,
    async run({ storage }) {
      await storage.commit([putAgent("a", { n: 1 })]);
      const error = await assertRefused(
        storage.commit([
          putAgent("a", { n: 2 }),
          putAgent("new", {}),
          { kind: "delete", collection: "agents", key: "a" },
          auditEntry,
          { kind: "put", collection: "agents", key: "new", value: {}, expected: 7 },
        ]),
        "REVISION_CONFLICT",
      );
      assert.deepEqual(error.details, { collection: "agents", key: "new", expected: 7, actual: 1 });
      assert.deepEqual(await storage.get("agents", "a"), { key: "a", revision: 1, value: { n: 1 } });
      assert.equal(await storage.get("agents", "new"), null);
      assert.equal((await storage.list("agents")).items.length, 1);
      assert.equal((await storage.readLog("audit")).head.sequence, 0);
      assert.deepEqual((await storage.commit([auditEntry])).sequences, [1]);
    },
  },
  {
    name: "a rejected commit is not there after a restart",
    promise: 2,
    async run(subject) {
      const { storage } = subject;
      const put = { kind: "put", collection: "agents", key: "a", value: {} } as const;
      const outcomes = await Promise.allSettled([
        storage.commit([{ ...put, expected: 5 }, auditEntry]),
        storage.commit([putAgent("b", {})]),
      ]);
      assert.deepEqual(
        outcomes.map((outcome) => outcome.status),
        ["rejected", "fulfilled"],
      );
      const next = await reopen(subject);
      assert.equal(await next.get("agents", "a"), null);
      assert.equal((await next.readLog("audit")).entries.length, 0);
    },
  },
  {
    name: "a commit to something that was not declared is refused whole",
    promise: 2,
    async run({ storage }) {
      const unknown = { kind: "put", collection: "nowhere", key: "a", value: {} } as const;
      await assertRefused(storage.commit([putAgent("a", {}), unknown]), "VALIDATION_FAILED");
      await assertRefused(
        storage.commit([{ ...auditEntry, log: "__proto__" } as Write]),
        "VALIDATION_FAILED",
      );
      assert.equal(await storage.get("agents", "a"), null);
    },
  },
  {
    name: "of twenty writers that expect the same revision exactly one wins",
    promise: 3,
    async run({ storage }) {
      await storage.commit([putAgent("a", { winner: -1 })]);
      const calls = Array.from({ length: 20 }, (_, winner) =>
        storage.commit([{ kind: "put", collection: "agents", key: "a", value: { winner }, expected: 1 }]),
      );
      const outcomes = await Promise.allSettled(calls);
      const winners = outcomes.flatMap((outcome, index) => (outcome.status === "fulfilled" ? [index] : []));
      assert.equal(winners.length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected")
          assert.ok(isOrchestratorError(outcome.reason, "REVISION_CONFLICT"));
      }
      assert.deepEqual(await storage.get("agents", "a"), {
        key: "a",
        revision: 2,
        value: { winner: winners[0] },
      });
    },
  },
  {
    name: "of twenty writers that consume one document exactly one wins",
    promise: 3,
    async run({ storage }) {
      await storage.commit([putAgent("token", {})]);
      const calls = Array.from({ length: 20 }, () =>
        storage.commit([{ kind: "delete", collection: "agents", key: "token", expected: 1 }, auditEntry]),
      );
      const outcomes = await Promise.allSettled(calls);
      assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
      assert.equal((await storage.readLog("audit")).head.sequence, 1);
    },
  },
  {
    name: "twenty writers that read, add one and try again until they win lose no addition",
    promise: 3,
    async run({ storage }) {
      await storage.commit([putAgent("a", { n: 0 })]);
      const addOne = async (): Promise<void> => {
        const read = await storage.get<{ n: number }>("agents", "a");
        assert.ok(read);
        const put: Write = {
          kind: "put",
          collection: "agents",
          key: "a",
          value: { n: read.value.n + 1 },
          expected: read.revision,
        };
        await storage.commit([put, auditEntry]).catch(async (error: unknown) => {
          if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
          await addOne();
        });
      };
      await Promise.all(Array.from({ length: 20 }, addOne));
      assert.deepEqual(await storage.get("agents", "a"), { key: "a", revision: 21, value: { n: 20 } });
      assert.equal((await storage.readLog("audit")).head.sequence, 20);
    },
  },
  {
    name: "expected 0 creates a document once",
    promise: 3,
    async run({ storage }) {
      const create = { kind: "put", collection: "agents", key: "a", value: {}, expected: 0 } as const;
      assert.deepEqual((await storage.commit([create])).revisions, [1]);
      const error = await assertRefused(storage.commit([create]), "REVISION_CONFLICT");
      assert.deepEqual(error.details, { collection: "agents", key: "a", expected: 0, actual: 1 });
    },
  },
  {
    name: "a delete that expects another revision is refused",
    promise: 3,
    async run({ storage }) {
      await storage.commit([putAgent("a", {})]);
      const remove = { kind: "delete", collection: "agents" } as const;
      for (const [key, expected, actual] of [
        ["a", 2, 1],
        ["a", 0, 1],
        ["gone", 1, 0],
      ] as const) {
        const error = await assertRefused(
          storage.commit([{ ...remove, key, expected }]),
          "REVISION_CONFLICT",
        );
        assert.deepEqual(error.details, { collection: "agents", key, expected, actual });
      }
      await storage.commit([{ ...remove, key: "gone", expected: 0 }]);
      assert.deepEqual((await storage.commit([putAgent("a", {})])).revisions, [2]);
    },
  },
  {
    name: "writes of one commit see those before them",
    promise: 3,
    async run({ storage }) {
      const put = { kind: "put", collection: "agents", key: "a", value: {} } as const;
      const result = await storage.commit([
        { ...put, expected: 0 },
        { ...put, expected: 1 },
        { kind: "delete", collection: "agents", key: "a", expected: 2 },
        { ...put, expected: 0 },
      ]);
      assert.deepEqual(result.revisions, [1, 2, 0, 1]);
    },
  },
  {
    name: "a read that begins after a commit resolved sees it, and none sees a part of one",
    promise: 4,
    async run({ storage }) {
      const seen = new Set<string>();
      for (let n = 1; n <= 20; n++) {
        const readBoth = () => storage.getMany("agents", ["a", "b"]);
        const before = readBoth();
        const commit = storage.commit([putAgent("a", { n }), putAgent("b", { n }), auditEntry]);
        const [{ items }, ...reads] = await Promise.all([storage.list("agents"), readBoth(), before]);
        seen.add(
          new Set(items.map((item) => item.value["n"])).size <= 1 && items.length !== 1 ? "whole" : "part",
        );
        for (const [a, b] of reads) seen.add(a?.value["n"] === b?.value["n"] ? "whole" : "part");
        await commit;
        assert.equal((await storage.get("agents", "b"))?.value["n"], n);
        assert.equal((await storage.readLog("audit")).head.sequence, n);
      }
      assert.deepEqual([...seen], ["whole"]);
    },
  },
  {
    name: "out of space refuses writes, leaves reads, and heals",
    promise: 14,
    needs: "fill",
    async run(subject) {
      const { storage, setFull } = subject;
      assert.ok(setFull, "The subject has no setFull.");
      await storage.commit([putAgent("a", { n: 1 })]);
      await storage.appendBlob("blob", Buffer.from("abc"));
      setFull(true);
      const text = "x".repeat(1_000);
      await assertRefused(commitUntilRefused(storage, { text }), "STORAGE_FULL");
      await assertRefused(storage.commit([putAgent("a", { text }), auditEntry]), "STORAGE_FULL");
      await assertRefused(storage.appendBlob("blob", Buffer.from("def")), "STORAGE_FULL");
      assert.deepEqual(await storage.get("agents", "a"), { key: "a", revision: 1, value: { n: 1 } });
      assert.deepEqual(await storage.readBlob("blob"), new Uint8Array(Buffer.from("abc")));
      setFull(false);
      assert.deepEqual((await storage.commit([putAgent("a", { n: 2 }), auditEntry])).revisions, [2, 0]);
      assert.equal(await storage.appendBlob("blob", Buffer.from("def"), 3), 6);
      const next = await reopen(subject);
      assert.deepEqual(await next.get("agents", "a"), { key: "a", revision: 2, value: { n: 2 } });
      assert.equal((await next.readLog("audit")).head.sequence, 1);
    },
  },
  {
    name: "out of space, commits with reserve go on, and the check tells of it",
    promise: 14,
    needs: "fill",
    async run(subject) {
      const { storage, setFull } = subject;
      assert.ok(setFull, "The subject has no setFull.");
      await storage.check();
      setFull(true);
      const text = "x".repeat(1_000);
      await assertRefused(commitUntilRefused(storage, { text }), "STORAGE_FULL");
      await assertRefused(storage.check(), "STORAGE_FULL");
      assert.deepEqual((await storage.commit([putAgent("b", {})], { reserve: true })).revisions, [1]);
      await assertRefused(storage.commit([putAgent("c", { text })]), "STORAGE_FULL");
      setFull(false);
      assert.deepEqual((await storage.commit([putAgent("c", {})])).revisions, [1]);
      await storage.check();
      assert.notEqual(await (await reopen(subject)).get("agents", "b"), null);
    },
  },
];

/** A storage may have allocated space ahead: full means that a commit is refused sooner or later. */
async function commitUntilRefused(storage: Storage, value: JsonObject): Promise<void> {
  for (let n = 0; n < 200_000; n++) await storage.commit([putAgent("filler", value)]);
}
