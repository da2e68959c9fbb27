/** What is told of a rollout whose agents, or whose groups, are not there any more, and of one that an earlier version made. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { noCounts } from "../../lib/rollouts/progress.ts";
import { memberStatusSchema } from "../../lib/rollouts/schemas.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

/** Has every agent of the scene but the first be one that gets no operation: it was rejected when its turn came. */
async function refuseOthers({ test, agents }: Scene): Promise<void> {
  for (const { nodeId: node_id, agent } of agents.slice(1)) {
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agent.link.stop();
  }
}

const begun = { batch: 1, max_failures: "100%" } as const;

it("agents that got nothing and were removed since are called by their ids, in groups of changes and of runs", async () => {
  await using scene = await createScene(3, undefined, { driftIntervalSeconds: 0 });
  const { agents, rollouts, runs } = scene.test.orchestrator;
  const change = await rollouts.apply(systemCaller, { name: "all", rollout: begun, wait_seconds: 0 });
  const run = await runs.start(systemCaller, {
    selector: "*",
    command: "true",
    rollout: begun,
    wait_seconds: 0,
  });
  await refuseOthers(scene);
  await scene.finish(scene.agents[0]);
  const { operation_id } = await scene.agents[0]!.agent.next("run");
  scene.agents[0]!.agent.link.send({ ...emptyResult(operation_id) });
  await settleAll();
  const [, second, third] = scene.agents;
  await agents.remove(systemCaller, { node_id: third!.nodeId });
  const named = [
    { node_id: second!.nodeId, name: second!.name },
    { node_id: third!.nodeId, name: third!.nodeId },
  ].toSorted((a, b) => (a.node_id < b.node_id ? -1 : 1));
  const inOrder = (members: readonly { node_id: string; name: string }[] = []) =>
    members.toSorted((a, b) => (a.node_id < b.node_id ? -1 : 1));
  const { items } = await rollouts.changes(systemCaller, { rollout_id: change.rollout_id });
  expect(inOrder(items.find(({ outcome }) => outcome === "failed")?.agents)).toEqual(named);
  const { groups } = await runs.get(systemCaller, { rollout_id: run.rollout_id });
  expect(inOrder(groups.find(({ status }) => status === "failed")?.agents)).toEqual(named);
});

it("a group that a process left behind, and that nobody is in, goes when the next one has counted", async () => {
  const scene = await createScene(2, undefined, { driftIntervalSeconds: 0 });
  const { clock, data } = scene;
  const rollout = { batch: 1 };
  const { rollout_id } = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    rollout,
    wait_seconds: 0,
  });
  const changes = "0".repeat(64);
  const group = { rollout_id, changes, agents: 1, outcome: "unknown", status: "unknown", counts: {} };
  const put = { kind: "put", collection: "rollout_groups", key: `${rollout_id}/${changes}` } as const;
  await scene.test.storage.commit([{ ...put, value: group }]);
  for (const { agent } of scene.agents) await agent.link.stop();
  await scene.test.orchestrator.stop();
  const storage = new MemoryStorage({ clock, data });
  await using again = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
  for (let second = 0; second < 3; second += 1) {
    await clock.advance(1_000);
    for (let turn = 0; turn < 8; turn += 1) await settle();
  }
  expect((await again.orchestrator.rollouts.changes(systemCaller, { rollout_id })).items).toEqual([]);
  expect((await storage.list("rollout_groups")).items).toEqual([]);
});

it.each(memberStatusSchema.options)("a rollout of a version that knew no %s counts none", async (status) => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  await scene.finish(scene.agents[0]);
  const stored = (await scene.test.storage.get<{ counts: object }>("rollouts", rollout_id))!;
  const { [status]: _, ...counts } = noCounts();
  const write = { kind: "put", collection: "rollouts", key: rollout_id } as const;
  await scene.test.storage.commit([{ ...write, value: { ...stored.value, counts } }]);
  expect((await rollouts.get(systemCaller, { rollout_id })).counts).toEqual(noCounts());
  expect((await rollouts.list(systemCaller)).items.map((each) => each.counts)).toEqual([noCounts()]);
});
