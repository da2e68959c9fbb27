import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { RolloutDetail } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, motd, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const apply = async (
  { test }: Scene,
  rollout: NonNullable<Parameters<typeof test.orchestrator.rollouts.apply>[1]["rollout"]> = {},
): Promise<RolloutDetail> => {
  const begun = await test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 0,
    rollout,
  });
  await settle();
  return begun;
};

const read = ({ test }: Scene, { rollout_id }: { rollout_id: string }): Promise<RolloutDetail> =>
  test.orchestrator.rollouts.get(systemCaller, { rollout_id });

const eventsOf = ({ test }: Scene): string[] =>
  test.events.map((event) => event.event_type).filter((type) => type.startsWith("rollout."));

describe("a rollout in batches", () => {
  it("begins a batch when the one before has ended, and tells how far it is", async () => {
    await using scene = await createScene(5);
    const [a1, a2, a3, a4, a5] = scene.agents;
    const begun = await apply(scene, { batch: 2 });
    expect(begun).toMatchObject({ status: "running", batch: 1, batches: 3, matched: 5 });
    expect(scene.asked()).toEqual(["a1", "a2"]);
    await scene.finish(a1);
    expect(scene.asked()).toEqual(["a1", "a2"]);
    expect((await read(scene, begun)).counts).toMatchObject({ succeeded: 1, running: 1, waiting: 3 });
    await scene.finish(a2);
    expect(scene.asked()).toEqual(["a1", "a2", "a3", "a4"]);
    await scene.finish(a3);
    await scene.finish(a4);
    await scene.finish(a5);
    const ended = await read(scene, begun);
    expect(ended).toMatchObject({ status: "succeeded", batch: 3, counts: { succeeded: 5, waiting: 0 } });
    expect(ended.operations.map(({ name, batch }) => [name, batch])).toEqual([
      ["a1", 1],
      ["a2", 1],
      ["a3", 2],
      ["a4", 2],
      ["a5", 3],
    ]);
    expect(eventsOf(scene)).toEqual(["rollout.started", "rollout.finished"]);
    expect((await scene.test.orchestrator.rollouts.list(systemCaller)).items).toMatchObject([
      { rollout_id: begun.rollout_id, status: "succeeded", counts: { succeeded: 5 } },
    ]);
  });

  it("ends after a failing canary, however many failures it may have: the others are cancelled, with the reason", async () => {
    await using scene = await createScene(4);
    const begun = await apply(scene, { canary: 1, max_failures: 3 });
    expect(scene.asked()).toEqual(["a1"]);
    await scene.finish(scene.agents[0], "failed");
    const ended = await read(scene, begun);
    const reason = "The canary failed on 1 of 1 agents.";
    expect(ended).toMatchObject({ status: "failed", reason, counts: { failed: 1, cancelled: 3 } });
    expect(ended.operations.slice(1).map(({ status, error }) => ({ status, error }))).toEqual(
      Array.from({ length: 3 }, () => ({
        status: "cancelled",
        error: { code: "CANCELLED", message: reason },
      })),
    );
    expect(scene.asked()).toEqual(["a1"]);
    expect(eventsOf(scene)).toEqual(["rollout.started", "rollout.stopped", "rollout.finished"]);
  });

  it("goes on after a canary that succeeds, with all the others at once", async () => {
    await using scene = await createScene(4);
    await apply(scene, { canary: 1 });
    await scene.finish(scene.agents[0]);
    expect(scene.asked()).toEqual(["a1", "a2", "a3", "a4"]);
  });

  it("ends after the batch in which too many failed, by a number over all batches", async () => {
    await using scene = await createScene(6);
    const [a1, a2, a3, a4] = scene.agents;
    const begun = await apply(scene, { batch: 2, max_failures: 1 });
    await scene.finish(a1, "failed");
    await scene.finish(a2);
    await scene.finish(a3, "partial");
    await scene.finish(a4);
    expect(await read(scene, begun)).toMatchObject({
      status: "failed",
      reason: "2 of 4 agents failed up to batch 2 of 3; 1 may.",
      counts: { failed: 1, partial: 1, succeeded: 2, cancelled: 2 },
    });
  });

  it("begins nothing further within a batch once a number of failures is passed, and lets the rest of it end", async () => {
    await using scene = await createScene(6, () => ({}), { rolloutConcurrency: 3 });
    const [a1, a2, a3, a4] = scene.agents;
    const begun = await apply(scene, { max_failures: 0 });
    expect(scene.asked()).toEqual(["a1", "a2", "a3"]);
    await scene.finish(a1);
    expect(scene.asked()).toEqual(["a1", "a2", "a3", "a4"]);
    await scene.finish(a2, "failed");
    expect(await read(scene, begun)).toMatchObject({
      status: "stopping",
      counts: { running: 2, cancelled: 2 },
    });
    await scene.finish(a3);
    await scene.finish(a4);
    expect(await read(scene, begun)).toMatchObject({ status: "failed", counts: { succeeded: 3, failed: 1 } });
    expect(scene.asked()).toHaveLength(4);
  });

  it("waits between two batches, and says until when", async () => {
    await using scene = await createScene(2);
    const begun = await apply(scene, { batch: 1, pause_seconds: 10 });
    expect(begun.next_batch_at).toBeUndefined();
    await scene.finish(scene.agents[0]);
    const until = new Date(scene.clock.now() + 10_000).toISOString();
    expect(await read(scene, begun)).toMatchObject({ status: "running", batch: 2, next_batch_at: until });
    await scene.clock.advance(9_000);
    expect(scene.asked()).toEqual(["a1"]);
    await scene.clock.advance(1_000);
    expect(scene.asked()).toEqual(["a1", "a2"]);
    expect((await read(scene, begun)).next_batch_at).toBeUndefined();
  });

  it("never has two values of a tag in one batch", async () => {
    const sites = ["paris", "oslo", "paris", "oslo", "oslo"];
    await using scene = await createScene(6, (at): Record<string, string> => {
      const site = sites[at];
      return site === undefined ? {} : { site };
    });
    const begun = await apply(scene, { group_by: "site", batch: 2 });
    const batches = (await read(scene, begun)).operations.map(({ name, batch }) => `${batch} ${name}`);
    expect(batches).toEqual(["1 a6", "2 a2", "2 a4", "3 a5", "4 a1", "4 a3"]);
    expect(scene.asked()).toEqual(["a6"]);
  });

  it("takes what the assignment says, and what a call says otherwise", async () => {
    await using scene = await createScene(3);
    const { assignments, rollouts } = scene.test.orchestrator;
    const rollout = { batch: "50%", max_failures: 2, order: "node_id" } as const;
    await assignments.update(systemCaller, { name: "all", rollout });
    expect((await assignments.get(systemCaller, { name: "all" })).rollout).toEqual(rollout);
    expect(await apply(scene, { batch: 3 })).toMatchObject({
      batches: 1,
      rollout: { ...rollout, batch: 3 },
    });
    for (const each of scene.agents) await scene.finish(each);
    expect(await apply(scene)).toMatchObject({ batches: 3, rollout });
    await assignments.update(systemCaller, { name: "all", rollout: null });
    expect((await assignments.get(systemCaller, { name: "all" })).rollout).toBeUndefined();
    const plan = await rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
    expect(plan).toMatchObject({ kind: "plan", batches: 1 });
  });

  it("gives every batch the revisions of the call, whatever is uploaded meanwhile", async () => {
    await using scene = await createScene(2);
    const begun = await apply(scene, { batch: 1 });
    expect(begun.modules).toEqual([{ name: "motd", revision: 1 }]);
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: untested }\n";
    await scene.test.orchestrator.modules.upload(systemCaller, { content });
    await scene.finish(scene.agents[0]);
    const second = await scene.agents[1]!.agent.next("apply");
    expect(JSON.stringify(second.resources)).not.toContain("untested");
    const { items } = await scene.test.orchestrator.operations.list(systemCaller);
    expect(items.map(({ modules }) => modules)).toEqual([begun.modules, begun.modules]);
  });

  it("goes to those that matched at the time of the call, also where they do not match any more", async () => {
    await using scene = await createScene(2, () => ({ role: "web" }));
    const { assignments, agents } = scene.test.orchestrator;
    await assignments.update(systemCaller, { name: "all", selector: "role=web" });
    await apply(scene, { batch: 1 });
    await agents.tags.replace(systemCaller, { node_id: scene.agents[1]!.nodeId, tags: {} });
    await scene.finish(scene.agents[0]);
    expect((await scene.agents[1]!.agent.next("apply")).resources).toHaveLength(1);
  });
});

describe("an agent of a rollout", () => {
  it("that is away fails, or is waited for where the strategy says so", async () => {
    await using scene = await createScene(2);
    await scene.agents[0]!.agent.link.stop();
    await settle();
    const failing = await apply(scene);
    await scene.finish(scene.agents[1]);
    expect(await read(scene, failing)).toMatchObject({
      status: "partial",
      operations: [
        { name: "a1", status: "failed", error: { code: "AGENT_OFFLINE" } },
        { status: "succeeded" },
      ],
    });
    const waiting = await apply(scene, { batch: 1, when_offline: "queue", expires_in_seconds: 600 });
    expect(await read(scene, waiting)).toMatchObject({ counts: { queued: 1, waiting: 1 } });
    await scene.clock.advance(601_000);
    expect(await read(scene, waiting)).toMatchObject({
      status: "failed",
      counts: { failed: 1, cancelled: 1 },
    });
  });

  it("for which no operation can be made has failed, with the reason, and keeps nobody else from theirs", async () => {
    await using scene = await createScene(2, (at) => ({ os: at === 0 ? "plan9" : "linux" }));
    const { modules } = scene.test.orchestrator;
    await modules.upload(systemCaller, {
      content: 'name: motd\nsupports: ["os=linux"]\nresources:\n  - { type: file, path: /m, content: hi }\n',
    });
    const begun = await apply(scene);
    await scene.finish(scene.agents[1]);
    const ended = await read(scene, begun);
    expect(ended).toMatchObject({ status: "partial", counts: { failed: 1, succeeded: 1 } });
    expect(ended.operations[0]).toMatchObject({ status: "failed", error: { code: "AGENT_UNSUPPORTED" } });
    expect(ended.operations[0]).not.toHaveProperty("operation_id");
  });

  it("that turns up after the rollout has ended is counted as what it came to", async () => {
    await using scene = await createScene(1);
    const begun = await apply(scene);
    const [member] = scene.agents;
    const { operation_id } = await member!.agent.next("apply");
    await member!.agent.link.stop();
    await scene.clock.advance(3_600_000);
    expect(await read(scene, begun)).toMatchObject({ status: "failed", counts: { unknown: 1 } });
    await using again = await connectScriptedAgent(scene.test, member!.keys);
    again.link.send(emptyResult(operation_id));
    await again.next("ack");
    await settle();
    expect((await read(scene, begun)).counts).toMatchObject({ unknown: 0, succeeded: 1 });
  });
});

describe("a rollout that somebody stops", () => {
  it("begins nothing while it is paused, and goes on when it is resumed", async () => {
    await using scene = await createScene(2);
    const { rollouts } = scene.test.orchestrator;
    const begun = await apply(scene, { batch: 1 });
    expect((await rollouts.pause(systemCaller, idOf(begun))).status).toBe("paused");
    await scene.finish(scene.agents[0]);
    expect(scene.asked()).toEqual(["a1"]);
    await expect(rollouts.pause(systemCaller, idOf(begun))).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    expect((await rollouts.resume(systemCaller, idOf(begun))).status).toBe("running");
    await scene.finish(scene.agents[1]);
    expect((await read(scene, begun)).status).toBe("succeeded");
    await expect(rollouts.resume(systemCaller, idOf(begun))).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    expect(eventsOf(scene).slice(1)).toEqual(["rollout.paused", "rollout.resumed", "rollout.finished"]);
  });

  it("cancels what has not started, takes what is in line out of it, and lets end what runs", async () => {
    await using scene = await createScene(3);
    await scene.agents[1]!.agent.link.stop();
    await settle();
    const { caller } = await scene.test.signIn("Operator", "olga");
    const begun = await apply(scene, { batch: 2, when_offline: "queue" });
    const cancelled = await scene.test.orchestrator.rollouts.cancel(caller, idOf(begun));
    const reason = "The rollout was cancelled by olga.";
    expect(cancelled).toMatchObject({
      status: "stopping",
      reason,
      operations: [
        { status: "running" },
        { status: "cancelled" },
        { status: "cancelled", error: { code: "CANCELLED", message: reason } },
      ],
    });
    await scene.finish(scene.agents[0]);
    expect(await read(scene, begun)).toMatchObject({
      status: "cancelled",
      reason,
      counts: { succeeded: 1, cancelled: 2 },
    });
    const late = scene.test.orchestrator.rollouts.cancel(caller, idOf(begun));
    await expect(late).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });
});

describe("rollouts", () => {
  it("are listed newest first, page by page, by assignment and by status", async () => {
    await using scene = await createScene(1);
    const { rollouts } = scene.test.orchestrator;
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      ids.unshift((await apply(scene)).rollout_id);
      if (count < 2) await scene.finish(scene.agents[0]);
    }
    const first = await rollouts.list(systemCaller, { assignment: "all", limit: 2 });
    const second = await rollouts.list(systemCaller, {
      assignment: "all",
      limit: 2,
      cursor: first.next_cursor!,
    });
    expect([...first.items, ...second.items].map(({ rollout_id }) => rollout_id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
    const running = await rollouts.list(systemCaller, { status: "running" });
    expect(running.items.map(({ rollout_id }) => rollout_id)).toEqual([ids[0]]);
    expect((await rollouts.list(systemCaller, { assignment: "other" })).items).toEqual([]);
    const unknown = rollouts.get(systemCaller, { rollout_id: "019b0000-0000-7000-8000-000000000000" });
    await expect(unknown).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

function idOf({ rollout_id }: { rollout_id: string }): { rollout_id: string } {
  return { rollout_id };
}

it("keeps its modules from being removed until it has ended, also where its assignment is gone", async () => {
  await using scene = await createScene(2);
  const { rollouts, assignments, modules } = scene.test.orchestrator;
  const rollout = { batch: 1 };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  await rollouts.pause(systemCaller, { rollout_id });
  await assignments.remove(systemCaller, { name: "all" });
  await expect(modules.remove(systemCaller, { name: "motd" })).rejects.toMatchObject({
    code: "IN_USE",
    details: { used_by: [`rollout ${rollout_id}`] },
  });
  await rollouts.cancel(systemCaller, { rollout_id });
  await scene.finish(scene.agents[0]);
  await modules.remove(systemCaller, { name: "motd" });
  expect((await modules.list(systemCaller)).items).toEqual([]);
});

/** A storage in which something happens right before a rollout is stored. */
class InterruptedStorage extends MemoryStorage {
  before: (() => Promise<unknown>) | null = null;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    const { before } = this;
    if (before && args[0].some((write) => write.kind === "put" && write.collection === "rollouts")) {
      this.before = null;
      await before();
    }
    return super.commit(...args);
  }
}

it("never begins with a module that is removed in the same moment, and takes one that is uploaded then", async () => {
  const clock = new FakeClock();
  const storage = new InterruptedStorage({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage });
  const { assignments, modules, rollouts } = scene.test.orchestrator;
  const apply = () => rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  storage.before = () => modules.upload(systemCaller, { content: motd.replace("hi", "ho") });
  expect(await apply()).toMatchObject({ modules: [{ name: "motd", revision: 2 }] });
  await scene.finish(scene.agents[0]);
  storage.before = async () => {
    await assignments.remove(systemCaller, { name: "all" });
    await modules.remove(systemCaller, { name: "motd" });
  };
  await expect(apply()).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await rollouts.list(systemCaller)).items).toHaveLength(1);
});
