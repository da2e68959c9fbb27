/** What is known of a machine by what its agent tells of applies: which is the newest, and what drift is measured against. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { AgentStateDocument } from "../../lib/operations/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { AgentMessage, MessageOf } from "../../lib/wire/messages.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

type Result = Partial<MessageOf<AgentMessage, "result">>;

let fleet: TestOrchestrator;
let agent: ScriptedAgent;
beforeEach(async () => {
  fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  agent = await connectScriptedAgent(fleet);
  await fleet.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  for (const name of ["web", "base"])
    await fleet.orchestrator.modules.upload(systemCaller, {
      content: `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: x }\n`,
    });
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const uploadNewer = (): Promise<unknown> =>
  fleet.orchestrator.modules.upload(systemCaller, {
    content: "name: web\nresources:\n  - { id: f, type: file, path: /web, content: newer }\n",
  });

/** Asks for an apply, which the agent takes on a second later. */
async function begin(input: object = { modules: ["web"] }): Promise<string> {
  await fleet.clock.advance(1_000);
  const call = { node_id: agent.nodeId, wait_seconds: 0, timeout_seconds: 10, ...input };
  const { operation_id } = await fleet.orchestrator.operations.apply(systemCaller, call);
  agent.link.send({ type: "reply", id: (await agent.next("apply")).id });
  await settleAll();
  return operation_id;
}

async function end(operation_id: string, result: Result = {}): Promise<string> {
  await fleet.clock.advance(1_000);
  agent.link.send({ ...emptyResult(operation_id), ...result });
  await settleAll();
  return operation_id;
}

const apply = async (input?: object, result?: Result): Promise<string> => end(await begin(input), result);
/** Has an apply become unknown; how another that was asked for since ends before that one's own result comes. */
async function late(first: object, second: object, how?: Result): Promise<[late: string, newer: string]> {
  const operation_id = await begin(first);
  await fleet.clock.advance(40_000);
  await settleAll();
  const newer = await apply(second, how);
  await end(operation_id);
  return [operation_id, newer];
}

async function forget(resources: string[], results: ResourceResult[]): Promise<void> {
  const call = { node_id: agent.nodeId, resources, wait_seconds: 0 };
  const { operation_id } = await fleet.orchestrator.operations.forget(systemCaller, call);
  agent.link.send({ type: "reply", id: (await agent.next("forget")).id });
  await end(operation_id, { results });
}
const known = (): Promise<Readonly<AgentStateDocument> | null> =>
  servicesOf(fleet.orchestrator).operations.stateOf(agent.nodeId);

const resultOf = (more: Partial<ResourceResult>): ResourceResult => ({
  resource_id: "f",
  module: "web",
  type: "file",
  identity: "/web",
  outcome: "changed",
  action: "update",
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
  ...more,
});

describe("what drift is measured against", () => {
  const error = { code: "INTERNAL", message: "no" };
  const trigger = resultOf({ outcome: "failed", action: "run", caused_by: ["f"] });
  const skipped = (skipped_because: NonNullable<ResourceResult["skipped_because"]>): ResourceResult =>
    resultOf({ outcome: "skipped", skipped_because });
  test.each<[string, boolean, Result]>([
    ["succeeded", true, { results: [resultOf({})] }],
    ["succeeded and had nothing to do", true, { results: [] }],
    ["failed in a trigger alone", true, { status: "partial", results: [resultOf({}), trigger] }],
    ["failed in its triggers, and had nothing else", true, { status: "failed", results: [trigger] }],
    [
      "failed in a trigger, and skipped what the machine is not to have",
      true,
      { status: "partial", results: [trigger, skipped("condition"), skipped("undesired")] },
    ],
    [
      "failed in a trigger, and skipped what needs it",
      false,
      { status: "partial", results: [trigger, skipped("dependency")] },
    ],
    [
      "failed in what no change fired",
      false,
      { status: "partial", results: [resultOf({}), resultOf({ outcome: "failed" })] },
    ],
    [
      "failed in a removal that a change fired",
      false,
      { status: "partial", results: [{ ...trigger, action: "remove" }] },
    ],
    ["failed as a whole", false, { status: "failed", results: [resultOf({}), trigger], error }],
    ["failed, and tells of no resource", false, { status: "failed", results: [] }],
    ["was cancelled", false, { status: "cancelled", results: [resultOf({})] }],
    ["ran out of time", false, { status: "timed_out", results: [resultOf({})] }],
  ])(
    "is the newest apply that put in place what it was asked for, as one that %s: %s",
    async (_, is, how) => {
      const before = await apply();
      await fleet.orchestrator.modules.upload(systemCaller, {
        content: "name: web\nresources:\n  - { id: f, type: file, path: /web, content: newer }\n",
      });
      const operation_id = await apply({ modules: ["web"] }, how);
      const { finished_at: at, snapshot } = (await servicesOf(fleet.orchestrator).operations.store.find(
        operation_id,
      ))!;
      const state = (await known())!;
      if (is) expect(state.baseline).toEqual({ operation_id, snapshot, at });
      else expect(state.baseline?.operation_id).toBe(before);
    },
  );
});

describe("the newest apply of a machine", () => {
  test("is told with how much is there, when it ended and when it began, of the time of the fleet", async () => {
    const operation_id = await apply();
    const {
      snapshot,
      begun_at,
      finished_at: at,
    } = (await servicesOf(fleet.orchestrator).operations.store.find(operation_id))!;
    expect(begun_at).toEqual(expect.any(Number));
    expect((await known())?.last_apply).toEqual({ operation_id, snapshot, at, resource_count: 1, begun_at });
  });

  test.each<[string, object, number]>([
    ["takes one of two modules away", { remove_modules: ["base"] }, 2],
    ["takes both modules away", { remove_modules: ["web", "base"] }, 0],
    ["wants nothing", { allow_empty: true, remove_modules: ["web", "base"] }, 0],
    ["brings one of two modules", { modules: ["web"] }, 1],
  ])("that %s leaves as much as it counts: %o", async (_, input, count) => {
    await apply({ modules: ["web", "base"] });
    const operation_id = await apply(input);
    expect((await known())?.last_apply).toMatchObject({ operation_id, resource_count: count });
  });

  test("that tells that it wants nothing at all leaves nothing", async () => {
    const { assignments } = fleet.orchestrator;
    await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
    await apply({});
    await assignments.remove(systemCaller, { name: "web" });
    await apply({ allow_empty: true });
    expect((await known())?.last_apply?.resource_count).toBe(0);
    // There is nothing left that an apply could take away unasked.
    await apply({});
  });

  test("is the same after one of which nobody knows what it did", async () => {
    const before = await apply();
    await uploadNewer();
    await apply({ modules: ["web"] }, { status: "interrupted" });
    expect(await known()).toMatchObject({
      last_apply: { operation_id: before },
      baseline: { operation_id: before },
      modules: { web: { operation_id: before, doubtful: true } },
    });
  });
});

describe("what turns up late", () => {
  test("of the same module is no news", async () => {
    const [, newer] = await late({ modules: ["web"] }, { modules: ["web"] });
    expect(await known()).toMatchObject({
      last_apply: { operation_id: newer },
      baseline: { operation_id: newer },
      modules: { web: { operation_id: newer } },
    });
  });

  test("of another module is, but is not the newest", async () => {
    const [older, newer] = await late({ modules: ["web"] }, { modules: ["base"] });
    expect(await known()).toMatchObject({
      last_apply: { operation_id: newer },
      baseline: { operation_id: older },
      modules: { web: { operation_id: older }, base: { operation_id: newer } },
    });
  });

  test("of one module of two of which the other was applied since is none", async () => {
    const [, newer] = await late({ modules: ["web", "base"] }, { modules: ["base"] });
    expect(Object.keys((await known())?.modules ?? {})).toEqual(["base"]);
    expect(await known()).toMatchObject({ baseline: { operation_id: newer } });
  });

  test("of everything is none where anything was applied since", async () => {
    const { assignments } = fleet.orchestrator;
    await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
    const [, newer] = await late({}, { modules: ["base"] });
    expect(Object.keys((await known())?.modules ?? {})).toEqual(["base"]);
    expect(await known()).toMatchObject({ last_apply: { operation_id: newer } });
  });
});

describe("a forgetting", () => {
  const forgotten = (more: Partial<ResourceResult> = {}): ResourceResult =>
    resultOf({ action: "forget", ...more });

  beforeEach(async () => {
    await fleet.orchestrator.modules.upload(systemCaller, {
      content:
        "name: two\nresources:\n  - { id: a, type: file, path: /a }\n  - { id: b, type: file, path: /b }\n",
    });
  });

  test("of all that a module has is the end of it, and of what a call named of it", async () => {
    await apply({ modules: ["web", "base"] });
    await forget(["web/f"], [forgotten()]);
    const state = (await known())!;
    expect([Object.keys(state.modules ?? {}), Object.keys(state.named ?? {})]).toEqual([["base"], ["base"]]);
    const { operations } = servicesOf(fleet.orchestrator);
    expect((await operations.snapshot(state.baseline!.snapshot)).map(({ module }) => module)).toEqual([
      "base",
    ]);
    await forget(["base"], [forgotten({ module: "base", identity: "/base" })]);
    expect(await known()).not.toHaveProperty("named");
  });

  test("of one resource leaves the module, each time with what is forgotten of it", async () => {
    await apply({ modules: ["two", "web"] });
    const of = (resource_id: string): ResourceResult =>
      forgotten({ module: "two", resource_id, identity: `/${resource_id}` });
    await forget(["two/a"], [of("a")]);
    const { modules } = (await known())!;
    expect(modules).toMatchObject({ two: { forgotten: ["a"] } });
    expect(modules?.["web"]).not.toHaveProperty("forgotten");
  });

  test("of the whole module by its name is the end of it, also where it was never whole", async () => {
    await apply({ modules: ["two"] }, { status: "partial", results: [resultOf({ outcome: "failed" })] });
    await forget(
      ["two/a", "two/b"],
      [
        forgotten({ module: "two", resource_id: "a", identity: "/a" }),
        forgotten({ module: "two", resource_id: "b", identity: "/b" }),
      ],
    );
    expect(await known()).toMatchObject({ modules: { two: { forgotten: ["a", "b"] } } });
    await forget(["two"], [forgotten({ module: "two", resource_id: "c", identity: "/c" })]);
    expect((await known())?.modules).toEqual({});
  });

  test("that forgot nothing changes nothing", async () => {
    await apply({ modules: ["web"] });
    const before = await known();
    await forget(["web"], [resultOf({ outcome: "unchanged", action: "none" })]);
    expect(await known()).toEqual(before);
  });
});

describe("what is believed to be in place", () => {
  const believed = async (): Promise<[applied: string[], unapplied: string[]]> => {
    const { nodeId: node_id } = agent;
    const { applied, unapplied } = await fleet.orchestrator.operations.believed(systemCaller, { node_id });
    const told = (list: typeof applied): string[] =>
      list.map(({ module, resource_id }) => `${module}/${resource_id}`);
    return [told(applied), told(unapplied)];
  };

  test.each<[string, boolean, Partial<ResourceResult>]>([
    ["changed", true, { outcome: "changed" }],
    ["unchanged", true, { outcome: "unchanged", action: "none" }],
    ["failed", false, { outcome: "failed" }],
    ["skipped", false, { outcome: "skipped", skipped_because: "dependency", action: "none" }],
    ["taken away to make room for itself", false, { outcome: "changed", action: "remove" }],
  ])("is what was asked for and is told as %s: %s", async (_, is, how) => {
    await apply({ modules: ["web"] }, { status: "partial", results: [resultOf(how)] });
    expect(await believed()).toEqual(is ? [["web/f"], []] : [[], ["web/f"]]);
  });

  test.each<[string, boolean, Partial<ResourceResult>]>([
    ["failed", true, { outcome: "failed" }],
    ["left for nobody saw it", true, { outcome: "skipped", skipped_because: "unattended" }],
    ["left for it was cancelled", true, { outcome: "skipped", skipped_because: "cancelled" }],
    ["left for what needs it", true, { outcome: "skipped", skipped_because: "dependency" }],
    ["gone", false, { outcome: "changed" }],
  ])("is what was to go and is told as %s: %s", async (_, is, how) => {
    await apply({ modules: ["web"] });
    const results = [resultOf({ action: "remove", ...how })];
    await apply({ remove_modules: ["web"] }, { status: "partial", results });
    expect(await believed()).toEqual([is ? ["web/f"] : [], []]);
  });

  test("is told by the applies that brought it, oldest first", async () => {
    const brought = { module: "base", identity: "/base" };
    await apply({ modules: ["web"] }, { results: [resultOf({})] });
    await apply({ modules: ["base"] }, { results: [resultOf(brought)] });
    expect((await believed())[0]).toEqual(["web/f", "base/f"]);
    await apply({ modules: ["web"] }, { results: [resultOf({})] });
    expect((await believed())[0]).toEqual(["base/f", "web/f"]);
  });
});
