/** An occurrence that is ended early, as of a time before that: it went on, and those before it were not ended. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;
const schedule = { cron: "0 2 * * *", duration_minutes: 120 };

interface Scene {
  test: TestOrchestrator;
  end: () => Promise<unknown>;
  status: () => Promise<string>;
}

/** At ten past two, ten minutes after a window began that comes every night. */
async function scene(aheadMs: number): Promise<Scene> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { maintenanceWindows } = test.orchestrator;
  const window = { reason: "backups", mode: "freeze", schedule } as const;
  const { id } = await maintenanceWindows.create(systemCaller, window);
  await test.clock.advance(130 * minuteMs);
  test.clock.jump(aheadMs);
  return {
    test,
    end: () => maintenanceWindows.update(systemCaller, { id, end_occurrence: true }),
    status: async () => (await maintenanceWindows.get(systemCaller, { id })).status,
  };
}

it("what was in it before stays muted", async () => {
  const { test, end } = await scene(0);
  const { maintenance } = servicesOf(test.orchestrator);
  const happenedMs = test.clock.now();
  await test.clock.advance(minuteMs);
  await end();
  const muted = [happenedMs, test.clock.now()].map((atMs) => maintenance.isMuted("a".repeat(32), atMs));
  expect(muted).toEqual([true, false]);
});

it("one that is ended by a clock that is a year ahead ends no other once the clock is right", async () => {
  const { test, end, status } = await scene(365 * dayMs);
  await end();
  expect(await status()).toBe("scheduled");
  test.clock.jump(-365 * dayMs);
  expect(await status()).toBe("active");
  await test.clock.advance(120 * minuteMs);
  expect(await status()).toBe("scheduled");
  await test.clock.advance(1_320 * minuteMs);
  expect(await status()).toBe("active");
});

it("one that another process ends whose clock is a minute ahead ends within the minute", async () => {
  const { test, end, status } = await scene(minuteMs);
  await end();
  test.clock.jump(-minuteMs);
  const seen = [await status()];
  await test.clock.advance(minuteMs + 1_000);
  expect([...seen, await status()]).toEqual(["active", "scheduled"]);
});
