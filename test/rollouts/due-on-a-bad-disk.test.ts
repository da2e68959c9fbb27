/** A scheduled rollout that can't be written when it is due: that says nothing of the rollout, which is begun once it can be written. */
import { expect, test } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

/** Refuses rollouts, and takes everything else: also that one was passed over. */
class NoRollouts extends MemoryStorage {
  failure: Error | null = null;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    const isRollout = args[0].some((write) => write.kind === "put" && write.collection === "rollouts");
    if (isRollout && this.failure) throw this.failure;
    return super.commit(...args);
  }
}

test.each([
  new OrchestratorError("UNAVAILABLE"),
  new OrchestratorError("STORAGE_FULL"),
  new OrchestratorError("STORAGE_FAILED"),
  new TypeError("a bug"),
])("is not passed over for %s", async (failure) => {
  const clock = new FakeClock();
  const storage = new NoRollouts({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  const { assignments, rollouts } = scene.test.orchestrator;
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 10) {
      await clock.advance(Math.min(left, 10) * 1_000);
      for (let turn = 0; turn < 4; turn += 1) await settle();
    }
  };
  const schedule = { cron: "0 * * * *", time_zone: "UTC" };
  await assignments.update(systemCaller, { name: "all", schedule });
  storage.failure = failure;
  await pass(3_600 - ((clock.now() / 1_000) % 3_600) + 60);
  expect(scene.test.loggedErrors).toContainEqual({
    message: "A scheduled rollout could not begin; it is tried again.",
    fields: { assignment: "all", error: failure },
  });
  expect(scene.test.events.filter(({ event_type }) => event_type === "schedule.skipped")).toEqual([]);
  storage.failure = null;
  await pass(120);
  const { items } = await rollouts.list(systemCaller);
  expect(items.map(({ trigger }) => trigger)).toEqual(["scheduled"]);
});
