/** A scheduled rollout that can't be written when it is due: that says nothing of the rollout, which is begun once it can be written. */
import { expect, test } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

const isOfAll = (write: Write): boolean =>
  write.kind === "put" &&
  write.collection === "rollouts" &&
  (write.value as { assignment?: unknown }).assignment === "all";

/** Refuses rollouts of the assignment `all`, and takes everything else: also that one was passed over. */
class NoRollouts extends MemoryStorage {
  failure: Error | null = null;
  refused = 0;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    if (!args[0].some(isOfAll) || !this.failure) return super.commit(...args);
    this.refused += 1;
    throw this.failure;
  }
}

const schedule = { cron: "0 * * * *", time_zone: "UTC" };

async function setUp() {
  const clock = new FakeClock();
  const storage = new NoRollouts({ clock });
  const scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 10) {
      await clock.advance(Math.min(left, 10) * 1_000);
      for (let turn = 0; turn < 4; turn += 1) await settle();
    }
  };
  await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
  return { scene, storage, pass, untilDue: () => pass(3_600 - ((clock.now() / 1_000) % 3_600)) };
}

test.each([
  new OrchestratorError("UNAVAILABLE"),
  new OrchestratorError("STORAGE_FULL"),
  new OrchestratorError("STORAGE_FAILED"),
  new TypeError("a bug"),
])("is not passed over for %s", async (failure) => {
  const { scene, storage, pass, untilDue } = await setUp();
  await using _ = scene;
  storage.failure = failure;
  await untilDue();
  await pass(60);
  expect(scene.test.loggedErrors).toContainEqual({
    message: "A scheduled rollout could not begin; it is tried again.",
    fields: { assignment: "all", error: failure },
  });
  expect(scene.test.events.filter(({ event_type }) => event_type === "schedule.skipped")).toEqual([]);
  storage.failure = null;
  await pass(120);
  const { items } = await scene.test.orchestrator.rollouts.list(systemCaller);
  expect(items.map(({ trigger }) => trigger)).toEqual(["scheduled"]);
});

test("is tried again within seconds, also where another could be begun behind it", async () => {
  const { scene, storage, pass, untilDue } = await setUp();
  await using _ = scene;
  const { assignments, rollouts } = scene.test.orchestrator;
  await assignments.create(systemCaller, { name: "other", selector: "*", modules: ["motd"], schedule });
  storage.failure = new OrchestratorError("STORAGE_FULL");
  await untilDue();
  for (let second = 0; second < 5; second += 1) await pass(1);
  const { items } = await rollouts.list(systemCaller);
  expect(items.map(({ assignment }) => assignment)).toEqual(["other"]);
  // When it is due, a second later, and two more.
  expect(storage.refused).toBe(3);
});
