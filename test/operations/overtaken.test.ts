/** What waits, or ends without a word, takes nothing away that is wanted by then. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { createClockScene, type ClockScene } from "../support/clock-scene.ts";
import { settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { startAgent } from "../support/fleet.ts";
import { ScopeScene } from "../support/scope-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

const waits = { when_offline: "queue", wait_seconds: 0 };

describe("a rollout that waits for an agent", () => {
  let scene: ScopeScene;
  beforeEach(async () => {
    scene = await ScopeScene.start();
    for (const name of ["web", "base"]) await scene.upload(name);
    await scene.assign("x", ["web", "base"]);
    await scene.rollOut("x");
    await scene.fleet.orchestrator.assignments.update(systemCaller, { name: "x", modules: ["base"] });
    await scene.agent.agent.stop();
  });
  afterEach(() => scene.end());

  const begin = async (): Promise<string> => {
    const input = { name: "x", wait_seconds: 0, rollout: { when_offline: "queue" as const } };
    return (await scene.fleet.orchestrator.rollouts.apply(systemCaller, input)).rollout_id;
  };
  const comeBack = async (): Promise<void> => {
    const { root, stateDir } = scene.agent;
    scene.agent = await startAgent(scene.fleet, { root, stateDir });
  };
  const endOfNewest = async (query: object): Promise<Operation> => {
    const { operations } = scene.fleet.orchestrator;
    const [newest] = (await operations.list(systemCaller, query)).items;
    const { operation_id } = newest!;
    await endOf(servicesOf(scene.fleet.orchestrator).operations, operation_id, 30);
    return operations.get(systemCaller, { operation_id });
  };

  test("takes away what nobody wants any more", async () => {
    const rollout_id = await begin();
    await comeBack();
    expect(await endOfNewest({ rollout_id })).toMatchObject({ status: "succeeded", counts: { removed: 1 } });
    expect(scene.read("web")).toBeNull();
  });

  test("takes nothing away that a call behind it names", async () => {
    const rollout_id = await begin();
    const named = await scene.apply({ modules: ["web"], ...waits });
    await comeBack();
    await endOf(servicesOf(scene.fleet.orchestrator).operations, named.operation_id, 30);
    expect(await endOfNewest({ rollout_id })).toMatchObject({
      status: "cancelled",
      error: { code: "REVISION_CONFLICT" },
    });
    expect(await endOfNewest({ kind: "apply" })).toMatchObject({
      status: "succeeded",
      counts: { unchanged: 1 },
    });
  });

  test("ends as soon as a call names what it would take away, and not for any other, while its agent is away", async () => {
    const rollout_id = await begin();
    const waiting = async (): Promise<string> => {
      const { operations } = scene.fleet.orchestrator;
      await settleAll();
      return (await operations.list(systemCaller, { rollout_id })).items[0]!.status;
    };
    expect(await waiting()).toBe("queued");
    await scene.apply({ modules: ["base"], ...waits });
    expect(await waiting()).toBe("queued");
    await scene.apply({ modules: ["web"], ...waits });
    expect(await waiting()).toBe("cancelled");
  });

  test("takes nothing away that another assignment brings since, nor does an apply of everything", async () => {
    const rollout_id = await begin();
    await scene.unassign("x");
    const everything = await scene.apply({ ...waits, allow_empty: true });
    await scene.assign("y", ["web"]);
    await comeBack();
    await endOf(servicesOf(scene.fleet.orchestrator).operations, everything.operation_id, 30);
    expect(await endOfNewest({ rollout_id })).toMatchObject({ status: "cancelled" });
    expect(await endOfNewest({ kind: "apply" })).toMatchObject({ status: "cancelled" });
    expect(scene.read("web")).toBe("1");
  });
});

describe("an apply that waits behind one that names a module", () => {
  let scene: ScopeScene;
  beforeEach(async () => {
    scene = await ScopeScene.start();
    await scene.upload("web");
    await scene.upload("web", { files: { web: "2" } });
    await scene.assign("x", ["web"]);
    await scene.agent.agent.stop();
  });
  afterEach(() => scene.end());

  /** How a rollout and an apply of everything end that were asked for after a call. */
  const endsBehind = async (call: object): Promise<[string, string]> => {
    const { orchestrator } = scene.fleet;
    await scene.apply({ ...call, ...waits });
    const rollout = { when_offline: "queue" as const };
    const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, {
      name: "x",
      wait_seconds: 0,
      rollout,
    });
    const { operation_id } = await scene.apply({ ...waits, allow_empty: true });
    const { root, stateDir } = scene.agent;
    scene.agent = await startAgent(scene.fleet, { root, stateDir });
    await endOf(servicesOf(orchestrator).operations, operation_id, 30);
    const [ofRollout] = (await orchestrator.operations.list(systemCaller, { rollout_id })).items;
    const ofEverything = await orchestrator.operations.get(systemCaller, { operation_id });
    return [ofRollout!.status, ofEverything.status];
  };

  test("begins where it brings the same anyway", async () => {
    expect(await endsBehind({ modules: ["web"] })).toEqual(["succeeded", "succeeded"]);
    expect(scene.read("web")).toBe("2");
  });

  test("does not begin where the call pins another revision", async () => {
    expect(await endsBehind({ modules: ["web@1"] })).toEqual(["cancelled", "cancelled"]);
    expect(scene.read("web")).toBe("1");
  });

  test("does not begin where the call pins another revision of what was named before", async () => {
    const { root, stateDir } = scene.agent;
    scene.agent = await startAgent(scene.fleet, { root, stateDir });
    await scene.apply({ modules: ["web"] });
    await scene.agent.agent.stop();
    expect(await endsBehind({ modules: ["web@1"] })).toEqual(["cancelled", "cancelled"]);
    expect(scene.read("web")).toBe("1");
  });

  test("does not begin where everything would be without what the call names", async () => {
    await scene.upload("other");
    expect(await endsBehind({ modules: ["other"] })).toEqual(["succeeded", "cancelled"]);
    expect(scene.read("other")).toBe("1");
  });
});

test("a removal is tried again where the one before it in line failed", async () => {
  const scene = await ScopeScene.start();
  onTestFinished(() => scene.end());
  await scene.upload("web");
  await scene.apply({ modules: ["web"] });
  const { root, stateDir } = scene.agent;
  await scene.agent.agent.stop();
  rmSync(join(root, "web"));
  mkdirSync(join(root, "web", "full"), { recursive: true });
  const removals = [
    await scene.apply({ remove_modules: ["web"], ...waits }),
    await scene.apply({ remove_modules: ["web"], ...waits }),
  ];
  scene.agent = await startAgent(scene.fleet, { root, stateDir });
  const { operations } = scene.fleet.orchestrator;
  for (const { operation_id } of removals) {
    await endOf(servicesOf(scene.fleet.orchestrator).operations, operation_id, 30);
    const { counts } = await operations.get(systemCaller, { operation_id });
    expect(counts).toMatchObject({ failed: 1 });
  }
});

describe("an apply that a freeze holds", () => {
  test.each([false, true])(
    "takes no newer revision back that somebody applied meanwhile, named before: %s",
    async (wasNamed) => {
      const scene = await ScopeScene.start();
      onTestFinished(() => scene.end());
      const { orchestrator, clock } = scene.fleet;
      await scene.upload("web");
      if (wasNamed) await scene.apply({ modules: ["web"] });
      await scene.assign("x", ["web"], { schedule: { cron: "1 0 * * *" } });
      const ends_at = new Date(clock.now() + 120_000).toISOString();
      const window = { selector: "*", reason: "x", mode: "freeze" as const, ends_at };
      await orchestrator.maintenanceWindows.create(systemCaller, window);
      // Its heart beats in the time of the machine, not in that of the test: it is lost meanwhile, and comes back.
      const pass = async (): Promise<void> => {
        await clock.advance(70_000);
        const { transport } = scene.fleet;
        await expect.poll(() => transport.isConnected(scene.agent.nodeId), { timeout: 30_000 }).toBe(true);
      };
      await pass();
      const [held] = (await orchestrator.operations.list(systemCaller, { status: "queued" })).items;
      await scene.upload("web", { files: { web: "2" } });
      await scene.apply({ modules: ["web"], override_window: true });
      expect(scene.read("web")).toBe("2");
      await pass();
      const { operation_id } = held!;
      await endOf(servicesOf(orchestrator).operations, operation_id, 30);
      const { status, error } = await orchestrator.operations.get(systemCaller, { operation_id });
      expect({ status, code: error?.code }).toEqual({ status: "cancelled", code: "REVISION_CONFLICT" });
      expect(scene.read("web")).toBe("2");
    },
  );

  test("goes on where somebody tried a newer revision meanwhile, which did not get in place", async () => {
    const scene = await ScopeScene.start();
    onTestFinished(() => scene.end());
    const { orchestrator, clock, transport } = scene.fleet;
    await scene.upload("web");
    await scene.assign("x", ["web"], { schedule: { cron: "1 0 * * *" } });
    await scene.rollOut("x");
    const ends_at = new Date(clock.now() + 120_000).toISOString();
    const window = { selector: "*", reason: "x", mode: "freeze" as const, ends_at };
    await orchestrator.maintenanceWindows.create(systemCaller, window);
    const pass = async (): Promise<void> => {
      await clock.advance(70_000);
      await expect.poll(() => transport.isConnected(scene.agent.nodeId), { timeout: 60_000 }).toBe(true);
    };
    await pass();
    const [held] = (await orchestrator.operations.list(systemCaller, { status: "queued" })).items;
    await scene.upload("web", { files: { web: "2", "no/such/folder": "2" } });
    const tried = await scene.apply({ modules: ["web"], override_window: true });
    expect(tried.status).not.toBe("succeeded");
    await pass();
    const { operation_id } = held!;
    await endOf(servicesOf(orchestrator).operations, operation_id, 30);
    expect((await orchestrator.operations.get(systemCaller, { operation_id })).status).toBe("succeeded");
    expect(scene.read("web")).toBe("1");
  });
});

describe("an apply that was never run, as it turned out later", () => {
  let scene: ClockScene;
  beforeEach(async () => {
    scene = await createClockScene();
    for (const [name, more] of [
      ["extra", ""],
      ["needing", "requires: [extra]\n"],
    ] as const) {
      const content = `name: ${name}\n${more}resources:\n  - { id: e, type: file, path: /etc/${name}, content: e }\n`;
      await scene.server.orchestrator.modules.upload(systemCaller, { content });
    }
  });
  afterEach(() => scene[Symbol.asyncDispose]());

  const apply = (input: object): Promise<Operation> =>
    scene.server.orchestrator.operations.apply(systemCaller, {
      node_id: scene.nodeId,
      wait_seconds: 0,
      ...input,
    });
  const loseApply = async (input: object): Promise<void> => {
    scene.isDeaf = true;
    const { operation_id } = await apply({ ...input, timeout_seconds: 1 });
    await scene.pass(40_000);
    const { operations } = scene.server.orchestrator;
    expect((await operations.get(systemCaller, { operation_id })).status).toBe("unknown");
    scene.isDeaf = false;
    await scene.pass(60_000);
    await scene.meet();
    expect((await operations.get(systemCaller, { operation_id })).error?.code).toBe("COMMAND_EXPIRED");
  };

  test("leaves nothing named", async () => {
    await loseApply({ modules: ["extra"] });
    const state = await servicesOf(scene.server.orchestrator).operations.stateOf(scene.nodeId);
    expect(state?.named ?? {}).toEqual({});
  });

  test("leaves what it was to remove as it was", async () => {
    await apply({ modules: ["extra"] });
    await scene.pass(2000);
    await loseApply({ remove_modules: ["extra"] });
    expect(await apply({ modules: ["needing"] })).toMatchObject({ kind: "apply" });
  });
});

describe("an agent that says nothing of what it did", () => {
  const web = (content: string): string =>
    `name: web\nresources:\n  - { id: a, type: file, path: /a, content: ${content} }\n`;
  const end = async (agent: ScriptedAgent, result: object): Promise<void> => {
    const { id, operation_id } = await agent.next("apply");
    agent.link.send({ type: "reply", id });
    agent.link.send({ ...emptyResult(operation_id), ...result });
  };

  test.each([
    { status: "interrupted" },
    ...["INTERNAL", "RESULT_GONE", "STORAGE_CORRUPT"].map((code) => ({
      status: "failed",
      error: { code, message: "It can't tell." },
    })),
  ])("has modules that nobody puts back by themselves: %o", async (result) => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    const first = operations.apply(systemCaller, { node_id, modules: ["web"] });
    await end(agent, { status: "succeeded" });
    const repeated = { operationId: (await first).operation_id, modules: ["web"] };
    const service = servicesOf(fleet.orchestrator).operations;
    expect(await service.repeatable(node_id, repeated)).not.toBeNull();
    await modules.upload(systemCaller, { content: web("b") });
    const second = operations.apply(systemCaller, { node_id, modules: ["web"] });
    await end(agent, { ...result, results: [] });
    await second;
    expect(await service.repeatable(node_id, repeated)).toBeNull();
  });

  test("has modules whole that it had, where it was to bring the same again", async () => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    const first = operations.apply(systemCaller, { node_id, modules: ["web"] });
    await end(agent, { status: "succeeded" });
    const repeated = { operationId: (await first).operation_id, modules: ["web"] };
    const again = operations.apply(systemCaller, { node_id, modules: ["web"] });
    await end(agent, { status: "interrupted", results: [] });
    expect(await again).toMatchObject({ status: "interrupted" });
    const service = servicesOf(fleet.orchestrator).operations;
    expect(await service.repeatable(node_id, repeated)).not.toBeNull();
  });

  test("is not said to be losing what it was to remove, and nobody puts that back by itself", async () => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    const first = operations.apply(systemCaller, { node_id, modules: ["web"] });
    await end(agent, { status: "succeeded" });
    const repeated = { operationId: (await first).operation_id, modules: ["web"] };
    const removal = operations.apply(systemCaller, { node_id, remove_modules: ["web"] });
    await end(agent, { status: "interrupted", results: [] });
    await removal;
    const { modules: known } = await operations.believed(systemCaller, { node_id });
    expect(known).toEqual([{ name: "web", revision_applied: 1, assignments: [] }]);
    const service = servicesOf(fleet.orchestrator).operations;
    expect(await service.repeatable(node_id, repeated)).toBeNull();
  });

  test("is known by what it says too late", async () => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    const input = { node_id, modules: ["web"], wait_seconds: 0, timeout_seconds: 1 };
    const { operation_id } = await operations.apply(systemCaller, input);
    const { id } = await agent.next("apply");
    agent.link.send({ type: "reply", id });
    await settleAll();
    await fleet.clock.advance(40_000);
    await settleAll();
    expect((await operations.get(systemCaller, { operation_id })).status).toBe("unknown");
    agent.link.send({ ...emptyResult(operation_id), status: "succeeded" });
    await settleAll();
    expect((await operations.get(systemCaller, { operation_id })).status).toBe("succeeded");
    const { modules: known } = await operations.believed(systemCaller, { node_id });
    expect(known).toMatchObject([{ name: "web", revision_applied: 1 }]);
  });

  test("is known by nothing that it refused to take on", async () => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    const refused = operations.apply(systemCaller, { node_id, modules: ["web"] });
    const { id } = await agent.next("apply");
    agent.link.send({ type: "reply", id, error: { code: "STORAGE_FULL", message: "full" } });
    expect(await refused).toMatchObject({ status: "failed", error: { code: "STORAGE_FULL" } });
    expect(await servicesOf(fleet.orchestrator).operations.stateOf(node_id)).toBeNull();
  });

  test("is known by nothing once it is removed", async () => {
    await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    await using agent = await connectScriptedAgent(fleet);
    const { nodeId: node_id } = agent;
    const { agents, modules, operations } = fleet.orchestrator;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    await modules.upload(systemCaller, { content: web("a") });
    await operations.apply(systemCaller, { node_id, modules: ["web"], wait_seconds: 0, timeout_seconds: 1 });
    await agent.next("apply");
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agents.remove(systemCaller, { node_id });
    await fleet.clock.advance(600_000);
    await settleAll();
    expect(await servicesOf(fleet.orchestrator).operations.stateOf(node_id)).toBeNull();
  });
});
