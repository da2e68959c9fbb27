/**
 * Canaries and limits of failures where agents get no work that could tell anything.
 *
 * Symptom: a rollout went on to all agents though nothing had been tried on its canary, because the operation there was cancelled while it
 * waited; and one with `max_failures: 1` failed on 25 agents that were away. Cause: a cancelled operation counted as one that had gone
 * well, and agents are begun in groups, between which alone failures were counted.
 */
import { expect, it } from "vitest";
import { systemCaller, type Rollout } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const read = ({ test }: Scene, { rollout_id }: { rollout_id: string }): Promise<Rollout> =>
  test.orchestrator.rollouts.get(systemCaller, { rollout_id });

/** Cancels what waits for an agent. */
async function cancelWaiting({ test }: Scene, { rollout_id }: { rollout_id: string }): Promise<void> {
  const { operations } = test.orchestrator;
  const { items } = await operations.list(systemCaller, { rollout_id });
  for (const { status, operation_id } of items)
    if (status === "queued") await operations.cancel(systemCaller, { operation_id });
  await settleAll();
}

it("a canary that is cancelled before it began ends the rollout", async () => {
  await using scene = await createScene(3);
  await scene.agents[0]!.agent.link.stop();
  const begun = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout: { canary: 1, when_offline: "queue" },
  });
  await settleAll();
  await cancelWaiting(scene, begun);
  expect(await read(scene, begun)).toMatchObject({
    status: "failed",
    reason: "The canary was cancelled before it told anything of the rest.",
    counts: { cancelled: 3, succeeded: 0 },
  });
  expect(scene.asked()).toEqual([]);
});

it("a canary of a plan of which one agent is left out and the other cancelled ends the rollout", async () => {
  await using scene = await createScene(4);
  const { rollouts, agents } = scene.test.orchestrator;
  const planning = await rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
  for (const { agent } of scene.agents) {
    const { operation_id } = await agent.next("plan");
    agent.link.send(emptyResult(operation_id));
    await agent.next("ack");
  }
  await settleAll();
  const [first, second] = scene.agents;
  await agents.setStatus(systemCaller, { node_id: first!.nodeId, status: "rejected" });
  await second!.agent.link.stop();
  await settleAll();
  const begun = await rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    plan_rollout_id: planning.rollout_id,
    rollout: { canary: 2, when_offline: "queue" },
  });
  await settleAll();
  await cancelWaiting(scene, begun);
  expect(await read(scene, begun)).toMatchObject({ status: "failed", counts: { stale: 1, cancelled: 3 } });
  expect(scene.asked()).toEqual([]);
});

it("a canary of which one agent succeeded goes on, whatever was cancelled beside it", async () => {
  await using scene = await createScene(3);
  await scene.agents[0]!.agent.link.stop();
  const begun = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout: { canary: 2, when_offline: "queue" },
  });
  await settleAll();
  await scene.finish(scene.agents[1]);
  await cancelWaiting(scene, begun);
  await scene.finish(scene.agents[2]);
  expect(await read(scene, begun)).toMatchObject({
    status: "partial",
    counts: { cancelled: 1, succeeded: 2 },
  });
});

it("no agent more than may fail is begun among those that are away", async () => {
  await using scene = await createScene(30);
  for (const { agent } of scene.agents) await agent.link.stop();
  await settleAll();
  const begun = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout: { max_failures: 1 },
  });
  await settleAll();
  expect(await read(scene, begun)).toMatchObject({ status: "failed", counts: { failed: 2, cancelled: 28 } });
});

it("no agent more than may fail is begun among those that get no operation", async () => {
  await using scene = await createScene(30);
  for (const { nodeId } of scene.agents.slice(5))
    await scene.test.orchestrator.agents.tags.replace(systemCaller, {
      node_id: nodeId,
      tags: { at: "home" },
    });
  const content = `name: motd\nresources:\n  - { type: file, path: /etc/motd, content: "{{ tags.at }}" }\n`;
  await scene.test.orchestrator.modules.upload(systemCaller, { content });
  const begun = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout: { max_failures: 2, group_by: "at" },
  });
  await settleAll();
  const { counts } = await read(scene, begun);
  expect(counts.failed).toBe(3);
});
