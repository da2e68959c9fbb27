import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const web = (text = "one"): string => `
name: web
params: { port: { type: integer, default: 80 } }
resources:
  - { id: conf, type: file, path: /etc/conf, content: "${text} {{ params.port }} {{ tags.role | default: '-' }}\\n" }
  - { id: link, type: symlink, path: /etc/link, target: conf }
  - { id: warm, type: script, run: "echo warm >> runs", run_on: [conf] }
  - { id: tell, type: script, run: "echo tell >> runs", run_on: [warm] }
  - { id: last, type: script, run: "echo last >> runs", run_on: [tell, link] }
`;

interface Scene extends AsyncDisposable {
  test: TestOrchestrator;
  agent: TestAgent;
  node_id: string;
  /** Makes a plan and returns its id. */
  plan(params?: Record<string, number>): Promise<string>;
  apply(plan_id: string): ReturnType<TestOrchestrator["orchestrator"]["operations"]["apply"]>;
}

async function scene(): Promise<Scene> {
  const test = await createTestOrchestrator();
  const agent = await startApprovedAgent(test);
  const { operations, modules, assignments } = test.orchestrator;
  await modules.upload(systemCaller, { content: web() });
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
  const node_id = agent.nodeId;
  return {
    test,
    agent,
    node_id,
    plan: async (params) => {
      const plan = await operations.plan(systemCaller, { node_id, ...(params && { params }) });
      expect(plan.status).toBe("succeeded");
      return plan.operation_id;
    },
    apply: (plan_id) => operations.apply(systemCaller, { node_id, plan_id }),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    },
  };
}

describe("a stored plan", () => {
  it("tells creations, a chain of triggers and diffs, and its apply does exactly that, params of the call included", async () => {
    await using each = await scene();
    const { operations } = each.test.orchestrator;
    const planId = await each.plan({ port: 8080 });
    const told = await operations.get(systemCaller, { operation_id: planId });
    expect(
      told.resources.map(({ resource_id, outcome, action, caused_by }) => [
        resource_id,
        outcome,
        action,
        caused_by,
      ]),
    ).toEqual([
      ["conf", "would_change", "create", []],
      ["link", "would_change", "create", []],
      ["warm", "would_change", "run", ["conf"]],
      ["tell", "would_change", "run", ["warm"]],
      ["last", "would_change", "run", ["tell", "link"]],
    ]);
    expect(told.resources[0]?.changes.find(({ property }) => property === "content")?.diff).toContain(
      "+one 8080 -",
    );
    expect(existsSync(join(each.agent.root, "etc/conf"))).toBe(false);
    const applied = await each.apply(planId);
    expect(applied).toMatchObject({ status: "succeeded", plan_id: planId, counts: { changed: 5 } });
    expect(readFileSync(join(each.agent.root, "etc/conf"), "utf8")).toBe("one 8080 -\n");
    expect(readFileSync(join(each.agent.root, "runs"), "utf8")).toBe("warm\ntell\nlast\n");
  });

  it("tells updates with their diff, and removals, and does them", async () => {
    await using each = await scene();
    const { operations, modules } = each.test.orchestrator;
    await each.apply(await each.plan());
    await modules.upload(systemCaller, {
      content: web("two")
        .replace(/^.*id: link.*\n/m, "")
        .replace(", link]", "]"),
    });
    const planId = await each.plan();
    const { resources } = await operations.get(systemCaller, { operation_id: planId });
    expect(resources.map(({ resource_id, action }) => `${resource_id} ${action}`).slice(0, 2)).toEqual([
      "link remove",
      "conf update",
    ]);
    expect(resources[1]?.changes[0]?.diff).toMatch(/-one 80 -\n\+two 80 -/);
    expect(await each.apply(planId)).toMatchObject({ counts: { removed: 1 } });
    expect(existsSync(join(each.agent.root, "etc/link"))).toBe(false);
  });

  it.each<[string, (each: Scene) => Promise<unknown> | void]>([
    [
      "a module was uploaded",
      ({ test }) => test.orchestrator.modules.upload(systemCaller, { content: web("new") }),
    ],
    [
      "a module was uploaded that says the same",
      ({ test }) => test.orchestrator.modules.upload(systemCaller, { content: `${web()}# a comment\n` }),
    ],
    [
      "params of an assignment changed",
      ({ test }) => test.orchestrator.assignments.update(systemCaller, { name: "web", params: { port: 81 } }),
    ],
    [
      "an assignment is gone",
      ({ test }) => test.orchestrator.assignments.remove(systemCaller, { name: "web" }),
    ],
    [
      "a tag that it uses changed",
      ({ test, node_id }) =>
        test.orchestrator.agents.tags.set(systemCaller, { node_id, key: "role", value: "front" }),
    ],
    [
      "a param that it was given is not declared any more",
      ({ test }) =>
        test.orchestrator.modules.upload(systemCaller, {
          content: web().replace("{ port: {", "{ prt: {").replace("params.port", "params.prt"),
        }),
    ],
    [
      "a module does not support the agent any more",
      ({ test }) =>
        test.orchestrator.modules.upload(systemCaller, {
          content: web().replace("name: web", "name: web\nsupports: [attr.os.family=plan9]"),
        }),
    ],
    [
      "another module wants the same",
      async ({ test }) => {
        const content = web().replace("name: web", "name: other");
        await test.orchestrator.modules.upload(systemCaller, { content });
        const fields = { name: "other", selector: "*", modules: ["other"] };
        await test.orchestrator.assignments.create(systemCaller, { ...fields, params: { port: 81 } });
      },
    ],
    [
      "a module uses what the agent does not have",
      ({ test }) =>
        test.orchestrator.modules.upload(systemCaller, {
          content: web().replace("tags.role | default: '-'", "tags.rack"),
        }),
    ],
    [
      "params of an assignment are not what the module takes any more",
      async ({ test: { orchestrator } }) => {
        await orchestrator.assignments.update(systemCaller, { name: "web", params: { port: 81 } });
        const content = web().replace("type: integer, default: 80", "type: string, default: a");
        await orchestrator.modules.upload(systemCaller, { content });
      },
    ],
    [
      "a module requires one that nobody wants there",
      async ({ test: { orchestrator } }) => {
        await orchestrator.modules.upload(systemCaller, { content: "name: base\nresources: []\n" });
        const content = web().replace("name: web", "name: web\nrequires: [base]");
        await orchestrator.modules.upload(systemCaller, { content });
      },
    ],
  ])("is refused when %s, before an operation is made", async (name, change) => {
    await using each = await scene();
    const planId = await each.plan(name.includes("not declared") ? { port: 8080 } : undefined);
    await change(each);
    await expect(each.apply(planId)).rejects.toMatchObject({
      code: "PLAN_STALE",
      details: { plan_id: planId, reason: "desired" },
    });
    const { items } = await each.test.orchestrator.operations.list(systemCaller);
    expect(items.map(({ kind }) => kind)).toEqual(["plan"]);
    expect(existsSync(join(each.agent.root, "etc/conf"))).toBe(false);
  });

  it.each<[string, (root: string) => void]>([
    ["something stands where nothing stood", (root) => writeFileSync(join(root, "etc/link"), "mine")],
    [
      "what it would change is done already",
      (root) => writeFileSync(join(root, "etc/conf"), "one 80 -\n", { mode: 0o644 }),
    ],
    [
      "what it would change is otherwise than it was",
      (root) => writeFileSync(join(root, "etc/conf"), "other\n"),
    ],
  ])("is refused by the agent when %s, and nothing is changed", async (_name, change) => {
    await using each = await scene();
    const planId = await each.plan();
    change(each.agent.root);
    const before = existsSync(join(each.agent.root, "etc/conf"));
    const refused = await each.apply(planId).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "PLAN_STALE", details: { reason: "machine" } });
    const { operation_id } = (refused as { details: { operation_id: string } }).details;
    const { operations } = each.test.orchestrator;
    expect(await operations.get(systemCaller, { operation_id })).toMatchObject({
      status: "failed",
      plan_id: planId,
      error: { code: "PLAN_STALE" },
      resources: [],
    });
    expect(existsSync(join(each.agent.root, "etc/conf"))).toBe(before);
    expect(existsSync(join(each.agent.root, "runs"))).toBe(false);
    expect((await operations.believed(systemCaller, { node_id: each.node_id })).as_of).toBeNull();
  });

  it("may be applied for as long as it is true: twice at a time it is done once", async () => {
    await using each = await scene();
    const planId = await each.plan();
    const both = await Promise.allSettled([each.apply(planId), each.apply(planId)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(readFileSync(join(each.agent.root, "runs"), "utf8")).toBe("warm\ntell\nlast\n");
    rmSync(join(each.agent.root, "etc/conf"));
    rmSync(join(each.agent.root, "etc/link"));
    expect(await each.apply(planId)).toMatchObject({ status: "succeeded", counts: { changed: 5 } });
    const nothing = await each.plan();
    expect(await each.apply(nothing)).toMatchObject({ status: "succeeded", counts: { changed: 0 } });
    expect(await each.apply(nothing)).toMatchObject({ status: "succeeded", counts: { changed: 0 } });
  });

  it("is refused beside modules or params, of another agent, and where it is no plan or has not succeeded", async () => {
    await using each = await scene();
    await using other = await startApprovedAgent(each.test);
    const { operations } = each.test.orchestrator;
    const planId = await each.plan();
    const { node_id } = each;
    await expect(
      operations.apply(systemCaller, { node_id, plan_id: planId, params: {}, modules: [] }),
    ).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: ["modules", "params"].map((field) => ({
        path: [field],
        message: "can't be given beside plan_id",
      })),
    });
    const elsewhere = operations.apply(systemCaller, { node_id: other.nodeId, plan_id: planId });
    await expect(elsewhere).rejects.toMatchObject({ code: "NOT_FOUND" });
    const { operation_id } = await each.apply(planId);
    await expect(each.apply(operation_id)).rejects.toMatchObject({ code: "NOT_FOUND" });
    rmSync(join(each.agent.root, "etc/conf"));
    mkdirSync(join(each.agent.root, "etc/conf"));
    const failed = await operations.plan(systemCaller, { node_id });
    expect(failed.status).toBe("failed");
    await expect(each.apply(failed.operation_id)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: `The plan ended failed; make another.`,
    });
  });

  it("does not remove everything unless that is said, plan or not", async () => {
    await using each = await scene();
    await each.apply(await each.plan());
    await each.test.orchestrator.assignments.remove(systemCaller, { name: "web" });
    const planId = await each.plan();
    await expect(each.apply(planId)).rejects.toMatchObject({ code: "EMPTY_DESIRED_STATE" });
    const input = { node_id: each.node_id, plan_id: planId, allow_empty: true };
    const applied = await each.test.orchestrator.operations.apply(systemCaller, input);
    expect(applied).toMatchObject({ status: "succeeded", counts: { removed: 2 } });
  });
});

it("a plan that takes a module away is refused once another requires that", async () => {
  await using each = await scene();
  const { modules, operations } = each.test.orchestrator;
  const { node_id } = each;
  for (const content of ["name: base\nresources: []\n", "name: top\nrequires: [base]\nresources: []\n"])
    await modules.upload(systemCaller, { content });
  await operations.apply(systemCaller, { node_id, modules: ["base"] });
  const plan = await operations.plan(systemCaller, { node_id, remove_modules: ["base"] });
  await operations.apply(systemCaller, { node_id, modules: ["top"] });
  await expect(each.apply(plan.operation_id)).rejects.toMatchObject({ code: "PLAN_STALE" });
});

it("a plan of a module that is removed is refused", async () => {
  await using each = await scene();
  const { modules, operations } = each.test.orchestrator;
  await modules.upload(systemCaller, { content: "name: base\nresources: []\n" });
  const input = { node_id: each.node_id, modules: ["base"] };
  const { operation_id } = await operations.plan(systemCaller, input);
  await modules.remove(systemCaller, { name: "base" });
  await expect(each.apply(operation_id)).rejects.toMatchObject({
    code: "PLAN_STALE",
    message: expect.stringContaining("it can't be made any more (There is no module base.)") as string,
  });
});

it("a plan that only takes modules away is applied as such, without allow_empty", async () => {
  await using each = await scene();
  const { operations, modules } = each.test.orchestrator;
  const content = "name: motd\nresources:\n  - { type: file, path: /motd, content: hi }\n";
  await modules.upload(systemCaller, { content });
  const { node_id } = each;
  await operations.apply(systemCaller, { node_id, modules: ["motd"] });
  const { operation_id } = await operations.plan(systemCaller, { node_id, remove_modules: ["motd"] });
  expect(await each.apply(operation_id)).toMatchObject({ status: "succeeded", counts: { removed: 1 } });
  expect(existsSync(join(each.agent.root, "motd"))).toBe(false);
});
