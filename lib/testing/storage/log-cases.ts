import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { canonicalJson } from "../../internal/canonical-json.ts";
import type { LogEntry, LogPage, LogPlace, Storage, Write } from "../../storage/storage.ts";
import { beforeAndAfterRestart, assertRefused, reopen, type StorageCase } from "./subject.ts";

const entry = (n: number, log = "audit"): Write => ({
  kind: "append",
  log,
  at: 1_000 - n,
  value: { n, odd: n % 2 === 1, by: { name: `operator ${n % 3}` } },
});

async function appendMany(storage: Storage, count: number, log = "audit"): Promise<void> {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  await Promise.all(numbers.map((n) => storage.commit([entry(n, log)])));
}

function assertChain(entries: readonly LogEntry[], base: LogPlace): void {
  let previous = base.hash;
  for (const { sequence, at, value, hash } of entries) {
    const text = canonicalJson({ sequence, at, value });
    const expected = createHash("sha256")
      .update(previous + text)
      .digest("hex");
    assert.equal(hash, expected, `hash of entry ${sequence}`);
    previous = hash;
  }
}

const sequences = (entries: readonly LogEntry[]): number[] => entries.map((one) => one.sequence);

/** Promises 6 to 8: logs. */
export const logCases: StorageCase[] = [
  {
    name: "sequences rise by one from 1, in each log, also when the writer's clock goes back",
    promise: 6,
    async run({ storage }) {
      const result = await storage.commit([entry(1), entry(2), entry(1, "events"), entry(3)]);
      assert.deepEqual(result.sequences, [1, 2, 1, 3]);
      await appendMany(storage, 30);
      const { entries, head } = await storage.readLog("audit", { limit: 1_000 });
      assert.deepEqual(
        sequences(entries),
        Array.from({ length: 33 }, (_, index) => index + 1),
      );
      assert.deepEqual(head, { sequence: 33, hash: entries.at(-1)?.hash });
    },
  },
  {
    name: "a sequence is not used again after everything was trimmed and after a restart",
    promise: 6,
    async run(subject) {
      await appendMany(subject.storage, 5);
      assert.equal(await subject.storage.trimLog("audit", 100), 5);
      assert.deepEqual((await subject.storage.commit([entry(6)])).sequences, [6]);
      assert.equal(await subject.storage.trimLog("audit", 7), 1);
      const next = await reopen(subject);
      assert.deepEqual((await next.readLog("audit")).entries, []);
      assert.deepEqual((await next.commit([entry(7)])).sequences, [7]);
    },
  },
  {
    name: "a chained log verifies from zeros, across restarts, and an other log has no hashes",
    promise: 7,
    async run(subject) {
      await appendMany(subject.storage, 10);
      await subject.storage.commit([entry(1, "events")]);
      const next = await reopen(subject);
      await next.commit([entry(11)]);
      const { entries, base } = await next.readLog("audit");
      assert.deepEqual(base, { sequence: 0, hash: "0".repeat(64) });
      assert.equal(entries.length, 11);
      assertChain(entries, base);
      const events = await next.readLog("events");
      assert.equal(events.entries[0]?.hash, null);
      assert.deepEqual(events.head, { sequence: 1, hash: null });
    },
  },
  {
    name: "one value that goes into a chained log and an other one is hashed in the first alone",
    promise: 7,
    async run(subject) {
      const value = { number: 1 };
      const into = (log: string): Write => ({ kind: "append", log, at: 1, value });
      await subject.storage.commit([into("audit"), into("events")]);
      await subject.storage.commit([into("events"), into("audit")]);
      const next = await reopen(subject);
      const { entries, base } = await next.readLog("audit");
      assertChain(entries, base);
      const events = await next.readLog("events");
      assert.deepEqual(
        [...events.entries.map(({ hash }) => hash), events.head.hash, events.base.hash],
        [null, null, null, null],
      );
    },
  },
  {
    name: "an empty chained log has zeros at its head",
    promise: 7,
    async run({ storage }) {
      const zeros = { sequence: 0, hash: "0".repeat(64) };
      assert.deepEqual(await storage.readLog("audit"), { entries: [], next: null, head: zeros, base: zeros });
    },
  },
  {
    name: "a value that has no one form to hash is refused",
    promise: 7,
    async run({ storage }) {
      const odd: Write = { kind: "append", log: "audit", at: 1, value: { text: "\ud800" } };
      await assertRefused(storage.commit([odd]), "VALIDATION_FAILED");
      assert.equal((await storage.readLog("audit")).head.sequence, 0);
    },
  },
  {
    name: "trim removes what is before a sequence, and the rest verifies against the base",
    promise: 8,
    async run(subject) {
      const { storage } = subject;
      await appendMany(storage, 20);
      const before = await storage.readLog("audit");
      assert.equal(await storage.trimLog("audit", 8), 7);
      assert.equal(await storage.trimLog("audit", 8), 0);
      assert.equal(await storage.trimLog("audit", 3), 0);
      for await (const reader of beforeAndAfterRestart(subject)) {
        const { entries, base, head } = await reader.readLog("audit");
        assert.deepEqual(entries, before.entries.slice(7));
        assert.deepEqual(base, { sequence: 7, hash: before.entries[6]?.hash });
        assert.deepEqual(head, before.head);
        assertChain(entries, base);
        assert.deepEqual(sequences((await reader.readLog("audit", { to: 8 })).entries), [8]);
        assert.deepEqual(sequences((await reader.readLog("audit", { to: 7 })).entries), []);
      }
    },
  },
  {
    name: "a log is read in pages, either way round, each entry once",
    promise: 6,
    async run({ storage }) {
      await appendMany(storage, 300, "events");
      const all = Array.from({ length: 300 }, (_, index) => index + 1);
      const read = async (reverse: boolean): Promise<number[]> => {
        const seen: number[] = [];
        for (let place: number | null | undefined; place !== null;) {
          assert.ok(seen.length <= all.length, "An entry came twice.");
          const from = place === undefined ? {} : reverse ? { to: place } : { from: place };
          const page = await storage.readLog("events", { ...from, reverse, limit: 37 });
          seen.push(...sequences(page.entries));
          place = page.next;
        }
        return seen;
      };
      assert.deepEqual(await read(false), all);
      assert.deepEqual(await read(true), all.toReversed());
      const stretch = await storage.readLog("events", { from: 120, to: 123, reverse: true });
      assert.deepEqual(sequences(stretch.entries), [123, 122, 121, 120]);
      assert.equal(stretch.next, null);
    },
  },
  {
    name: "pages under appends and trims neither skip nor repeat what is kept",
    promise: 6,
    async run({ storage }) {
      await appendMany(storage, 200, "events");
      const seen: number[] = [];
      for (let from: number | null = 1; from !== null && seen.length < 400;) {
        const page: LogPage = await storage.readLog("events", { from, limit: 30 });
        seen.push(...sequences(page.entries));
        from = page.next;
        await storage.commit([entry(seen.length, "events"), entry(0, "audit"), entry(0, "events")]);
        await storage.trimLog("events", Math.floor((seen.at(-1) ?? 0) / 2));
      }
      assert.ok(seen.length >= 200);
      assert.deepEqual(
        seen,
        Array.from({ length: seen.length }, (_, index) => index + 1),
      );
    },
  },
  {
    name: "a filter finds entries by exact values at dotted paths",
    promise: 6,
    async run({ storage }) {
      await appendMany(storage, 100, "events");
      const page = await storage.readLog("events", {
        where: { "by.name": "operator 0", odd: true },
        reverse: true,
        limit: 3,
      });
      assert.deepEqual(
        page.entries.map((one) => one.value["n"]),
        page.entries.map((one) => one.sequence),
      );
      assert.deepEqual(sequences(page.entries), [99, 93, 87]);
      assert.equal(page.next, 81);
      const none = await storage.readLog("events", { where: { n: "1" } });
      assert.deepEqual(none.entries, []);
      const whole = await storage.readLog("events", { where: { by: { name: "operator 1" } }, limit: 1 });
      assert.deepEqual(sequences(whole.entries), [1]);
    },
  },
  {
    name: "a filter finds entries within a stretch, either way round",
    promise: 6,
    async run({ storage }) {
      await appendMany(storage, 30, "events");
      const query = { where: { odd: true }, from: 6, to: 14 };
      assert.deepEqual(sequences((await storage.readLog("events", query)).entries), [7, 9, 11, 13]);
      const back = await storage.readLog("events", { ...query, reverse: true });
      assert.deepEqual(sequences(back.entries), [13, 11, 9, 7]);
    },
  },
  {
    name: "a page has 50 entries, or as many as are asked for, and the head of the whole log",
    promise: 6,
    async run({ storage }) {
      await appendMany(storage, 60);
      const { head } = await storage.readLog("audit", { from: 60 });
      assert.equal(head.sequence, 60);
      for (const reverse of [false, true]) {
        assert.equal((await storage.readLog("audit", { reverse })).entries.length, 50);
        const stretch = await storage.readLog("audit", { from: 10, to: 20, limit: 3, reverse });
        assert.deepEqual([stretch.entries.length, stretch.head], [3, head]);
      }
      for (const limit of [0, 1_001])
        await assertRefused(storage.readLog("audit", { limit }), "VALIDATION_FAILED");
    },
  },
  {
    name: "a log that was trimmed whole goes on from its head, and no other log is trimmed",
    promise: 8,
    async run(subject) {
      const { storage } = subject;
      await appendMany(storage, 5);
      await appendMany(storage, 5, "events");
      const { head } = await storage.readLog("audit");
      await storage.trimLog("audit", 6);
      for await (const reader of beforeAndAfterRestart(subject)) {
        assert.deepEqual(await reader.readLog("audit"), { entries: [], next: null, head, base: head });
        assert.deepEqual(sequences((await reader.readLog("events")).entries), [1, 2, 3, 4, 5]);
        if (reader === storage) continue;
        await reader.commit([entry(6)]);
        assertChain((await reader.readLog("audit")).entries, head);
      }
    },
  },
  {
    name: "a log that was not declared is refused",
    promise: 6,
    async run({ storage }) {
      await assertRefused(storage.readLog("nothing"), "VALIDATION_FAILED");
      await assertRefused(storage.trimLog("nothing", 1), "VALIDATION_FAILED");
    },
  },
];
