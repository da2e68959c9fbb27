/** How many events are kept for streams, and for how long. */
import { describe, expect, it } from "vitest";
import { MemoryData, MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";

/** Has so many events happen. */
async function change({ orchestrator }: TestOrchestrator, times: number): Promise<void> {
  for (let n = 1; n <= times; n += 1)
    await orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + (n % 1_000) });
}

describe("the events that are kept", () => {
  it("are never more than eventRetentionCount, also after a start with fewer of them", async () => {
    const [data, clock] = [new MemoryData(), new FakeClock()];
    const start = (eventRetentionCount: number) =>
      createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock, eventRetentionCount });
    const kept = async ({ storage }: TestOrchestrator): Promise<number> => {
      const { head, base } = await storage.readLog("events", { limit: 1 });
      return head.sequence - base.sequence;
    };
    const before = await start(10_000);
    await change(before, 1_300);
    await before[Symbol.asyncDispose]();
    await using after = await start(1_000);
    await clock.advance(1_000);
    expect(await kept(after)).toBeLessThanOrEqual(1_000);
    const seen: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      await change(after, 13);
      await clock.advance(0);
      seen.push(await kept(after));
    }
    expect(Math.max(...seen)).toBeLessThanOrEqual(1_000);
    // And not many fewer.
    expect(Math.min(...seen)).toBeGreaterThan(700);
  });

  it("stay where the clock alone says that they are old", async () => {
    await using test = await createTestOrchestrator({ eventRetentionHours: 24 });
    await change(test, 3);
    const { head, base } = await test.storage.readLog("events", { limit: 1 });
    test.clock.jump(30 * 86_400_000);
    await test.clock.advance(2 * 3_600_000);
    const after = await test.storage.readLog("events", { limit: 1 });
    expect(after.base.sequence).toBe(base.sequence);
    expect(after.head.sequence).toBeGreaterThanOrEqual(head.sequence);
  });
});
