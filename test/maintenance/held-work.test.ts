/** What a freeze does to what would begin on agents, from the call to the command that they are sent. */
import { describe, expect, it, vi } from "vitest";
import { systemCaller, type MaintenanceWindow, type Operation, type RolloutDetail } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const minuteMs = 60_000;

async function pass({ clock }: Pick<Scene, "clock">, ms: number, stepMs = 500): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(left, stepMs));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

type NewWindow = Parameters<TestOrchestrator["orchestrator"]["maintenanceWindows"]["create"]>[1];

function freeze(
  { test, clock }: Pick<Scene, "test" | "clock">,
  of: Partial<NewWindow> & { minutes?: number } = {},
): Promise<MaintenanceWindow> {
  const { minutes = 10, ...input } = of;
  const ends_at = new Date(clock.now() + minutes * minuteMs).toISOString();
  const window = { reason: "the database moves", mode: "freeze" as const, ends_at, ...input };
  return test.orchestrator.maintenanceWindows.create(systemCaller, window);
}

const end = ({ test, clock }: Scene, { id }: { id: string }): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.update(systemCaller, {
    id,
    ends_at: new Date(clock.now()).toISOString(),
  });

const applyAll = (
  { test }: Scene,
  input: Partial<Parameters<TestOrchestrator["orchestrator"]["rollouts"]["apply"]>[1]> = {},
): Promise<RolloutDetail> =>
  test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0, ...input });

const applyOne = (
  { test, agents }: Scene,
  input: Partial<Parameters<TestOrchestrator["orchestrator"]["operations"]["apply"]>[1]> = {},
): Promise<Operation> =>
  test.orchestrator.operations.apply(systemCaller, {
    node_id: agents[0]!.nodeId,
    wait_seconds: 0,
    modules: ["motd"],
    ...input,
  });

const roles = (at: number): Record<string, string> => ({ role: at % 2 === 0 ? "web" : "db" });
const typesOf = ({ test }: Scene, part: string): string[] =>
  test.events.map(({ event_type }) => event_type as string).filter((type) => type.startsWith(part));

describe("an apply of one agent in a freeze", () => {
  it("is refused, with the window and its end; a plan and a drift check are not", async () => {
    await using scene = await createScene(1);
    const window = await freeze(scene);
    const details = { window_id: window.id, until: window.ends_at };
    await expect(applyOne(scene)).rejects.toMatchObject({ code: "MAINTENANCE_WINDOW", details });
    await expect(applyOne(scene, { when_offline: "queue" })).rejects.toMatchObject({ details });
    const { operations } = scene.test.orchestrator;
    await operations.plan(systemCaller, {
      node_id: scene.agents[0]!.nodeId,
      wait_seconds: 0,
      modules: ["motd"],
    });
    expect((await scene.agents[0]!.agent.next("plan")).type).toBe("plan");
    await pass(scene, 10 * minuteMs, minuteMs);
    expect((await applyOne(scene)).status).toBe("queued");
  });

  it("names the window that ends last, where several hold it", async () => {
    await using scene = await createScene(1, roles);
    await freeze(scene, { minutes: 5 });
    const longest = await freeze(scene, { minutes: 30, selector: "role=web" });
    await freeze(scene, { minutes: 60, selector: "role=db" });
    await freeze(scene, { minutes: 60, mode: "mute" });
    await expect(applyOne(scene)).rejects.toMatchObject({ details: { window_id: longest.id } });
  });

  it("begins where an Admin has it override windows, and that is recorded; nobody else may", async () => {
    await using scene = await createScene(1);
    const window = await freeze(scene);
    const { operations } = scene.test.orchestrator;
    const node_id = scene.agents[0]!.nodeId;
    const input = { node_id, modules: ["motd"], wait_seconds: 0, override_window: true };
    const operator = await scene.test.signIn("Operator");
    await expect(operations.apply(operator.caller, input)).rejects.toMatchObject({ code: "FORBIDDEN" });
    const admin = await scene.test.signIn("Admin");
    expect(await operations.apply(admin.caller, input)).toMatchObject({ override_window: true });
    await scene.finish(scene.agents[0]);
    expect(
      scene.test.events.filter(({ event_type }) => event_type === "maintenance.overridden"),
    ).toMatchObject([
      {
        actor: { name: "admin" },
        target: { type: "agent", id: node_id },
        metadata: { window_id: window.id, kind: "apply", matched: 1 },
      },
    ]);
    expect(typesOf(scene, "access.denied")).toHaveLength(1);
  });

  it("that waits for its agent when a window begins is held when the agent comes, and begins after it", async () => {
    await using scene = await createScene(1);
    const [member] = scene.agents;
    await member!.agent.link.stop();
    const asked = await applyOne(scene, { when_offline: "queue", expires_in_seconds: 3600 });
    const window = await freeze(scene);
    const agent = await connectScriptedAgent(scene.test, member!.keys, scene.clock);
    await pass(scene, minuteMs, minuteMs);
    const { operations } = scene.test.orchestrator;
    const read = (): Promise<Operation> => operations.get(systemCaller, { operation_id: asked.operation_id });
    expect(await read()).toMatchObject({
      status: "queued",
      held_by: { window_id: window.id, until: window.ends_at },
    });
    expect(agent.commands).toEqual([]);
    await pass(scene, 9 * minuteMs, minuteMs);
    expect((await agent.next("apply")).operation_id).toBe(asked.operation_id);
    expect((await read()).held_by).toBeUndefined();
    await agent.link.stop();
  });

  it("expires while it is held, and says why", async () => {
    await using scene = await createScene(1);
    const [member] = scene.agents;
    await member!.agent.link.stop();
    const asked = await applyOne(scene, { when_offline: "queue", expires_in_seconds: 120 });
    await freeze(scene);
    await pass(scene, 3 * minuteMs, minuteMs);
    const ended = await scene.test.orchestrator.operations.get(systemCaller, {
      operation_id: asked.operation_id,
    });
    expect(ended).toMatchObject({ status: "failed", error: { code: "MAINTENANCE_WINDOW" } });
  });

  it("goes on where it ran when the window began", async () => {
    await using scene = await createScene(1);
    const asked = await applyOne(scene);
    await settle();
    await freeze(scene);
    await scene.finish(scene.agents[0]);
    expect(
      await scene.test.orchestrator.operations.get(systemCaller, { operation_id: asked.operation_id }),
    ).toMatchObject({
      status: "succeeded",
    });
  });
});

describe("an apply of many agents in a freeze", () => {
  it("is refused where all are frozen, begins where an Admin overrides", async () => {
    await using scene = await createScene(2);
    const window = await freeze(scene);
    await expect(applyAll(scene)).rejects.toMatchObject({ details: { window_id: window.id } });
    expect((await applyAll(scene, { override_window: true })).override_window).toBe(true);
    await settle();
    expect(scene.asked()).toEqual(["a1", "a2"]);
  });

  it("goes through the others and holds those that are frozen, visibly; they begin when it ends", async () => {
    await using scene = await createScene(4, roles, { rolloutConcurrency: 1, driftIntervalSeconds: 0 });
    const window = await freeze(scene, { selector: "role=web" });
    const begun = await applyAll(scene);
    await scene.finish(scene.agents[1]);
    await scene.finish(scene.agents[3]);
    expect(scene.asked()).toEqual(["a2", "a4"]);
    const read = (): Promise<RolloutDetail> =>
      scene.test.orchestrator.rollouts.get(systemCaller, { rollout_id: begun.rollout_id });
    const held = await read();
    expect(held).toMatchObject({ status: "running", held: 2, counts: { queued: 2, succeeded: 2 } });
    expect(held.operations[0]).toMatchObject({ held_by: { window_id: window.id, until: window.ends_at } });
    await pass(scene, 10 * minuteMs, minuteMs);
    expect(scene.asked()).toEqual(["a1", "a2", "a4"]);
    await scene.finish(scene.agents[0]);
    await pass(scene, 2_000);
    await scene.finish(scene.agents[2]);
    const ended = await read();
    expect(ended).toMatchObject({ status: "succeeded", counts: { succeeded: 4 } });
    expect(ended.held).toBeUndefined();
  });

  it("waits with the next batch for those of this one that are held", async () => {
    await using scene = await createScene(2, roles);
    const window = await freeze(scene, { selector: "role=web" });
    await applyAll(scene, { rollout: { canary: 1 } });
    await settle();
    expect(scene.asked()).toEqual([]);
    await end(scene, window);
    await pass(scene, 1_000);
    await scene.finish(scene.agents[0]);
    expect(scene.asked()).toEqual(["a1", "a2"]);
  });

  it("may be cancelled while it is held", async () => {
    await using scene = await createScene(2, roles);
    await freeze(scene, { selector: "role=web" });
    const begun = await applyAll(scene);
    await scene.finish(scene.agents[1]);
    const { rollouts } = scene.test.orchestrator;
    await rollouts.cancel(systemCaller, { rollout_id: begun.rollout_id });
    await settle();
    const ended = await rollouts.get(systemCaller, { rollout_id: begun.rollout_id });
    expect(ended).toMatchObject({ status: "cancelled", counts: { cancelled: 1, succeeded: 1 } });
  });

  it("begins what was held in the order in which it was asked for, one agent a second where they are few", async () => {
    await using scene = await createScene(5, (at) => ({ role: at === 4 ? "db" : "web" }));
    const window = await freeze(scene, { selector: "role=web" });
    await applyAll(scene);
    await scene.finish(scene.agents[4]);
    await end(scene, window);
    for (let turn = 0; turn < 4; turn += 1) await settle();
    const seen: string[][] = [];
    for (let second = 0; second < 5; second += 1) {
      seen.push(scene.asked().filter((name) => name !== "a5"));
      await pass(scene, 1_000);
    }
    const four = ["a1", "a2", "a3", "a4"];
    expect(seen).toEqual([four.slice(0, 1), four.slice(0, 2), four.slice(0, 3), four, four]);
  });

  it("takes its time again after a freeze of many: the pace of these is not that of the next few", async () => {
    await using scene = await createScene(63, (at): Record<string, string> =>
      at === 62 ? {} : { role: at < 4 ? "web" : "db" },
    );
    const begun = (): number =>
      scene.agents
        .slice(0, 4)
        .reduce((sum, { agent }) => sum + agent.commands.filter(({ type }) => type === "apply").length, 0);
    const many = await freeze(scene, { selector: "role" });
    await applyAll(scene);
    await end(scene, many);
    await pass(scene, 35_000);
    for (const agent of scene.agents) await scene.finish(agent);
    expect(begun()).toBe(4);
    await pass(scene, 5_000);
    const few = await freeze(scene, { selector: "role=web" });
    await applyAll(scene);
    for (const agent of scene.agents.slice(4)) await scene.finish(agent);
    await end(scene, few);
    for (let turn = 0; turn < 4; turn += 1) await settle();
    const seen: number[] = [];
    for (let second = 0; second < 4; second += 1) {
      seen.push(begun() - 4);
      await pass(scene, 1_000);
    }
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  it("begins what was held when the window is removed, mutes only, or is for others", async () => {
    for (const change of ["remove", "mute", "selector"] as const) {
      await using scene = await createScene(2, roles);
      const { id } = await freeze(scene, { selector: "role=web" });
      await applyAll(scene);
      await scene.finish(scene.agents[1]);
      expect(scene.asked()).toEqual(["a2"]);
      const { maintenanceWindows } = scene.test.orchestrator;
      if (change === "remove") await maintenanceWindows.remove(systemCaller, { id });
      if (change === "mute") await maintenanceWindows.update(systemCaller, { id, mode: "mute" });
      if (change === "selector") await maintenanceWindows.update(systemCaller, { id, selector: "role=db" });
      await pass(scene, 1_000);
      expect(scene.asked()).toEqual(["a1", "a2"]);
    }
  });

  it("begins on an agent that the selector no longer matches, and holds one that it comes to match", async () => {
    await using scene = await createScene(3, roles);
    const [a1, a2, a3] = scene.agents.map(({ nodeId }) => nodeId);
    await freeze(scene, { selector: "role=web" });
    await applyAll(scene);
    await scene.finish(scene.agents[1]);
    const { agents, operations } = scene.test.orchestrator;
    await agents.tags.replace(systemCaller, { node_id: a3!, tags: {} });
    await pass(scene, 1_000);
    expect(scene.asked()).toEqual(["a2", "a3"]);
    await agents.tags.replace(systemCaller, { node_id: a2!, tags: { role: "web" } });
    const input = { modules: ["motd"], wait_seconds: 0 };
    for (const node_id of [a1!, a2!])
      await expect(operations.apply(systemCaller, { ...input, node_id })).rejects.toMatchObject({
        code: "MAINTENANCE_WINDOW",
      });
  });
});

describe("a change of one agent that is frozen", () => {
  it("looks at that agent alone, however many are held, and reads nothing that is held", async () => {
    const costOf = async (count: number): Promise<{ looks: number; reads: number }> => {
      await using scene = await createScene(count, roles, { driftIntervalSeconds: 0 });
      await freeze(scene, { selector: "role=web" });
      await applyAll(scene);
      await settleAll();
      const { agents } = scene.test.orchestrator;
      const looks = vi.spyOn(servicesOf(scene.test.orchestrator).maintenance, "freezeOf");
      const reads = vi.spyOn(scene.test.storage, "get");
      const held = scene.agents.filter((_, at) => at % 2 === 0);
      for (const { nodeId: node_id } of held) {
        await agents.tags.replace(systemCaller, { node_id, tags: { role: "web", seen: "again" } });
        await settle();
      }
      const ofOperations = reads.mock.calls.filter(([collection]) => collection === "operations");
      return { looks: looks.mock.calls.length / held.length, reads: ofOperations.length };
    };
    const [few, many] = [await costOf(4), await costOf(40)];
    expect(many).toEqual(few);
    expect(few).toEqual({ looks: 1, reads: 0 });
  });
});

describe("what a freeze held and lets go", () => {
  it("is read a few times each, however much there is", async () => {
    const readsOf = async (count: number): Promise<number> => {
      await using scene = await createScene(count, roles, { driftIntervalSeconds: 0 });
      const window = await freeze(scene, { selector: "role=web" });
      await applyAll(scene);
      const held = scene.agents.filter((_, at) => at % 2 === 0);
      for (const member of scene.agents) if (!held.includes(member)) await scene.finish(member);
      const reads = vi.spyOn(scene.test.storage, "get");
      await end(scene, window);
      await pass(scene, minuteMs, 1_000);
      expect(scene.asked()).toHaveLength(count);
      return reads.mock.calls.filter(([collection]) => collection === "operations").length / held.length;
    };
    const [few, many] = [await readsOf(4), await readsOf(40)];
    expect(many).toBeLessThanOrEqual(few * 1.3);
    expect(few).toBeGreaterThan(0);
  });
});

describe("a restart in a freeze", () => {
  it("changes nothing: what was held stays so and begins when the window ends", async () => {
    const scene = await createScene(2, roles, { driftIntervalSeconds: 0 });
    await freeze(scene, { selector: "role=web" });
    const begun = await applyAll(scene);
    await scene.finish(scene.agents[1]);
    for (const { agent } of scene.agents) await agent.link.stop();
    await scene.test.orchestrator.stop();
    const { clock, data } = scene;
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(test, scene.agents[0]!.keys, clock);
    await pass(scene, 5 * minuteMs, minuteMs);
    const read = (): Promise<RolloutDetail> =>
      test.orchestrator.rollouts.get(systemCaller, { rollout_id: begun.rollout_id });
    expect(await read()).toMatchObject({ status: "running", held: 1 });
    expect(agent.commands).toEqual([]);
    await pass(scene, 5 * minuteMs, minuteMs);
    expect((await agent.next("apply")).operation_id).toBe((await read()).operations[0]?.operation_id);
    const told = test.events.filter(({ event_type }) => event_type.startsWith("maintenance."));
    expect(told.map(({ event_type }) => event_type)).toEqual(["maintenance.ended"]);
  });

  it("that comes after the window has ended begins what it held", async () => {
    const scene = await createScene(2, roles, { driftIntervalSeconds: 0 });
    await freeze(scene, { selector: "role=web" });
    await applyAll(scene);
    await scene.finish(scene.agents[1]);
    for (const { agent } of scene.agents) await agent.link.stop();
    await scene.test.orchestrator.stop();
    const { clock, data } = scene;
    await clock.advance(20 * minuteMs);
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(test, scene.agents[0]!.keys, clock);
    await pass(scene, minuteMs, minuteMs);
    expect(agent.commands.map(({ type }) => type)).toContain("apply");
  });

  it("ends what it held of an agent that does not come back in a minute and a half", async () => {
    const scene = await createScene(2, roles, { driftIntervalSeconds: 0 });
    await freeze(scene, { selector: "role=web" });
    const { rollout_id } = await applyAll(scene);
    await scene.finish(scene.agents[1]);
    for (const { agent } of scene.agents) await agent.link.stop();
    await scene.test.orchestrator.stop();
    const { clock, data } = scene;
    await clock.advance(20 * minuteMs);
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
    const statusOf = async (): Promise<string | undefined> => {
      const { items } = await test.orchestrator.operations.list(systemCaller, { rollout_id });
      return items.find(({ node_id }) => node_id === scene.agents[0]!.nodeId)?.status;
    };
    await pass(scene, 89_000, 1_000);
    expect(await statusOf()).toBe("queued");
    await pass(scene, 3_000, 1_000);
    expect(await statusOf()).toBe("failed");
  });
});
