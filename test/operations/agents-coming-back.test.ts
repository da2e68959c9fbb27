/** After a start agents have a minute and a half to come back: until then who is not there is not away. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

/** A process that has just begun, with an operation that its agent `a1` was given; of `a2` and `a3` nothing was asked. */
async function started() {
  const scene = await createScene(3, () => ({}), { driftIntervalSeconds: 0 });
  const [a1] = scene.agents;
  const apply = { node_id: a1!.nodeId, modules: ["motd"], wait_seconds: 0 };
  await scene.test.orchestrator.operations.apply(systemCaller, apply);
  await a1!.agent.next("apply");
  await scene[Symbol.asyncDispose]();
  const { clock, data, agents } = scene;
  const storage = new MemoryStorage({ clock, data });
  const again = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
  return { clock, agents, again };
}

test("what is asked of one of them in that time waits for it, and ends with that time", async () => {
  const { clock, agents, again } = await started();
  await using _ = again;
  const { rollouts } = again.orchestrator;
  const rollout = { max_failures: "100%" };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  const statuses = async (): Promise<Record<string, string>> => {
    const { operations } = await rollouts.get(systemCaller, { rollout_id });
    return Object.fromEntries(operations.map(({ name, status }) => [name, status]));
  };
  await clock.advance(80_000);
  await settleAll();
  expect(await statuses()).toEqual({ a1: "queued", a2: "queued", a3: "queued" });
  await using back = await connectScriptedAgent(again, agents[2]!.keys, clock);
  await back.next("apply");
  await clock.advance(11_000);
  await settleAll();
  // That of the first stands behind what it was given before.
  expect(await statuses()).toEqual({ a1: "queued", a2: "failed", a3: "running" });
  const { items } = await again.orchestrator.operations.list(systemCaller, { status: "failed" });
  expect(items).toMatchObject([{ agent_name: "a2", error: { code: "AGENT_OFFLINE" } }]);
});

test("where nothing was open nobody is waited for", async () => {
  const scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
  await scene[Symbol.asyncDispose]();
  const { clock, data } = scene;
  await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const { rollouts } = again.orchestrator;
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  await settleAll();
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "failed" });
});
