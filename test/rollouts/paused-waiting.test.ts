/** What waits of a rollout that is paused: it begins when somebody resumes it, whatever it waits for, and not before. */
import { expect, it } from "vitest";
import { systemCaller, type RolloutDetail } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { operationDocument } from "../support/operation-document.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { handlesOf } from "../support/two-processes.ts";

const minuteMs = 60_000;

async function pass({ clock }: Pick<Scene, "clock">, ms: number, stepMs = 500): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(left, stepMs));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

type Apply = Parameters<Scene["test"]["orchestrator"]["rollouts"]["apply"]>[1];

const applyAll = ({ test }: Scene, input: Partial<Apply> = {}): Promise<RolloutDetail> =>
  test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0, ...input });

const freeze = ({ test, clock }: Scene): Promise<unknown> =>
  test.orchestrator.maintenanceWindows.create(systemCaller, {
    reason: "disks",
    mode: "freeze",
    selector: "role=web",
    ends_at: new Date(clock.now() + 10 * minuteMs).toISOString(),
  });

const roles = (at: number): Record<string, string> => ({ role: at < 2 ? "web" : "db" });

it("what a window held stays in line after its end, and goes on when the rollout is resumed", async () => {
  await using scene = await createScene(3, roles, { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  await freeze(scene);
  const { rollout_id } = await applyAll(scene);
  await scene.finish(scene.agents[2]);
  await rollouts.pause(systemCaller, { rollout_id });
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "paused", held: 2 });
  await pass(scene, 12 * minuteMs, minuteMs / 2);
  expect(scene.asked()).toEqual(["a3"]);
  const waiting = await rollouts.get(systemCaller, { rollout_id });
  expect(waiting).toMatchObject({ status: "paused", counts: { queued: 2, succeeded: 1 } });
  expect(waiting.held).toBeUndefined();
  await rollouts.resume(systemCaller, { rollout_id });
  await scene.finish(scene.agents[0]);
  await pass(scene, 1_000);
  await scene.finish(scene.agents[1]);
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "succeeded" });
});

it("an agent that comes back meanwhile is left alone, also by the next process", async () => {
  const scene = await createScene(2);
  await scene.agents[0]!.agent.link.stop();
  await pass(scene, 70_000, 5_000);
  const { rollout_id } = await applyAll(scene, { rollout: { when_offline: "queue" } });
  await scene.finish(scene.agents[1]);
  await scene.test.orchestrator.rollouts.pause(systemCaller, { rollout_id });
  const { clock, data } = scene;
  const back = await connectScriptedAgent(scene.test, scene.agents[0]!.keys, clock);
  await pass(scene, 5_000);
  expect(back.commands.map(({ type }) => type)).not.toContain("apply");
  await back.link.stop();
  await scene[Symbol.asyncDispose]();

  await using next = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const again = await connectScriptedAgent(next, scene.agents[0]!.keys, clock);
  await pass(scene, 5_000);
  expect(again.commands.map(({ type }) => type)).not.toContain("apply");
  await next.orchestrator.rollouts.resume(systemCaller, { rollout_id });
  expect(await again.next("apply")).toMatchObject({ type: "apply" });
  await again.link.stop();
});

it("an agent goes on with other work, and not with what is behind it in line", async () => {
  await using scene = await createScene(1);
  const { operations, rollouts } = scene.test.orchestrator;
  const [member] = scene.agents;
  const apply = { node_id: member!.nodeId, modules: ["motd"], wait_seconds: 0 };
  await operations.apply(systemCaller, apply);
  const { rollout_id } = await applyAll(scene);
  await rollouts.pause(systemCaller, { rollout_id });
  const later = await operations.apply(systemCaller, apply);
  await scene.finish(member);
  expect((await scene.finish(member)).operation_id).toBe(later.operation_id);
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ counts: { queued: 1 } });
});

it("what may override a window, and what none holds, waits as well", async () => {
  await using scene = await createScene(3, roles, { driftIntervalSeconds: 0 });
  const { operations, rollouts } = scene.test.orchestrator;
  await freeze(scene);
  const begun = await operations.apply(systemCaller, {
    node_id: scene.agents[0]!.nodeId,
    modules: ["motd"],
    wait_seconds: 0,
    override_window: true,
  });
  const { rollout_id } = await applyAll(scene, { override_window: true });
  const plan = await rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
  for (const id of [rollout_id, plan.rollout_id]) await rollouts.pause(systemCaller, { rollout_id: id });
  expect((await scene.finish(scene.agents[0])).operation_id).toBe(begun.operation_id);
  await pass(scene, 5_000);
  const [of, ofPlan] = await Promise.all(
    [rollout_id, plan.rollout_id].map((id) => rollouts.get(systemCaller, { rollout_id: id })),
  );
  expect([of!.operations[0]!.status, ofPlan!.operations[0]!.status]).toEqual(["queued", "queued"]);
  expect([of!.held, ofPlan!.held]).toEqual([undefined, undefined]);
  await rollouts.resume(systemCaller, { rollout_id });
  await scene.finish(scene.agents[0]);
  expect((await rollouts.get(systemCaller, { rollout_id })).operations[0]!.status).toBe("succeeded");
});

it("what waits for too long says that its rollout was paused, and what is cancelled before ends so", async () => {
  await using scene = await createScene(3, roles, { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  await freeze(scene);
  const rollout = { when_offline: "queue", expires_in_seconds: 900 } as const;
  const ids: string[] = [];
  for (const _ of [1, 2]) {
    const { rollout_id } = await applyAll(scene, { rollout });
    await scene.finish(scene.agents[2]);
    await rollouts.pause(systemCaller, { rollout_id });
    ids.push(rollout_id);
  }
  const [late, ended] = ids as [string, string];
  await pass(scene, 12 * minuteMs, minuteMs / 2);
  await rollouts.cancel(systemCaller, { rollout_id: ended });
  await pass(scene, 4 * minuteMs, minuteMs / 2);
  const read = (rollout_id: string): Promise<RolloutDetail> => rollouts.get(systemCaller, { rollout_id });
  expect(await read(ended)).toMatchObject({ status: "cancelled", counts: { cancelled: 2 } });
  expect((await read(late)).operations[0]).toMatchObject({
    status: "failed",
    error: {
      code: "COMMAND_EXPIRED",
      message: "Its rollout was paused until its time to wait was over.",
    },
  });
  expect(scene.asked()).toEqual(["a3"]);
});

/** A rollout that was paused while its agents had other work, which has ended since. */
async function pausedBehindWork(scene: Scene, input: Partial<Apply> = {}): Promise<string> {
  const { operations, rollouts } = scene.test.orchestrator;
  for (const { nodeId: node_id } of scene.agents)
    await operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  const { rollout_id } = await applyAll(scene, input);
  await rollouts.pause(systemCaller, { rollout_id });
  for (const agent of scene.agents) await scene.finish(agent);
  return rollout_id;
}

it("no more run at once when it is resumed than of any rollout, and none is said to wait for a window", async () => {
  await using scene = await createScene(4, roles, { driftIntervalSeconds: 0, rolloutConcurrency: 2 });
  const { rollouts } = scene.test.orchestrator;
  const rollout_id = await pausedBehindWork(scene);
  const resumed = await rollouts.resume(systemCaller, { rollout_id });
  expect([resumed.held, resumed.counts.running]).toEqual([undefined, 1]);
  await pass(scene, 3_000);
  const { counts } = await rollouts.get(systemCaller, { rollout_id });
  expect(counts).toMatchObject({ running: 2, queued: 0, waiting: 2 });
});

it("those that a window holds once it is resumed take nobody's place", async () => {
  await using scene = await createScene(4, roles, { driftIntervalSeconds: 0, rolloutConcurrency: 2 });
  const { rollouts } = scene.test.orchestrator;
  const rollout_id = await pausedBehindWork(scene);
  await freeze(scene);
  await rollouts.resume(systemCaller, { rollout_id });
  await pass(scene, 1_000);
  const now = await rollouts.get(systemCaller, { rollout_id });
  expect(now).toMatchObject({ held: 2, counts: { running: 2, queued: 2, waiting: 0 } });
});

it("what expires before its turn has come does not blame a window that there never was", async () => {
  await using scene = await createScene(3, roles, { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  const rollout = { when_offline: "queue", expires_in_seconds: 900 } as const;
  const rollout_id = await pausedBehindWork(scene, { rollout });
  await pass(scene, 898_500, minuteMs / 2);
  await rollouts.resume(systemCaller, { rollout_id });
  await pass(scene, 3_000);
  const { operations } = await rollouts.get(systemCaller, { rollout_id });
  expect(operations.map(({ status }) => status)).toEqual(["running", "running", "failed"]);
  expect(operations[2]!.error).toMatchObject({ code: "COMMAND_EXPIRED" });
});

/** A handle of a storage on which something happens behind the first read of the rollouts that are paused. */
function behindFirstRead(storage: Storage, happen: () => Promise<unknown>): Storage {
  let hasHappened = false;
  return new Proxy(storage, {
    get(target, name) {
      if (name !== "list") return Reflect.get(target, name, target) as unknown;
      return async (...[collection, query]: Parameters<Storage["list"]>) => {
        const page = await target.list(collection, query);
        if (collection !== "rollouts" || query?.equals?.[0] !== "paused" || hasHappened) return page;
        hasHappened = true;
        await happen();
        return page;
      };
    },
  });
}

it("a process that starts knows what was resumed while it read what is paused", async () => {
  const handle = handlesOf(new MemoryStorage());
  await using scene = await createScene(2, () => ({}), { storage: handle(), driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  const { rollout_id } = await applyAll(scene, { rollout: { batch: 1 } });
  await rollouts.pause(systemCaller, { rollout_id });
  const resume = (): Promise<unknown> => rollouts.resume(systemCaller, { rollout_id });
  const storage = behindFirstRead(handle(), resume);
  await using second = await createTestOrchestrator({ clock: scene.clock, storage, driftIntervalSeconds: 0 });
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "running" });
  const { held } = servicesOf(second.orchestrator).operations.dispatcher;
  const operation = operationDocument({ node_id: scene.agents[1]!.nodeId, rollout_id, kind: "apply" });
  expect(held.holds(operation)).toBe(false);
  await rollouts.pause(systemCaller, { rollout_id });
  expect(held.holds(operation)).toBe(true);
});
