/** Applying exactly what a rollout planned: where it is not true any more an agent is left out, and nobody else is touched. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { RolloutDetail } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene, motd, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

type Status = Parameters<Scene["finish"]>[1];

/** Plans on all agents, each of which answers with a status. */
async function plan({ test, agents }: Scene, statuses: Status[] = []): Promise<string> {
  const { rollout_id } = await test.orchestrator.rollouts.plan(systemCaller, {
    name: "all",
    wait_seconds: 0,
  });
  await settle();
  for (const [at, { agent }] of agents.entries()) {
    const { operation_id } = await agent.next("plan");
    agent.link.send({ ...emptyResult(operation_id), status: statuses[at] ?? "succeeded" });
    await agent.next("ack");
  }
  await settle();
  await settle();
  return rollout_id;
}

async function apply({ test }: Scene, plan_rollout_id: string, more = {}): Promise<RolloutDetail> {
  const input = { name: "all", plan_rollout_id, wait_seconds: 0, ...more };
  const begun = await test.orchestrator.rollouts.apply(systemCaller, input);
  await settle();
  return begun;
}

const read = ({ test }: Scene, { rollout_id }: RolloutDetail): Promise<RolloutDetail> =>
  test.orchestrator.rollouts.get(systemCaller, { rollout_id });

const standing = ({ operations }: RolloutDetail): Record<string, string> =>
  Object.fromEntries(operations.map(({ name, status }) => [name, status]));

/** Has an agent say that its plan is not true any more. */
async function refuseAsStale({ agent }: SceneAgent): Promise<void> {
  const { operation_id } = await agent.next("apply");
  const error = { code: "PLAN_STALE" as const, message: "Something changed." };
  agent.link.send({ ...emptyResult(operation_id), status: "failed", error });
  await agent.next("ack");
  await settle();
}

describe("a rollout that applies a plan", () => {
  it("goes no further where its plan is true on no agent of the canary", async () => {
    await using scene = await createScene(3);
    const planned = await plan(scene);
    const begun = await apply(scene, planned, { rollout: { canary: 1, max_failures: 0 } });
    await refuseAsStale(scene.agents[0]!);
    await settle();
    expect(await read(scene, begun)).toMatchObject({
      status: "failed",
      reason: "The plan is true on no agent of the canary, so nothing was tried there.",
      counts: { stale: 1, succeeded: 0 },
    });
  });

  it("goes on where one agent of the canary was tried", async () => {
    await using scene = await createScene(3);
    const planned = await plan(scene);
    const begun = await apply(scene, planned, { rollout: { canary: 2 } });
    await refuseAsStale(scene.agents[0]!);
    await scene.finish(scene.agents[1]!);
    await scene.finish(scene.agents[2]!);
    await settle();
    expect(await read(scene, begun)).toMatchObject({ status: "partial", counts: { stale: 1, succeeded: 2 } });
  });

  it("has each agent do what its own plan said", async () => {
    await using scene = await createScene(2);
    const planned = await plan(scene);
    const begun = await apply(scene, planned);
    expect(begun).toMatchObject({ plan_rollout_id: planned, matched: 2 });
    expect(begun.unplanned).toBeUndefined();
    const digests = new Set<string | undefined>();
    for (const agent of scene.agents) digests.add((await scene.finish(agent)).plan_digest);
    expect([...digests]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    const { items } = await scene.test.orchestrator.operations.list(systemCaller, { kind: "apply" });
    const plans = await scene.test.orchestrator.operations.list(systemCaller, { kind: "plan" });
    expect(items.map(({ plan_id }) => plan_id).toSorted()).toEqual(
      plans.items.map(({ operation_id }) => operation_id).toSorted(),
    );
    expect(await read(scene, begun)).toMatchObject({
      status: "succeeded",
      recap: { unchanged: 2, stale: 0 },
    });
  });

  it("leaves out and names those on which it is not true any more, which stops nobody else", async () => {
    await using scene = await createScene(6, (at) => ({ site: at === 4 ? "away" : "here" }));
    const { agents, assignments } = scene.test.orchestrator;
    await assignments.update(systemCaller, { name: "all", selector: "site" });
    const [a1, a2, a3, a4, a5, a6] = scene.agents as SceneAgent[];
    const planned = await plan(scene, [undefined, "failed"]);
    // The plan failed on a2; a3 is rejected, a4 removed, a5 does not match any more.
    await agents.setStatus(systemCaller, { node_id: a3!.nodeId, status: "rejected" });
    await agents.setStatus(systemCaller, { node_id: a4!.nodeId, status: "rejected" });
    await agents.remove(systemCaller, { node_id: a4!.nodeId });
    await agents.tags.replace(systemCaller, { node_id: a5!.nodeId, tags: {} });
    await using late = await connectScriptedAgent(scene.test, undefined, scene.clock);
    await agents.setStatus(systemCaller, { node_id: late.nodeId, status: "approved", name: "late" });
    await agents.tags.replace(systemCaller, { node_id: late.nodeId, tags: { site: "here" } });

    const begun = await apply(scene, planned, { rollout: { batch: 1, max_failures: 0 } });
    expect(begun.unplanned).toEqual({ count: 1, agents: [{ node_id: late.nodeId, name: "late" }] });
    await scene.finish(a1);
    // The machine of a6 is not as it was: its agent refuses.
    const { operation_id } = await a6!.agent.next("apply");
    const error = { code: "PLAN_STALE", message: "The machine is not as it was." } as const;
    a6!.agent.link.send({ ...emptyResult(operation_id), status: "failed", error });
    await a6!.agent.next("ack");
    await settle();
    await settle();

    const ended = await read(scene, begun);
    expect(standing(ended)).toEqual({
      a1: "succeeded",
      a2: "stale",
      a3: "stale",
      a4: "stale",
      a5: "stale",
      a6: "stale",
    });
    expect(ended).toMatchObject({ status: "partial", counts: { stale: 5, failed: 0 }, recap: { stale: 5 } });
    expect(ended.reason).toBeUndefined();
    const stale = await scene.test.orchestrator.rollouts.agents(systemCaller, {
      rollout_id: begun.rollout_id,
      status: "stale",
    });
    expect(stale.items.every(({ error: why }) => why?.code === "PLAN_STALE")).toBe(true);
    expect(scene.asked()).toEqual(["a1", "a6"]);
    expect(late.commands.filter(({ type }) => type === "apply")).toEqual([]);
    expect(a2!.agent.commands.filter(({ type }) => type === "apply")).toEqual([]);
  });

  it("counts all that are not in its plan, and names the first of them", async () => {
    await using scene = await createScene(22, (at) => (at === 0 ? { site: "here" } : {}));
    const { assignments } = scene.test.orchestrator;
    await assignments.update(systemCaller, { name: "all", selector: "site" });
    const planned = await plan({ ...scene, agents: scene.agents.slice(0, 1) });
    await assignments.update(systemCaller, { name: "all", selector: "*" });
    const { matched, unplanned } = await apply(scene, planned);
    expect([matched, unplanned?.count, unplanned?.agents.length]).toEqual([1, 21, 20]);
  });

  it("is refused where there is no such plan of the assignment, or it has not ended, or told nothing", async () => {
    await using scene = await createScene(1);
    const { rollouts, assignments } = scene.test.orchestrator;
    await assignments.create(systemCaller, { name: "other", selector: "*", modules: ["motd"] });
    const planned = await plan(scene);
    const other = rollouts.apply(systemCaller, { name: "other", plan_rollout_id: planned });
    await expect(other).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: `Rollout ${planned} is no plan of assignment other; it is a plan of all.`,
    });
    const none = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
    await expect(apply(scene, none)).rejects.toMatchObject({ code: "NOT_FOUND" });
    const open = await rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
    await expect(apply(scene, open.rollout_id)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: "The plan has not ended; make another.",
    });
    await rollouts.cancel(systemCaller, { rollout_id: open.rollout_id });
    await expect(apply(scene, open.rollout_id)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    const applied = await apply(scene, planned);
    await expect(apply(scene, applied.rollout_id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("is refused where the assignment brings another revision, or other modules, than the plan", async () => {
    await using scene = await createScene(1);
    const { modules, assignments } = scene.test.orchestrator;
    const planned = await plan(scene);
    await modules.upload(systemCaller, { content: motd.replace("hi", "hello") });
    await expect(apply(scene, planned)).rejects.toMatchObject({
      code: "PLAN_STALE",
      message: "The plan is not true any more: it is of motd@1, and the assignment brings motd@2 now.",
    });
    await assignments.update(systemCaller, { name: "all", modules: ["motd@1"] });
    expect(await apply(scene, planned)).toMatchObject({ status: "running" });
  });

  it("is refused where what the plan said is not kept any more", async () => {
    await using scene = await createScene(1);
    const planned = await plan(scene);
    const { items } = await scene.test.storage.list("operations");
    await scene.test.storage.commit(
      items.map(({ key }) => ({ kind: "delete", collection: "operations", key })),
    );
    await expect(apply(scene, planned)).rejects.toMatchObject({
      code: "PLAN_STALE",
      message: "The plan is not true any more: it is too old, and what it said is not kept any more.",
    });
  });

  it("of one agent alone may be applied by the operation, too", async () => {
    await using scene = await createScene(2);
    await plan(scene);
    const { operations } = scene.test.orchestrator;
    const node_id = scene.agents[0]!.nodeId;
    const { items } = await operations.list(systemCaller, { kind: "plan", node_id });
    const plan_id = items[0]!.operation_id;
    expect(await operations.apply(systemCaller, { node_id, plan_id, wait_seconds: 0 })).toMatchObject({
      plan_id,
      scope: ["motd"],
    });
  });
});

it("events of operations name the rollout that they belong to, and a stream can be of it alone", async () => {
  await using scene = await createScene(1);
  const ended = new AbortController();
  const begun = await scene.test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  const { rollout_id } = begun;
  const stream = scene.test.orchestrator.events.stream(systemCaller, { rollout_id }, ended.signal);
  const first = await stream.next();
  expect(first.value).toMatchObject({ item: { type: "position" } });
  await scene.test.orchestrator.operations.apply(systemCaller, {
    node_id: scene.agents[0]!.nodeId,
    wait_seconds: 0,
  });
  await settle();
  await scene.finish(scene.agents[0]);
  const told: string[] = [];
  while (told.at(-1) !== "rollout.finished") {
    const { value } = await stream.next();
    if (value?.item.type === "event") told.push(value.item.event.event_type);
  }
  ended.abort();
  expect(told).toEqual(["operation.finished", "rollout.finished"]);
  const requested = scene.test.events.filter(({ event_type }) => event_type === "operation.requested");
  expect(requested.map(({ metadata }) => (metadata as { rollout_id?: string }).rollout_id)).toEqual([
    rollout_id,
    undefined,
  ]);
});
