/** What a freeze holds ends as all that waits does, and goes on in the order in which it was asked for. */
import { describe, expect, it } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

const minuteMs = 60_000;

async function pass({ clock }: Pick<Scene, "clock">, ms: number, stepMs = 500): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(left, stepMs));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

/** Has an apply wait for each agent, twice where that is said, and all of it be held by a freeze. */
async function held(scene: Scene, times = 1): Promise<{ ids: string[]; window: string }> {
  const { operations, maintenanceWindows } = scene.test.orchestrator;
  const ids: string[] = [];
  // Behind a plan, so that the window finds them waiting.
  for (const { nodeId: node_id } of scene.agents)
    await operations.plan(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  for (let time = 0; time < times; time += 1)
    for (const { nodeId: node_id } of scene.agents) {
      const asked = { node_id, modules: ["motd"], when_offline: "queue" as const, wait_seconds: 0 };
      ids.push((await operations.apply(systemCaller, asked)).operation_id);
    }
  const ends_at = new Date(scene.clock.now() + 10 * minuteMs).toISOString();
  const window = { reason: "the database moves", mode: "freeze", ends_at } as const;
  const { id } = await maintenanceWindows.create(systemCaller, window);
  for (const { agent } of scene.agents) {
    const { operation_id } = await agent.next("plan");
    agent.link.send(emptyResult(operation_id));
  }
  await pass(scene, 1_000);
  for (const each of await read(scene, ids)) expect(each).toMatchObject({ held_by: { window_id: id } });
  return { ids, window: id };
}

const read = ({ test }: Scene, ids: readonly string[]): Promise<Operation[]> =>
  Promise.all(ids.map((operation_id) => test.orchestrator.operations.get(systemCaller, { operation_id })));

describe("what a freeze holds of an agent, all of it, ends at once", () => {
  it("where somebody rejects the agent", async () => {
    await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
    const { ids } = await held(scene, 3);
    const { nodeId: node_id, agent } = scene.agents[0]!;
    await scene.test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agent.link.stop();
    await settleAll();
    for (const each of await read(scene, ids)) {
      expect(each).toMatchObject({ status: "cancelled", error: { code: "AGENT_NOT_APPROVED" } });
      expect(each).not.toHaveProperty("held_by");
    }
  });

  it("where somebody cancels it", async () => {
    await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
    const { ids } = await held(scene, 3);
    for (const operation_id of ids)
      await scene.test.orchestrator.operations.cancel(systemCaller, { operation_id });
    for (const each of await read(scene, ids)) {
      expect(each).toMatchObject({ status: "cancelled" });
      expect(each).not.toHaveProperty("held_by");
    }
  });
});

it("what was held goes on in the order in which it was asked for, also over a restart with the clock set back", async () => {
  const scene = await createScene(3, undefined, { driftIntervalSeconds: 0 });
  const { clock, data, agents } = scene;
  for (const { agent } of agents) await agent.link.stop();
  await settleAll();
  const ask = async (test: TestOrchestrator, member: SceneAgent | undefined): Promise<void> => {
    const asked = { node_id: member!.nodeId, when_offline: "queue", wait_seconds: 0 } as const;
    await test.orchestrator.operations.apply(systemCaller, asked);
    await clock.advance(1_000);
  };
  // Ids go by the clock on the wall where it is days apart: those of the second life are less than those of the first.
  await ask(scene.test, agents[2]);
  await ask(scene.test, agents[1]);
  await scene.test.orchestrator.stop();
  clock.jump(-3 * 24 * 60 * minuteMs);
  const storage = new MemoryStorage({ clock, data });
  await using again = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
  await ask(again, agents[0]);
  const { maintenanceWindows } = again.orchestrator;
  const ends_at = new Date(clock.now() + 600 * minuteMs).toISOString();
  const window = { reason: "the database moves", mode: "freeze", ends_at } as const;
  const { id } = await maintenanceWindows.create(systemCaller, window);
  const back: { name: string; agent: ScriptedAgent }[] = [];
  for (const { name, keys } of agents)
    back.push({ name, agent: await connectScriptedAgent(again, keys, clock) });
  await pass({ clock }, 1_000);
  const begun: string[] = [];
  const look = (): void => {
    for (const { name, agent } of back)
      if (!begun.includes(name) && agent.commands.some(({ type }) => type === "apply")) begun.push(name);
  };
  look();
  expect(begun).toEqual([]);
  await maintenanceWindows.remove(systemCaller, { id });
  for (let left = 40; left > 0 && begun.length < agents.length; left -= 1) {
    await pass({ clock }, 500);
    look();
  }
  expect(begun).toEqual(["a3", "a2", "a1"]);
  for (const { agent } of back) await agent.link.stop();
});
