/** Two processes of one orchestrator whose clocks differ: what one has told of a window the other neither takes back nor tells again. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { handlesOf } from "../support/two-processes.ts";

const minuteMs = 60_000;

interface Members {
  first: TestOrchestrator;
  /** Lets so many minutes pass for both. */
  pass: (minutes: number) => Promise<void>;
  /** What was told of windows. */
  told: () => string[];
}

/** The clock of the second is ahead by so much. */
async function members(aheadMs: number): Promise<Members> {
  const clocks = [new FakeClock(), new FakeClock()];
  clocks[1]!.jump(aheadMs);
  const handle = handlesOf(new MemoryStorage({ clock: clocks[0]! }));
  const begin = async (clock: FakeClock): Promise<TestOrchestrator> => {
    const test = await createTestOrchestrator({ clock, storage: handle() });
    onTestFinished(() => test.orchestrator.stop());
    return test;
  };
  const first = await begin(clocks[0]!);
  await begin(clocks[1]!);
  return {
    first,
    pass: async (minutes) => {
      for (let passed = 0; passed < minutes * minuteMs; passed += 5_000) {
        for (const clock of clocks) await clock.advance(5_000);
        await settleAll();
      }
    },
    told: () =>
      first.events
        .map(({ event_type }) => event_type)
        .filter((type) => type === "maintenance.started" || type === "maintenance.ended"),
  };
}

const once = ["maintenance.started", "maintenance.ended"];

it.each([1_000, 40_000, 290_000, -40_000])(
  "a window is told once by members whose clocks differ by %d ms",
  async (aheadMs) => {
    const { first, pass, told } = await members(aheadMs);
    const at = (minutes: number): string => new Date(first.clock.now() + minutes * minuteMs).toISOString();
    const window = { reason: "disks", mode: "mute", starts_at: at(10), ends_at: at(20) } as const;
    await first.orchestrator.maintenanceWindows.create(systemCaller, window);
    await pass(30);
    expect(told()).toEqual(once);
  },
);

it("each occurrence of one that recurs is told once", async () => {
  const { first, pass, told } = await members(40_000);
  const schedule = { cron: "*/10 * * * *", duration_minutes: 3 };
  const window = { reason: "disks", mode: "mute", schedule } as const;
  await first.orchestrator.maintenanceWindows.create(systemCaller, window);
  await pass(29);
  expect(told()).toEqual([...once, ...once, ...once]);
});

it("one that is ended early and given an end once more is told again, also for a minute", async () => {
  const { first, pass, told } = await members(1_000);
  const { maintenanceWindows } = first.orchestrator;
  const window = { reason: "disks", mode: "mute", ends_in_seconds: 600 } as const;
  const { id } = await maintenanceWindows.create(systemCaller, window);
  await pass(1);
  await maintenanceWindows.update(systemCaller, { id, end_occurrence: true });
  await pass(1);
  await maintenanceWindows.update(systemCaller, { id, ends_in_seconds: 60 });
  await pass(2);
  expect(told()).toEqual([...once, ...once]);
});

it("one that a clock which was set back by an hour has not reached is told as ended", async () => {
  const { first, pass, told } = await members(0);
  const { maintenanceWindows } = first.orchestrator;
  await pass(1);
  await maintenanceWindows.create(systemCaller, { reason: "disks", mode: "mute", ends_in_seconds: 600 });
  await pass(1);
  first.clock.jump(-60 * minuteMs);
  await pass(1);
  expect(told()).toContain("maintenance.ended");
});
