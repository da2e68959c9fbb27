/** Thresholds of machines that measure seldom, and of servers that were ended in the middle. */
import { expect, it, test } from "vitest";
import { MemoryData, MemoryStorage, OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { approved } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";
import { waitFor } from "../support/wait-for.ts";

const busy = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;

it.each([
  [15, 60],
  [20, 60],
  [60, 180],
  [120, 360],
])(
  "a machine that measures every %i seconds is beyond its limit without a break where nothing came for %i, and no longer",
  async (metricsIntervalSeconds, gapSeconds) => {
    for (const [passedSeconds, alarms] of [
      [gapSeconds, 1],
      [gapSeconds + 1, 0],
    ] as const) {
      await using product = await createTestOrchestrator({ metricsIntervalSeconds });
      await product.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: gapSeconds });
      await product.clock.advance((gapSeconds + 10) * 1_000);
      const agent = await approved(product, 1);
      const samples = [passedSeconds, 0].map((ageSeconds) => ({
        at: new Date(product.clock.now() - ageSeconds * 1_000).toISOString(),
        values: { "load.1": 5 },
      }));
      agent.say({ type: "metrics", samples, gap: false });
      for (let turn = 0; turn < 5; turn += 1) await settleAll();
      expect(await alarmsNow(product), `after ${passedSeconds} s`).toHaveLength(alarms);
    }
  },
);

/** Keeps alarms from being ended, as a process that is killed does. */
class KeepingStorage extends MemoryStorage {
  keepsAlarms = true;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    if (this.keepsAlarms && writes.some((write) => write.kind === "delete" && write.collection === "alarms"))
      throw new OrchestratorError("UNAVAILABLE");
    return super.commit(writes, options);
  }
}

test("an alarm whose threshold was removed right before the server was killed ends with the next start", async () => {
  const [data, clock] = [new MemoryData(), new FakeClock()];
  const begin = async (storage: MemoryStorage) => ({
    ...(await createTestOrchestrator({ clock, storage })),
    clock,
  });
  const before = await begin(new KeepingStorage({ data, clock }));
  const { id } = await before.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 0 });
  const agent = await approved(before, 1);
  await clock.advance(1_000);
  await sendSample(before, agent, { "load.1": 5 });
  await before.orchestrator.thresholds.remove(systemCaller, { id });
  expect(await alarmsNow(before)).toHaveLength(1);
  await before.orchestrator.stop();

  const after = await begin(new MemoryStorage({ data, clock }));
  try {
    await waitFor(async () => expect(await alarmsNow(after)).toEqual([]));
    expect(alarmEvents(after)).toMatchObject([
      { event_type: "metric.thresholdRecovered", metadata: { reason: "withdrawn" } },
    ]);
  } finally {
    await after.orchestrator.stop();
  }
});
