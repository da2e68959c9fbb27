/**
 * What an agent tells late of an apply, when another of the same module was asked for since: both end, whatever happened between, and the
 * machine has what was asked for last.
 */
import { expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { createClockScene, type ClockScene } from "../support/clock-scene.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const newer = `name: motd
resources:
  - { id: motd, type: file, path: /etc/motd, content: newer }
`;

/** Changes the module and applies it. */
async function applyNewer(scene: ClockScene): Promise<Operation> {
  await scene.server.orchestrator.modules.upload(systemCaller, { content: newer });
  const operation = await scene.queue();
  await scene.pass(100);
  return operation;
}

/** What happens while the first apply works. */
const between: Record<string, (scene: ClockScene, first: Operation) => Promise<unknown>> = {
  "its connection is lost": async (scene) => scene.server.transport.disconnect(scene.nodeId, "lost"),
  "its agent is not reached for a while": async (scene) => {
    scene.isDeaf = true;
    await scene.pass(70_000);
    scene.isDeaf = false;
  },
  "its time is over": (scene) => scene.pass(100_000),
  "it is cancelled": ({ server }, { operation_id }) =>
    server.orchestrator.operations.cancel(systemCaller, { operation_id }),
  "the server starts anew": async (scene) => {
    await scene.stopServer();
    await scene.startServer();
  },
  "the server starts anew after its time": async (scene) => {
    await scene.stopServer();
    await scene.pass(100_000);
    await scene.startServer();
  },
};

test.each(Object.keys(between).flatMap((name) => [[name, "before"] as const, [name, "after"] as const]))(
  "%s, and the newer apply is asked for %s that",
  async (name, when) => {
    await using scene = await createClockScene();
    const { promise, resolve } = deferred();
    scene.work = promise;
    const first = await scene.apply({ timeout_seconds: 60 });
    expect(scene.runs).toBe(1);
    const early = when === "before" ? await applyNewer(scene) : null;
    await between[name]!(scene, first);
    await scene.pass(1000);
    const second = early ?? (await applyNewer(scene));
    await scene.pass(100_000);
    resolve();
    await scene.meet();
    await scene.pass(70_000);
    expect(await scene.statusOf(first)).toMatch(/^(?:succeeded|timed_out|cancelled)$/);
    expect(await scene.statusOf(second)).toBe("succeeded");
    expect(new TextDecoder().decode(scene.host.files.readFile("/etc/motd"))).toBe("newer");
    const { operations } = scene.server.orchestrator;
    const { modules } = await operations.believed(systemCaller, { node_id: scene.nodeId });
    expect(modules).toMatchObject([{ name: "motd", revision_applied: 2 }]);
  },
);

/**
 * Symptom: this test hung. Cause: a scripted agent took the question what had become of the first apply, which is its command again, for
 * the second apply, which it never answered.
 */
test.each(["first", "last"] as const)("the late result comes %s", async (order) => {
  await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  await using agent = await connectScriptedAgent(fleet);
  const { nodeId: node_id } = agent;
  const { agents, modules, operations } = fleet.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await modules.upload(systemCaller, { content: newer });
  const input = { node_id, modules: ["motd"] };
  const late = await operations.apply(systemCaller, { ...input, wait_seconds: 0, timeout_seconds: 1 });
  agent.link.send({ type: "reply", id: (await agent.next("apply")).id });
  await settleAll();
  await fleet.clock.advance(40_000);
  expect(await agent.nextQuestion("apply")).toMatchObject({ operation_id: late.operation_id });
  await modules.upload(systemCaller, { content: newer.replace("newer", "newest") });
  const second = operations.apply(systemCaller, input);
  const command = await agent.next("apply");
  agent.link.send({ type: "reply", id: command.id });
  const ids = [late.operation_id, command.operation_id];
  for (const id of order === "first" ? ids : ids.toReversed()) agent.link.send(emptyResult(id));
  expect(await second).toMatchObject({ operation_id: command.operation_id, status: "succeeded" });
  await settleAll();
  const { operation_id } = late;
  expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "succeeded" });
  const { modules: known } = await operations.believed(systemCaller, { node_id });
  expect(known).toMatchObject([{ name: "motd", revision_applied: 2 }]);
});

test("what turns up late of one module is not the newest that is known of its machine", async () => {
  await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  await using agent = await connectScriptedAgent(fleet);
  const { nodeId: node_id } = agent;
  const { agents, modules, operations } = fleet.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  for (const content of [newer, newer.replace("name: motd", "name: web").replaceAll("/etc/motd", "/etc/web")])
    await modules.upload(systemCaller, { content });
  const input = { node_id, wait_seconds: 0 };
  const late = await operations.apply(systemCaller, { ...input, modules: ["motd"], timeout_seconds: 1 });
  agent.link.send({ type: "reply", id: (await agent.next("apply")).id });
  await settleAll();
  await fleet.clock.advance(40_000);
  const { operation_id } = await operations.apply(systemCaller, { ...input, modules: ["web"] });
  agent.link.send({ type: "reply", id: (await agent.next("apply")).id });
  for (const id of [operation_id, late.operation_id]) {
    agent.link.send(emptyResult(id));
    await settleAll();
  }
  expect(await operations.get(systemCaller, { operation_id: late.operation_id })).toMatchObject({
    status: "succeeded",
  });
  const believed = await operations.believed(systemCaller, { node_id });
  expect(believed.modules).toMatchObject([{ revision_applied: 1 }, { revision_applied: 1 }]);
  expect(believed.operation_id).toBe(operation_id);
  expect((await agents.get(systemCaller, { node_id })).last_apply).toMatchObject({ operation_id });
});

test("an agent that is stopping and refuses the question leaves open what became of the operation", async () => {
  await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  await using agent = await connectScriptedAgent(fleet);
  const { nodeId: node_id } = agent;
  const { agents, modules, operations } = fleet.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await modules.upload(systemCaller, { content: newer });
  const input = { node_id, modules: ["motd"], wait_seconds: 0, timeout_seconds: 1 };
  const { operation_id } = await operations.apply(systemCaller, input);
  agent.link.send({ type: "reply", id: (await agent.next("apply")).id });
  await settleAll();
  await fleet.clock.advance(40_000);
  const error = { code: "UNAVAILABLE", message: "It is stopping." };
  agent.link.send({ type: "reply", id: (await agent.nextQuestion("apply")).id, error });
  await settleAll();
  expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "unknown" });
  await agent.link.stop();
  await using again = await connectScriptedAgent(fleet, agent.keys);
  expect(await again.nextQuestion("apply")).toMatchObject({ operation_id });
  again.link.send(emptyResult(operation_id));
  await settleAll();
  expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "succeeded" });
});
