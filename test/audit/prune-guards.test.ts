import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { itemsOf } from "../support/all-pages.ts";

const dayMs = 86_400_000;
const at = (ms: number) => new Date(ms).toISOString();

/** Makes an event every day. */
async function passDays({ orchestrator }: TestOrchestrator, clock: FakeClock, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    await orchestrator.audit.setRetention(systemCaller, { retention_days: 3000 + day });
    await clock.advance(dayMs);
  }
}

async function createWithDays(days: number) {
  const test = await createTestOrchestrator();
  await passDays(test, test.clock, days);
  return test;
}

async function countEvents({ orchestrator }: TestOrchestrator): Promise<number> {
  return (await orchestrator.audit.list(systemCaller, { limit: 500 })).items.length;
}

describe("a prune of the audit log", () => {
  it("up to a time in the future is refused and removes nothing, a look ahead as well", async () => {
    await using test = await createWithDays(3);
    const { audit } = test.orchestrator;
    for (const ms of [1, 1000, dayMs, 400 * 365 * dayMs])
      for (const dry_run of [false, true]) {
        const before = at(test.clock.now() + ms);
        await expect(audit.prune(systemCaller, { before, dry_run })).rejects.toMatchObject({
          code: "VALIDATION_FAILED",
          issues: [{ path: ["before"], message: expect.stringContaining(at(test.clock.now())) as string }],
        });
      }
    expect(await countEvents(test)).toBe(3);
    const now = { before: at(test.clock.now()) };
    expect(await audit.prune(systemCaller, now)).toEqual({ deleted: 3 });
  });

  it("is refused where only a clock that jumped ahead says that the time is over", async () => {
    const [clock, data] = [new FakeClock(), new MemoryData()];
    const open = () => createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    const year = 365 * dayMs;
    {
      await using test = await open();
      await passDays(test, clock, 3);
      clock.jump(year);
      const { audit } = test.orchestrator;
      const tomorrow = { before: at(clock.now() - year + dayMs) };
      await expect(audit.prune(systemCaller, tomorrow)).rejects.toMatchObject({
        code: "VALIDATION_FAILED",
        issues: [{ message: expect.stringContaining("not believed yet") as string }],
      });
    }
    // A restart does not make it true; that the clock went on for a day does.
    await using test = await open();
    const { audit } = test.orchestrator;
    const nearlyNow = () => ({ before: at(clock.now() - dayMs) });
    await expect(audit.prune(systemCaller, nearlyNow())).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    await clock.advance(27 * 3_600_000);
    expect(await audit.prune(systemCaller, nearlyNow())).toEqual({ deleted: 3 });
  });

  it("leaves what is younger than the least age, whoever asks, and so does the retention", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const open = (auditMinimumAgeDays: number) =>
      createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock, auditMinimumAgeDays });
    {
      await using test = await open(0);
      await passDays(test, clock, 10);
      await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 60 });
    }
    await using test = await open(100);
    const { audit } = test.orchestrator;
    const older = (days: number, ms = 0) => ({ before: at(clock.now() - days * dayMs + ms) });
    await expect(audit.prune(systemCaller, older(100, 1))).rejects.toMatchObject({
      issues: [{ message: expect.stringContaining("at least 100 days") as string }],
    });
    expect(await audit.prune(systemCaller, older(100))).toEqual({ deleted: 0 });
    await expect(audit.setRetention(systemCaller, { retention_days: 99 })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["retention_days"] }],
    });
    // What was set before is not less, either.
    expect(await audit.getRetention(systemCaller)).toEqual({ retention_days: 100, version: 11 });
    for (let day = 0; day < 90; day += 1) await clock.advance(dayMs);
    expect(await countEvents(test)).toBe(11);
    for (let day = 0; day < 15; day += 1) await clock.advance(dayMs);
    const left = (await audit.list(systemCaller)).items.map(({ event_type }) => event_type);
    expect(new Set(left)).toEqual(new Set(["audit.pruned"]));
    await audit.setRetention(systemCaller, { retention_days: 100 });
    await audit.setRetention(systemCaller, { retention_days: null });
  });

  it("that expects another number of events removes none and tells how many there are", async () => {
    await using test = await createWithDays(5);
    const { audit } = test.orchestrator;
    const before = at(test.clock.now() - 2 * dayMs);
    for (const expected of [0, 2, 4, 5, 1_000_000]) {
      await expect(audit.prune(systemCaller, { before, expected })).rejects.toMatchObject({
        code: "COUNT_DIFFERS",
        retryable: false,
        details: { expected, actual: 3 },
      });
    }
    expect(await countEvents(test)).toBe(5);
    expect(await audit.prune(systemCaller, { before, expected: 3 })).toEqual({ deleted: 3 });
    await expect(audit.prune(systemCaller, { before, expected: 3 })).rejects.toMatchObject({
      details: { actual: 0 },
    });
    expect(await audit.prune(systemCaller, { before, expected: 0 })).toEqual({ deleted: 0 });
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 4 });
  });

  it("looks ahead without removing, and tells what the log will say of it", async () => {
    await using test = await createWithDays(5);
    const { audit } = test.orchestrator;
    const look = async (before: string) =>
      (await audit.prune(systemCaller, { before, dry_run: true })).would_delete;
    const before = at(test.clock.now() - 2 * dayMs);
    const { items } = await audit.list(systemCaller, { order: "asc" });
    expect(await look(before)).toEqual({
      events: 3,
      from_sequence: 1,
      through_sequence: 3,
      through_recorded_at: items[2]?.recorded_at,
      through_hash: items[2]?.hash,
      previous_hash: "0".repeat(64),
    });
    expect(await countEvents(test)).toBe(5);
    await audit.prune(systemCaller, { before });
    const nothing = { events: 0, from_sequence: 4, through_sequence: 3, through_recorded_at: null };
    expect(await look(before)).toMatchObject({ ...nothing, previous_hash: items[2]?.hash });
    expect(await look(at(test.clock.now()))).toMatchObject({ events: 2, previous_hash: items[2]?.hash });
  });

  it("counts what a prune that was killed left, for the next one takes it, too", async () => {
    await using test = await createWithDays(5);
    const { audit } = test.orchestrator;
    const trimLog = test.storage.trimLog.bind(test.storage);
    test.storage.trimLog = () => Promise.reject(new Error("killed"));
    const before = at(test.clock.now() - 2 * dayMs);
    await expect(audit.prune(systemCaller, { before })).rejects.toThrow("killed");
    test.storage.trimLog = trimLog;
    const { would_delete: look } = await audit.prune(systemCaller, { before, dry_run: true });
    expect(look).toMatchObject({ events: 3, from_sequence: 1, through_sequence: 3 });
    expect(await audit.prune(systemCaller, { before, expected: 3 })).toEqual({ deleted: 3 });
  });

  it("takes no event that comes after one that is not old, and reads what goes once", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    const value = { event_type: "audit.pruned", metadata: {}, summary: "" };
    const times = Array.from({ length: 7_500 }, (_, n) => (n === 5_499 ? 5_000_000 : n));
    await test.storage.commit(times.map((ms) => ({ kind: "append", log: "audit", at: ms, value }) as const));
    const readLog = test.storage.readLog.bind(test.storage);
    let read = 0;
    test.storage.readLog = async (log, query) => {
      const page = await readLog(log, query);
      read += page.entries.length;
      return page as never;
    };
    const look = async (before: string) =>
      (await audit.prune(systemCaller, { before, dry_run: true })).would_delete?.events;
    // An event of a clock that was wrong keeps what came after it: of two ways to be wrong, the one that loses nothing.
    expect(await look(at(6_000))).toBe(5_499);
    expect(read).toBeLessThanOrEqual(6_001);
    read = 0;
    expect(await look(at(4_000))).toBe(4_000);
    expect(await look(at(5_499))).toBe(5_499);
    expect(await look(at(6_000_000))).toBe(7_500);
    expect(read).toBeLessThanOrEqual(6_000);
    read = 0;
    expect(await audit.prune(systemCaller, { before: at(6_000), expected: 5_499 })).toEqual({
      deleted: 5_499,
    });
    expect(read).toBeLessThanOrEqual(1_100);
  });
});

describe("a list of audit events, oldest first", () => {
  it("has every event once, page by page, and begins where the log does", async () => {
    await using test = await createWithDays(9);
    const { audit } = test.orchestrator;
    await audit.prune(systemCaller, { before: at(test.clock.now() - 7 * dayMs) });
    const found = await itemsOf((page) => audit.list(systemCaller, { order: "asc", ...page }), 3);
    expect(found.map(({ sequence }) => sequence)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    const { next_cursor } = await audit.list(systemCaller, { order: "asc", limit: 3 });
    await expect(audit.list(systemCaller, { cursor: next_cursor! })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
    const newest = await audit.list(systemCaller, { event_type: "audit.pruned", order: "asc" });
    expect(newest.items.map(({ sequence }) => sequence)).toEqual([10]);
  });

  it("goes on past 10,000 events that no filter passes", async () => {
    await using test = await createTestOrchestrator();
    const value = { event_type: "audit.pruned", actor: { id: "x", name: "x" }, summary: "", metadata: {} };
    const writes = Array.from({ length: 12_000 }, (_, n) => {
      const actor = { id: "x", name: n === 11_000 ? "ada" : "x" };
      return { kind: "append", log: "audit", at: 0, value: { ...value, actor } } as const;
    });
    await test.storage.commit(writes);
    const { audit } = test.orchestrator;
    const first = await audit.list(systemCaller, { actor: "ada", order: "asc" });
    expect(first.items).toEqual([]);
    const second = await audit.list(systemCaller, { actor: "ada", order: "asc", cursor: first.next_cursor! });
    expect(second).toMatchObject({ items: [{ sequence: 11_001 }], next_cursor: null });
  });
});
