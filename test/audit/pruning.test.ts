import { describe, expect, it } from "vitest";
import { FileStorage, MemoryStorage, OrchestratorError, systemCaller, type Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { serve } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Commits `count` events, a second apart: the event of sequence n is of second n - 1. */
async function addEvents({ orchestrator }: TestOrchestrator, clock: FakeClock, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + (n % 3000) });
    await clock.advance(1000);
  }
}

/** What has a prune remove the events up to a sequence, of those of {@link addEvents}. */
const upTo = (sequence: number) => ({ before: new Date(epoch + sequence * 1000 - 500).toISOString() });
let epoch = 0;

async function createWithEvents(
  count: number,
  { storage = new MemoryStorage(), clock = new FakeClock() }: { storage?: Storage; clock?: FakeClock } = {},
): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator({ storage, clock });
  epoch = clock.now();
  await addEvents(test, clock, count);
  return { ...test, clock };
}

/** The stretches that the events of the log tell of, oldest first. */
async function stretches({ orchestrator }: TestOrchestrator): Promise<[unknown, unknown][]> {
  const { items } = await orchestrator.audit.list(systemCaller, { event_type: "audit.pruned", limit: 100 });
  return items
    .reverse()
    .map(({ metadata }) => [metadata["from_sequence"], metadata["through_sequence"]] as [unknown, unknown]);
}

/** One storage for several orchestrators: each opens and closes it, and the last one closes it. */
function share(storage: MemoryStorage, users: number): Storage[] {
  let opened: Promise<void> | null = null;
  let left = users;
  const own: Partial<Storage> = {
    open: (schema) => (opened ??= storage.open(schema)),
    close: async () => void ((left -= 1) === 0 && (await storage.close())),
  };
  return Array.from({ length: users }, () => new Proxy(storage, { get: memberOf(own) }));
}

const memberOf =
  (own: Partial<Storage>) =>
  (storage: Storage, name: keyof Storage): unknown => {
    const member: unknown = own[name] ?? storage[name];
    return typeof member === "function" ? (member.bind(storage) as unknown) : member;
  };

describe("several prunes at once", () => {
  it("go on from each other, and the rest verifies, whichever has the later date", async () => {
    for (const ends of [
      [5, 5],
      [3, 7],
      [7, 3],
      [2, 9, 4, 9, 1],
    ]) {
      await using test = await createWithEvents(10);
      const { audit } = test.orchestrator;
      const answers = await Promise.all(ends.map((end) => audit.prune(systemCaller, upTo(end))));
      const most = Math.max(...ends);
      expect(answers.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(most);
      expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: most + 1 });
      let at = 0;
      for (const [from, through] of await stretches(test)) {
        expect(from).toBe(at + 1);
        at = through as number;
      }
      expect(at).toBe(most);
    }
  });

  it("of which one has nothing to remove tell of one removal", async () => {
    await using test = await createWithEvents(4);
    const { audit } = test.orchestrator;
    expect(await audit.prune(systemCaller, upTo(0))).toEqual({ deleted: 0 });
    expect(await stretches(test)).toEqual([]);
    await audit.prune(systemCaller, upTo(4));
    expect(await audit.prune(systemCaller, upTo(2))).toEqual({ deleted: 0 });
    expect(await stretches(test)).toEqual([[1, 4]]);
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 5 });
  });

  it("of several processes on one storage never move the anchor back, where one read before the other wrote", async () => {
    for (const [slow, fast] of [
      [3, 7],
      [7, 3],
      [5, 5],
    ] as const) {
      const [first, second] = share(new MemoryStorage(), 2) as [Storage, Storage];
      const clock = new FakeClock();
      await using other = await createTestOrchestrator({ storage: second, clock });
      let interrupted = 0;
      // Between what the slow one read and its commit, the other one prunes as a whole.
      const commit: Storage["commit"] = async (writes, options) => {
        if (writes.some((write) => write.kind === "put" && write.key === "audit_anchor")) {
          interrupted += 1;
          if (interrupted === 1) await other.orchestrator.audit.prune(systemCaller, upTo(fast));
        }
        return first.commit(writes, options);
      };
      const racing = new Proxy(first, { get: memberOf({ commit }) });
      await using test = await createWithEvents(10, { storage: racing, clock });
      const { deleted } = await test.orchestrator.audit.prune(systemCaller, upTo(slow));
      expect(interrupted).toBe(slow > fast ? 2 : 1);
      expect(deleted).toBe(Math.max(0, slow - fast));
      const from_sequence = Math.max(slow, fast) + 1;
      expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({
        valid: true,
        from_sequence,
      });
      expect(await stretches(other)).toEqual(
        slow > fast
          ? [
              [1, fast],
              [fast + 1, slow],
            ]
          : [[1, fast]],
      );
    }
  });

  it("stay whole beside the round of the retention, and calls that add events, and calls that verify", async () => {
    const storages = share(new MemoryStorage(), 2) as [Storage, Storage];
    const clock = new FakeClock();
    await using test = await createWithEvents(60, { storage: storages[0], clock });
    await using other = await createTestOrchestrator({ storage: storages[1], clock });
    const verified: boolean[] = [];
    const work = Array.from({ length: 60 }, async (_, n) => {
      const { audit } = (n % 2 === 0 ? test : other).orchestrator;
      if (n % 7 === 0) await audit.setRetention(systemCaller, { retention_days: null });
      if (n % 5 === 0) verified.push((await audit.verify(systemCaller)).valid);
      if (n % 10 === 0) await test.clock.advance(3_600_000);
      return (await audit.prune(systemCaller, upTo(60 - ((n * 7) % 60)))).deleted;
    });
    const deleted = (await Promise.all(work)).reduce((sum, count) => sum + count, 0);
    expect(deleted).toBe(60);
    expect(verified).toEqual(verified.map(() => true));
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({
      valid: true,
      from_sequence: 61,
    });
    expect((await stretches(test)).at(-1)?.[1]).toBe(60);
    expect([...test.loggedErrors, ...other.loggedErrors]).toEqual([]);
  });

  it("over REST leave a log that verifies after each of fifty pairs", async () => {
    const storage = new FileStorage({ folder: temporaryFolder() });
    await using test = await createWithEvents(3, { storage });
    const { token } = await test.signIn("Admin", "ada");
    await using server = await serve(test.orchestrator);
    for (let round = 0; round < 50; round += 1) {
      await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + round });
      await test.clock.advance(1000);
      await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 1000 + round });
      await test.clock.advance(2000);
      const prune = (ms: number) => {
        const before = new Date(test.clock.now() - ms).toISOString();
        return server.rest("DELETE", `/audit?before=${before}`, { token });
      };
      const answers = await Promise.all([prune(0), prune(round % 3 === 0 ? 0 : 2500)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const { json } = await server.rest("GET", "/audit/verify", { token });
      expect(json).toMatchObject({ valid: true });
    }
  });
});

describe("a prune", () => {
  it("that was killed between anchor and removal is finished by the next, and told of once", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    const trimLog = test.storage.trimLog.bind(test.storage);
    test.storage.trimLog = () => Promise.reject(new Error("killed"));
    await expect(audit.prune(systemCaller, upTo(4))).rejects.toThrow("killed");
    test.storage.trimLog = trimLog;
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 5 });
    // One that asks for less, with what was read before: the anchor stays.
    expect(await audit.prune(systemCaller, upTo(2))).toEqual({ deleted: 4 });
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 5 });
    expect(await stretches(test)).toEqual([[1, 4]]);
  });

  it("that was killed is finished by the round of the retention, also where everything is kept", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    await audit.setRetention(systemCaller, { retention_days: null });
    const trimLog = test.storage.trimLog.bind(test.storage);
    test.storage.trimLog = () => Promise.reject(new Error("killed"));
    await expect(audit.prune(systemCaller, upTo(4))).rejects.toThrow("killed");
    test.storage.trimLog = trimLog;
    await test.clock.advance(3_700_000);
    expect((await test.storage.readLog("audit", { limit: 1 })).base.sequence).toBe(4);
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 5 });
  });

  it("is told as done once it counts, and goes on by itself where the removal fails", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    const trimLog = test.storage.trimLog.bind(test.storage);
    let tries = 0;
    test.storage.trimLog = (...args) => {
      tries += 1;
      return tries > 2 ? trimLog(...args) : Promise.reject(new OrchestratorError("UNAVAILABLE"));
    };
    expect(await audit.prune(systemCaller, upTo(4))).toEqual({ deleted: 4 });
    await settleAll();
    expect(tries).toBe(2);
    await test.clock.advance(1_000);
    await settleAll();
    expect(tries).toBe(3);
    expect((await test.storage.readLog("audit", { limit: 1 })).base.sequence).toBe(4);
    expect(await stretches(test)).toEqual([[1, 4]]);
    // The next one that fails goes on as the first did.
    tries = 0;
    expect(await audit.prune(systemCaller, upTo(6))).toMatchObject({ deleted: 2 });
    await settleAll();
    await test.clock.advance(1_000);
    await settleAll();
    expect((await test.storage.readLog("audit", { limit: 1 })).base.sequence).toBe(6);
  });

  it("that only finishes what another left is refused where it can't", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    const trimLog = test.storage.trimLog.bind(test.storage);
    test.storage.trimLog = () => Promise.reject(new OrchestratorError("STORAGE_FAILED"));
    expect(await audit.prune(systemCaller, upTo(4))).toEqual({ deleted: 4 });
    await expect(audit.prune(systemCaller, upTo(4))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    test.storage.trimLog = trimLog;
    expect(await audit.prune(systemCaller, upTo(4))).toEqual({ deleted: 4 });
    expect(await stretches(test)).toEqual([[1, 4]]);
  });

  it("after one that failed goes on", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    const commit = test.storage.commit.bind(test.storage);
    test.storage.commit = () => Promise.reject(new Error("no disk"));
    const failed = audit.prune(systemCaller, upTo(2));
    const waiting = failed.catch(() => (test.storage.commit = commit));
    await expect(failed).rejects.toThrow("no disk");
    await waiting;
    expect(await audit.prune(systemCaller, upTo(3))).toEqual({ deleted: 3 });
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 4 });
  });

  it("refuses an anchor that somebody else wrote, and leaves what shows it", async () => {
    await using test = await createWithEvents(6);
    const { audit } = test.orchestrator;
    const forged = { sequence: 3, hash: "0".repeat(64), signature: "00".repeat(64) };
    await test.storage.commit([{ kind: "put", collection: "settings", key: "audit_anchor", value: forged }]);
    await expect(audit.prune(systemCaller, upTo(5))).rejects.toMatchObject({
      code: "STORAGE_CORRUPT",
      message: "The anchor of the audit log was not written by this orchestrator: nothing is removed.",
    });
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: false });
    expect((await test.storage.readLog("audit", { limit: 1 })).base.sequence).toBe(0);
  });
});
