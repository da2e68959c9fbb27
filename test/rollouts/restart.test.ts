/** What a rollout does when the process ends at any step of it. */
import { expect, it, describe } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import type { RolloutDetail, Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, motd, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

type Keys = Awaited<ReturnType<typeof connectScriptedAgent>>["keys"];

/** A memory storage that writes so many commits and then none any more, as that of a process that was killed. */
function dyingStorage(clock: FakeClock, data: MemoryData, commits: () => boolean): Storage {
  const storage = new MemoryStorage({ clock, data });
  const commit = storage.commit.bind(storage);
  storage.commit = (writes, options) =>
    commits()
      ? commit(writes, options)
      : Promise.reject(new OrchestratorError("STORAGE_FAILED", { message: "The process was killed." }));
  return storage;
}

/** Answers every apply, each operation once, as an agent's journal does; remembers which there were. */
function answer(agent: ScriptedAgent, seen: Set<string>): void {
  const next = async (): Promise<void> => {
    const { operation_id } = await agent.next("apply");
    seen.add(operation_id);
    agent.link.send(emptyResult(operation_id));
    await next();
  };
  void next();
}

async function untilEnded(test: TestOrchestrator, rolloutId: string): Promise<RolloutDetail> {
  for (let turn = 0; turn < 500; turn += 1) {
    const rollout = await test.orchestrator.rollouts.get(systemCaller, { rollout_id: rolloutId });
    if (!["running", "paused", "stopping"].includes(rollout.status)) return rollout;
    await settle();
  }
  throw new Error("The rollout does not end.");
}

/** Runs a rollout of three agents in batches of two, killed after so many commits; null where it ended before. */
async function runKilled(
  killAfter: number,
): Promise<{ rollout: RolloutDetail | null; seen: Set<string>[] } | null> {
  const clock = new FakeClock();
  const data = new MemoryData();
  let left = Infinity;
  const first = await createTestOrchestrator({
    clock,
    storage: dyingStorage(clock, data, () => left-- > 0),
  });
  const keys: Keys[] = [];
  const links: ScriptedAgent[] = [];
  const seen = Array.from({ length: 3 }, () => new Set<string>());
  for (const each of seen) {
    const agent = await connectScriptedAgent(first);
    await first.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    keys.push(agent.keys);
    links.push(agent);
    answer(agent, each);
  }
  await first.orchestrator.modules.upload(systemCaller, { content: motd });
  await first.orchestrator.assignments.create(systemCaller, {
    name: "all",
    selector: "*",
    modules: ["motd"],
  });
  left = killAfter;
  const call = first.orchestrator.rollouts
    .apply(systemCaller, { name: "all", wait_seconds: 300, rollout: { batch: 2 } })
    .catch(() => null);
  for (let turn = 0; turn < 60; turn += 1) await settle();
  const finished = left >= 0;
  for (const link of links) await link.link.stop();
  await first.orchestrator.stop();
  await call;
  if (finished) return null;

  await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const { items } = await second.orchestrator.rollouts.list(systemCaller);
  if (items.length === 0) return { rollout: null, seen };
  const again = await Promise.all(keys.map((each) => connectScriptedAgent(second, each)));
  again.forEach((agent, at) => answer(agent, seen[at]!));
  const rollout = await untilEnded(second, items[0]!.rollout_id);
  for (const { link } of again) await link.stop();
  return { rollout, seen };
}

describe("a rollout whose process is killed", () => {
  it("after any commit goes on where it was, and gives no agent two operations", async () => {
    let killAfter = 0;
    for (; ; killAfter += 1) {
      const result = await runKilled(killAfter);
      if (!result) break;
      const sizes = result.seen.map((each) => each.size);
      const place = `killed after ${killAfter} commits`;
      expect(sizes, place).toEqual(result.rollout ? [1, 1, 1] : [0, 0, 0]);
      if (result.rollout)
        expect(result.rollout, place).toMatchObject({ status: "succeeded", counts: { succeeded: 3 } });
    }
    // The rollout, its batches, and for each agent that it is begun, sent, its results and its end.
    expect(killAfter).toBeGreaterThan(10);
  });
});

describe("a rollout whose agents are let go because the process ends", () => {
  const idle = () => ({});
  const again = async ({ clock, data, agents }: Scene) => {
    const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    const back = await Promise.all(agents.map(({ keys }) => connectScriptedAgent(test, keys)));
    for (const agent of back) answer(agent, new Set());
    return { test, back };
  };
  const end = async ({ test, back }: Awaited<ReturnType<typeof again>>) => {
    for (const { link } of back) await link.stop();
    await test.orchestrator.stop();
  };

  it("goes on after the start with those that have gone already", async () => {
    const scene = await createScene(2, idle);
    const { orchestrator, transport } = scene.test;
    orchestrator.beginDrain();
    await transport.drain(0);
    await settle();
    const apply = { name: "all", wait_seconds: 0, rollout: { batch: 1 } };
    const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, apply);
    for (let turn = 0; turn < 60; turn += 1) await settle();
    const left = await orchestrator.rollouts.get(systemCaller, { rollout_id });
    expect(left).toMatchObject({ status: "running", counts: { failed: 0 } });
    await scene[Symbol.asyncDispose]();
    const next = await again(scene);
    expect(await untilEnded(next.test, rollout_id)).toMatchObject({ counts: { succeeded: 2 } });
    await end(next);
  });

  it.each([0, 1, 8, 32, 64])(
    "goes on after the start where one ends %d steps before the stop",
    async (steps) => {
      const scene = await createScene(3, idle);
      const { orchestrator } = scene.test;
      const apply = { name: "all", wait_seconds: 0, rollout: { batch: 1 } };
      const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, apply);
      const { agent } = scene.agents[0]!;
      const { operation_id } = await agent.next("apply");
      agent.link.send(emptyResult(operation_id));
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      await orchestrator.stop();
      await scene[Symbol.asyncDispose]();
      const next = await again(scene);
      expect(await untilEnded(next.test, rollout_id)).toMatchObject({ counts: { succeeded: 3 } });
      await end(next);
    },
  );
});

it("agents that were refused before a restart count after it", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const scene = await createScene(3, () => ({}), { clock, storage: new MemoryStorage({ clock, data }) });
  const { agents, rollouts } = scene.test.orchestrator;
  const [a1, a2] = scene.agents;
  const strategy = { batch: 1, max_failures: 5 };
  const { rollout_id, held } = await rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout: strategy,
  });
  expect(held).toBeUndefined();
  await agents.setStatus(systemCaller, { node_id: a2!.nodeId, status: "rejected" });
  await scene.finish(a1);
  const before = await rollouts.get(systemCaller, { rollout_id });
  expect(before).toMatchObject({ status: "running", counts: { succeeded: 1, failed: 1, running: 1 } });
  for (const { agent } of scene.agents) await agent.link.stop();
  await scene.test.orchestrator.stop();
  await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const after = await again.orchestrator.rollouts.get(systemCaller, { rollout_id });
  expect(after.counts).toMatchObject({ succeeded: 1, failed: 1 });
  await again.orchestrator.rollouts.cancel(systemCaller, { rollout_id });
});

it("a cancelled command whose process is killed before an agent was told is ended by the next process", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  let isKilled = false;
  const storage = dyingStorage(clock, data, () => !isKilled);
  const scene = await createScene(1, () => ({}), { clock, storage });
  const { orchestrator } = scene.test;
  const how = { selector: "*", command: ["true"], wait_seconds: 0 };
  const { rollout_id } = await orchestrator.runs.start(systemCaller, how);
  const { agent, keys } = scene.agents[0]!;
  const { operation_id } = await agent.next("run");
  await settle();
  orchestrator.listen(["rollout.cancelled"], () => (isKilled = true));
  const cancelled = await orchestrator.runs.cancel(systemCaller, { rollout_id });
  expect(cancelled).toMatchObject({ status: "stopping" });
  await agent.link.stop();
  await orchestrator.stop().catch(() => {});

  await using next = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const back = await connectScriptedAgent(next, keys);
  expect(await back.next("cancel")).toMatchObject({ operation_id });
  back.link.send({ ...emptyResult(operation_id), status: "cancelled" });
  expect(await untilEnded(next, rollout_id)).toMatchObject({ status: "cancelled" });
  await back.link.stop();
});

it("each pause between batches takes no longer than was asked for, though a wrong clock wrote when the first is over", async () => {
  const scene = await createScene(3);
  const { clock, data, test: first } = scene;
  const apply = { name: "all", wait_seconds: 0, rollout: { batch: 1, pause_seconds: 10 } };
  await first.orchestrator.rollouts.apply(systemCaller, apply);
  await scene.finish(scene.agents[0]);
  const { key, value } = (await first.storage.list<Record<string, number>>("rollouts")).items[0]!;
  expect(value["not_before"]).toBe(clock.now() + 10_000);
  const not_before = clock.now() + 30 * 86_400_000;
  await first.storage.commit([{ kind: "put", collection: "rollouts", key, value: { ...value, not_before } }]);
  await scene[Symbol.asyncDispose]();

  await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const seen = scene.agents.map(() => new Set<string>());
  const links: ScriptedAgent[] = [];
  for (const [at, { keys }] of scene.agents.entries()) {
    const agent = await connectScriptedAgent(second, keys, clock);
    answer(agent, seen[at]!);
    links.push(agent);
  }
  const asked: number[] = [];
  for (const ms of [9_000, 1_000, 9_000, 1_000]) {
    await clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await settle();
    asked.push(seen.filter(({ size }) => size > 0).length);
  }
  expect(asked).toEqual([0, 1, 1, 2]);
  for (const { link } of links) await link.stop();
});
