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

test("an agent that got no operation is in its group soon, also where nothing else happens", async () => {
  await using scene = await createScene(3, () => ({}), { driftIntervalSeconds: 0 });
  const { agents, rollouts } = scene.test.orchestrator;
  const rollout = { batch: 1, pause_seconds: 60, max_failures: 3 };
  await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  const { agent, nodeId: node_id } = scene.agents[1]!;
  await agent.link.stop();
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await scene.finish(scene.agents[0]);
  const written = async (): Promise<string[]> => {
    await settleAll();
    const { items } = await scene.test.storage.list<{ outcome: string }>("rollout_groups");
    return items.map(({ value }) => value.outcome).toSorted();
  };
  await scene.clock.advance(58_000);
  expect(await written()).toEqual(["unchanged"]);
  // The second is refused once the pause is over; before the third there is another.
  await scene.clock.advance(4_000);
  expect(await written()).toEqual(["failed", "unchanged"]);
  expect(scene.asked()).toEqual(["a1"]);
});
