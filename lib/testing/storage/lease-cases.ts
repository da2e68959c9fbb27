import assert from "node:assert/strict";
import { assertRefused, putAgent, testSchema, type StorageCase } from "./subject.ts";

/** Promise 10: leases; and what two handles on the same data owe each other. */
export const leaseCases: StorageCase[] = [
  {
    name: "one of many takers gets a lease, and release gives it to the next",
    promise: 10,
    async run({ storage }) {
      const taken = await Promise.all(Array.from({ length: 10 }, () => storage.lease("scheduler", 1_000)));
      const held = taken.filter((lease) => lease !== null);
      assert.equal(held.length, 1);
      assert.ok(await storage.lease("other", 1_000));
      await held[0]?.release();
      assert.equal(await held[0]?.renew(), false);
      assert.ok(await storage.lease("scheduler", 1_000));
    },
  },
  {
    name: "an expired lease can be taken, and the one who lost it can't renew or release it",
    promise: 10,
    async run({ storage, clock }) {
      const first = await storage.lease("scheduler", 1_000);
      assert.ok(first);
      await clock.advance(999);
      assert.equal(await storage.lease("scheduler", 1_000), null);
      await clock.advance(1);
      assert.equal(await first.renew(), false);
      const second = await storage.lease("scheduler", 1_000);
      assert.ok(second);
      await first.release();
      assert.equal(await storage.lease("scheduler", 1_000), null);
      assert.equal(await second.renew(), true);
    },
  },
  {
    name: "a renewed lease lasts its time from the renewal",
    promise: 10,
    async run({ storage, clock }) {
      const lease = await storage.lease("scheduler", 1_000);
      await clock.advance(900);
      assert.equal(await lease?.renew(), true);
      await clock.advance(900);
      assert.equal(await storage.lease("scheduler", 1_000), null);
      await clock.advance(100);
      assert.ok(await storage.lease("scheduler", 1_000));
    },
  },
  {
    name: "an expired lease goes to one of twenty takers",
    promise: 10,
    async run({ storage, clock }) {
      const first = await storage.lease("scheduler", 1_000);
      await clock.advance(1_000);
      const taken = await Promise.all(Array.from({ length: 20 }, () => storage.lease("scheduler", 1_000)));
      assert.equal(taken.filter((lease) => lease !== null).length, 1);
      assert.equal(await first?.renew(), false);
    },
  },
  {
    name: "two handles on the same data see one lease",
    promise: 10,
    needs: "shared",
    async run({ storage, again, clock }) {
      const other = again();
      await other.open(testSchema);
      const mine = await storage.lease("scheduler", 1_000);
      assert.ok(mine);
      assert.equal(await other.lease("scheduler", 1_000), null);
      await clock.advance(1_000);
      const theirs = await other.lease("scheduler", 1_000);
      assert.ok(theirs);
      assert.equal(await mine.renew(), false);
      await mine.release();
      assert.equal(await theirs.renew(), true);
    },
  },
  {
    name: "of writers on two handles that expect the same revision exactly one wins",
    promise: 3,
    needs: "shared",
    async run({ storage, again }) {
      const other = again();
      await other.open(testSchema);
      await storage.commit([putAgent("a", { winner: -1 })]);
      const calls = Array.from({ length: 20 }, (_, winner) =>
        (winner % 2 === 0 ? storage : other).commit([
          { kind: "put", collection: "agents", key: "a", value: { winner }, expected: 1 },
        ]),
      );
      const outcomes = await Promise.allSettled(calls);
      const winner = outcomes.findIndex((outcome) => outcome.status === "fulfilled");
      assert.equal(outcomes.filter((outcome) => outcome.status === "fulfilled").length, 1);
      for (const handle of [storage, other]) {
        assert.deepEqual((await handle.get("agents", "a"))?.value, { winner });
      }
    },
  },
  {
    name: "a time to live out of range is refused",
    promise: 10,
    async run({ storage }) {
      for (const ttlMs of [0, -1, 3_600_001, NaN]) {
        await assertRefused(storage.lease("scheduler", ttlMs), "VALIDATION_FAILED");
      }
    },
  },
];
