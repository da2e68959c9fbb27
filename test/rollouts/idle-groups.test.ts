/** Groups of agents with equal changes, of a rollout in which nothing happens for a while. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

test("what was counted in the last second of a process is there for all that read it soon after the next start", async () => {
  const scene = await createScene(2);
  const { clock, data } = scene;
  const apply = { name: "all", wait_seconds: 0 };
  const { rollout_id } = await scene.test.orchestrator.rollouts.apply(systemCaller, apply);
  await scene.finish(scene.agents[0]);
  // The other agent has its operation, and is not heard of.
  await scene[Symbol.asyncDispose]();

  await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  await settleAll();
  await clock.advance(1_500);
  await settleAll();
  // As another process on the same storage reads them; this one would write them first.
  const { items } = await again.storage.list<{ agents: number }>("rollout_groups");
  expect(items.map(({ value }) => value)).toMatchObject([{ rollout_id, agents: 1, outcome: "unchanged" }]);
});
