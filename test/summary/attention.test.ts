/** Each kind of what needs somebody: counted, named, told in its place, and gone when it is put right. */
import { expect, test } from "vitest";
import { systemCaller, type Summary } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { motdDifference } from "../support/motd-difference.ts";
import { createScene, motd, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const summaryOf = ({ test: { orchestrator } }: Scene): Promise<Summary> =>
  orchestrator.summary.get(systemCaller);
const needs = async (scene: Scene): Promise<unknown[]> =>
  (await summaryOf(scene)).attention.map(({ kind, severity, count, agents }) => [
    severity,
    kind,
    count,
    agents.map(({ name }) => name).toSorted(),
  ]);

test("rollouts are counted by how they stand, and those that are paused are told until they go on or end", async () => {
  await using scene = await createScene(2);
  const { rollouts } = scene.test.orchestrator;
  const counts = async () => (await summaryOf(scene)).rollouts;
  const begin = async (batch: number) => {
    const { rollout_id } = await rollouts.apply(systemCaller, {
      name: "all",
      rollout: { batch },
      wait_seconds: 0,
    });
    await settle();
    return { rollout_id };
  };
  const first = await begin(1);
  expect(await counts()).toEqual({ running: 1, paused: 0, stopping: 0 });
  expect(await needs(scene)).toEqual([]);
  await rollouts.pause(systemCaller, first);
  expect(await counts()).toEqual({ running: 0, paused: 1, stopping: 0 });
  expect(await needs(scene)).toEqual([["warning", "paused_rollouts", 1, []]]);
  await rollouts.resume(systemCaller, first);
  expect(await counts()).toEqual({ running: 1, paused: 0, stopping: 0 });
  await rollouts.cancel(systemCaller, first);
  expect(await counts()).toEqual({ running: 0, paused: 0, stopping: 1 });
  expect(await needs(scene)).toEqual([]);
  await scene.finish(scene.agents[0]);
  expect(await counts()).toEqual({ running: 0, paused: 0, stopping: 0 });
});

test("drift checks that failed are told beside drift that was found, with the agents of each", async () => {
  await using scene = await createScene(3);
  const { operations, drift } = scene.test.orchestrator;
  const [one, two, three] = scene.agents;
  for (const member of scene.agents) {
    const applied = operations.apply(systemCaller, { node_id: member.nodeId, modules: ["motd"] });
    await scene.finish(member);
    await applied;
  }
  const check = async (member: typeof one, more: object): Promise<void> => {
    const checked = drift.check(systemCaller, { node_id: member!.nodeId });
    const { operation_id } = await member!.agent.next("check");
    member!.agent.link.send({ ...emptyResult(operation_id), ...more });
    await checked;
  };
  const drifted = { results: [motdDifference] };
  await check(one, drifted);
  await check(two, { status: "failed" });
  await check(three, { status: "failed" });
  expect((await summaryOf(scene)).drift).toEqual({ drifted: 1, failed: 2 });
  expect(await needs(scene)).toEqual([
    ["warning", "drifted_agents", 1, ["a1"]],
    ["warning", "failed_drift_checks", 2, ["a2", "a3"]],
  ]);
  for (const member of scene.agents) await check(member, {});
  expect((await summaryOf(scene)).drift).toEqual({ in_sync: 3 });
  expect(await needs(scene)).toEqual([]);
});

test("what is wrong is told worst first, and of many agents five are named, all of them counted", async () => {
  await using scene = await createScene(7);
  const { operations, modules, agents } = scene.test.orchestrator;
  await modules.upload(systemCaller, { content: motd });
  for (const member of scene.agents) {
    const applied = operations.apply(systemCaller, { node_id: member.nodeId, modules: ["motd"] });
    await scene.finish(member, "failed");
    await applied;
  }
  const { attention } = await summaryOf(scene);
  expect(attention).toMatchObject([{ severity: "critical", kind: "failed_applies", count: 7 }]);
  const names = attention[0]!.agents.map(({ name }) => name);
  expect([names.length, new Set(names).size]).toEqual([5, 5]);
  // What an agent did that is none of the fleet any more needs nobody.
  const gone = scene.agents.slice(0, 4);
  for (const { nodeId: node_id } of gone)
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  expect(await needs(scene)).toEqual([["critical", "failed_applies", 3, ["a5", "a6", "a7"]]]);
});
