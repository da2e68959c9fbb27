/** What is asked of a rollout at another member than the one that drives it. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { motd } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";
import { handlesOf } from "../support/two-processes.ts";

/** Two members, and agents that the first one holds. */
async function members(count: number) {
  const clock = new FakeClock();
  const handle = handlesOf(new MemoryStorage({ clock }));
  const begin = async (): Promise<TestOrchestrator> => {
    const options = { clock, storage: handle(), driftIntervalSeconds: 0 };
    const test = await createTestOrchestrator(options);
    onTestFinished(() => test.orchestrator.stop());
    return test;
  };
  const [first, second] = [await begin(), await begin()];
  const agents: ScriptedAgent[] = [];
  for (let at = 1; at <= count; at += 1) {
    const agent = await connectScriptedAgent(first, undefined, clock);
    onTestFinished(() => agent.link.stop());
    const { nodeId: node_id } = agent;
    await first.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: `a${at}` });
    agents.push(agent);
  }
  await first.orchestrator.modules.upload(systemCaller, { content: motd });
  await first.orchestrator.assignments.create(systemCaller, {
    name: "all",
    selector: "*",
    modules: ["motd"],
  });
  const statusOf = async (rollout_id: string) =>
    (await second.orchestrator.rollouts.get(systemCaller, { rollout_id })).status;
  return { clock, first, second, agents, statusOf };
}

const asked = (agents: readonly ScriptedAgent[]): number[] =>
  agents.map(({ commands }) => commands.filter(({ type }) => type === "apply").length);

async function finish(agent: ScriptedAgent): Promise<void> {
  agent.link.send(emptyResult((await agent.next("apply")).operation_id));
  await agent.next("ack");
  await settleAll();
}

/** A rollout of the first member, between its first batch and its second. */
async function betweenBatches() {
  const scene = await members(2);
  const rollout = { batch: 1, pause_seconds: 3_600 };
  const { rollout_id } = await scene.first.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    rollout,
    wait_seconds: 0,
  });
  const [begun, waiting] = scene.agents.toSorted((a, b) => asked([b])[0]! - asked([a])[0]!);
  await finish(begun!);
  return { ...scene, rollout_id, waiting: waiting! };
}

it("a cancel ends it, though nothing more is heard of its agents", async () => {
  const { second, statusOf, rollout_id } = await betweenBatches();
  await second.orchestrator.rollouts.cancel(systemCaller, { rollout_id });
  await settleAll();
  expect(await statusOf(rollout_id)).toBe("cancelled");
});

it("a cancel takes what waits for agents out of their lines", async () => {
  const { first, second, agents, statusOf } = await members(1);
  const { nodeId: node_id } = agents[0]!;
  const busy = await first.orchestrator.operations.apply(systemCaller, { node_id, wait_seconds: 0 });
  const { rollout_id } = await first.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
  });
  await second.orchestrator.rollouts.cancel(systemCaller, { rollout_id });
  await settleAll();
  expect(await statusOf(rollout_id)).toBe("cancelled");
  const { items } = await second.orchestrator.operations.list(systemCaller, { node_id });
  const others = items.filter(({ operation_id }) => operation_id !== busy.operation_id);
  expect(others.map(({ status }) => status)).toEqual(["cancelled"]);
});

it("a pause and a resume have it go on where it was", async () => {
  const { clock, second, agents, statusOf, rollout_id, waiting } = await betweenBatches();
  await second.orchestrator.rollouts.pause(systemCaller, { rollout_id });
  await clock.advance(3_600_000);
  await settleAll();
  expect([asked([waiting]), await statusOf(rollout_id)]).toEqual([[0], "paused"]);
  await second.orchestrator.rollouts.resume(systemCaller, { rollout_id });
  await settleAll();
  await finish(waiting);
  expect([asked(agents), await statusOf(rollout_id)]).toEqual([[1, 1], "succeeded"]);
});

it("a due time begins none while one that another member drives has not ended", async () => {
  const { clock, first, second, agents } = await members(1);
  await second.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  await agents[0]!.next("apply");
  const schedule = { cron: "* * * * *", time_zone: "UTC" };
  // The first member's timers are the first.
  await first.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
  for (let passed = 0; passed < 90; passed += 10) {
    await clock.advance(10_000);
    await settleAll();
  }
  const { items } = await first.orchestrator.rollouts.list(systemCaller);
  expect(items.map(({ trigger }) => trigger)).toEqual(["manual"]);
  const skipped = first.events.filter(({ event_type }) => event_type === "schedule.skipped");
  expect(skipped.length).toBeGreaterThan(0);
});
