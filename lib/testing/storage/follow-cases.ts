import assert from "node:assert/strict";
import type { JsonObject } from "../../json.ts";
import type { CommittedChange, Storage, Write } from "../../storage/storage.ts";
import { assertRefused, putAgent, type StorageCase } from "./subject.ts";

/** What a change says, for comparing. */
type Told =
  | [kind: "put", key: string, revision: number, value: JsonObject]
  | [kind: "delete", key: string]
  | [kind: "append", log: string, sequence: number, value: JsonObject];

/** Promise 15: those who follow what is committed. */
export const followCases: StorageCase[] = [
  {
    name: "each commit is told once, in the order of its writes, before it resolves",
    promise: 15,
    async run({ storage }) {
      const told = follow(storage);
      await storage.commit([putAgent("a", { n: 1 }), entry(1), putAgent("b", { n: 2 })]);
      assert.deepEqual(told, [
        ["put", "a", 1, { n: 1 }],
        ["append", "events", 1, { n: 1 }],
        ["put", "b", 1, { n: 2 }],
      ]);
      await storage.commit([{ kind: "delete", collection: "agents", key: "a" }]);
      assert.deepEqual(told.slice(3), [["delete", "a"]]);
    },
  },
  {
    name: "commits that are made together are told in one order, each document as that commit left it",
    promise: 15,
    async run({ storage }) {
      const [first, second] = [follow(storage), follow(storage)];
      const commits = Array.from({ length: 20 }, (_, n) =>
        storage.commit([putAgent("same", { n }), entry(n), putAgent(`own-${n}`, { n })]),
      );
      const results = await Promise.all(commits);
      assert.deepEqual(second, first);
      assert.equal(first.length, 60);
      for (const [n, { revisions, sequences }] of results.entries()) {
        const at = first.findIndex(([kind, key]) => kind === "put" && key === `own-${n}`);
        assert.deepEqual(first.slice(at - 2, at + 1), [
          ["put", "same", revisions[0], { n }],
          ["append", "events", sequences[1], { n }],
          ["put", `own-${n}`, 1, { n }],
        ]);
      }
      const revisions = first.flatMap((each) => (each[0] === "put" && each[1] === "same" ? each[2] : []));
      assert.deepEqual(
        revisions,
        revisions.map((_, at) => at + 1),
      );
    },
  },
  {
    name: "each put of a commit is told as it was, also where it is read later, and each entry as it is in the log",
    promise: 15,
    async run({ storage }) {
      const told: CommittedChange[] = [];
      storage.follow((changes) => void told.push(...changes));
      const audit: Write = { kind: "append", log: "audit", at: 1_234, value: { n: 1 } };
      await storage.commit([putAgent("a", { n: 1 }), audit, putAgent("a", { n: 2 })]);
      await storage.commit([putAgent("a", { n: 3 })]);
      const documents = told.flatMap((change) => (change.kind === "put" ? [change.document] : []));
      assert.deepEqual(
        documents.map(({ revision, value }) => [revision, value["n"]]),
        [
          [1, 1],
          [2, 2],
          [3, 3],
        ],
      );
      const [, appended] = told;
      assert.ok(appended?.kind === "append");
      assert.deepEqual(appended.entry, (await storage.readLog("audit")).entries[0]);
    },
  },
  {
    name: "what was told can be read",
    promise: 15,
    async run({ storage }) {
      const reads: Promise<unknown>[] = [];
      storage.follow((changes) => {
        for (const change of changes)
          if (change.kind === "put") reads.push(storage.get(change.collection, change.key));
      });
      await storage.commit([putAgent("a", { n: 1 })]);
      assert.deepEqual(await Promise.all(reads), [{ key: "a", revision: 1, value: { n: 1 } }]);
    },
  },
  {
    name: "what changes nothing, or is rejected, is not told",
    promise: 15,
    async run({ storage }) {
      await storage.commit([putAgent("a", {})]);
      const told = follow(storage);
      await assertRefused(
        storage.commit([entry(1), { kind: "put", collection: "agents", key: "a", value: {}, expected: 7 }]),
        "REVISION_CONFLICT",
      );
      await storage.commit([{ kind: "delete", collection: "agents", key: "nobody" }]);
      await storage.commit([]);
      assert.deepEqual(told, []);
    },
  },
  {
    name: "a listener may commit: every listener hears of that after what it was told of",
    promise: 15,
    async run({ storage }) {
      let answer: Promise<unknown> = Promise.resolve();
      const end = storage.follow(([change]) => {
        if (change?.kind === "put" && change.key === "question")
          answer = storage.commit([putAgent("answer", {})]);
      });
      const told = follow(storage);
      await storage.commit([putAgent("question", {}), putAgent("beside", {})]);
      await answer;
      end();
      assert.deepEqual(
        told.map(([, key]) => key),
        ["question", "beside", "answer"],
      );
    },
  },
  {
    name: "a listener that ended hears nothing more",
    promise: 15,
    async run({ storage }) {
      const told: CommittedChange[] = [];
      const end = storage.follow((changes) => void told.push(...changes));
      const other = follow(storage);
      await storage.commit([putAgent("a", {})]);
      end();
      end();
      await storage.commit([putAgent("b", {})]);
      assert.equal(told.length, 1);
      assert.equal(other.length, 2);
    },
  },
];

function entry(n: number): Write {
  return { kind: "append", log: "events", at: 1_000, value: { n } };
}

function follow(storage: Storage): Told[] {
  const told: Told[] = [];
  storage.follow((changes) => void told.push(...changes.map(toTold)));
  return told;
}

function toTold(change: CommittedChange): Told {
  switch (change.kind) {
    case "put":
      return ["put", change.key, change.document.revision, change.document.value];
    case "delete":
      return ["delete", change.key];
    case "append":
      return ["append", change.log, change.entry.sequence, change.entry.value];
  }
}
