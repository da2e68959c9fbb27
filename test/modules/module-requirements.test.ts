/** Modules that require others: what is refused, the order in which they are applied, and how far a failure reaches. */
import { describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { startApprovedAgent } from "../support/fleet.ts";

const moduleOf = (name: string, requires: string[] = [], resources?: string): string =>
  `name: ${name}\nrequires: [${requires.join(", ")}]\nresources:\n${
    resources ?? `  - { id: f, type: file, path: /${name}, content: x }\n`
  }`;

const failing = (more = ""): string =>
  `  - { id: bad, type: script, run: "exit 3", creates: /never${more} }\n  - { id: rest, type: file, path: /rest, content: x }\n`;

async function upload(test: TestOrchestrator, ...contents: string[]): Promise<void> {
  for (const content of contents) await test.orchestrator.modules.upload(systemCaller, { content });
}

describe("an upload is refused", () => {
  test.each([
    ["of what is not there", moduleOf("web", ["bse"]), 'There is no module "bse".', ["requires", 0]],
    ["of itself", moduleOf("web", ["web"]), "A module can't require itself.", ["requires", 0]],
    ["twice", moduleOf("web", ["base", "base"]), '"base" is required twice.', ["requires", 1]],
    ["by no name", moduleOf("web", ["Base!"]), /1-64 of a-z/, ["requires", 0]],
  ])("for a requirement %s", async (_name, content, message, path) => {
    await using fleet = await createTestOrchestrator();
    await upload(fleet, moduleOf("base"));
    await expect(fleet.orchestrator.modules.upload(systemCaller, { content })).rejects.toMatchObject({
      code: "MODULE_INVALID",
      issues: [{ path, message: expect.stringMatching(message), line: 2 }],
    });
    expect((await fleet.orchestrator.modules.list(systemCaller)).items.map(({ name }) => name)).toEqual([
      "base",
    ]);
  });

  test("for a dependency cycle, however long, that names its members", async () => {
    await using fleet = await createTestOrchestrator();
    await upload(fleet, moduleOf("a"), moduleOf("b", ["a"]), moduleOf("c", ["a", "b"]), moduleOf("d", ["c"]));
    const content = moduleOf("a", ["d"]);
    await expect(fleet.orchestrator.modules.upload(systemCaller, { content })).rejects.toMatchObject({
      code: "MODULE_INVALID",
      issues: [
        {
          path: ["requires", 0],
          message: "These wait for each other: a -> d -> c -> a.",
          line: 2,
          column: 12,
        },
      ],
    });
    expect(await fleet.orchestrator.modules.get(systemCaller, { name: "a" })).toMatchObject({ revision: 1 });
    // What is not required any more stands in nobody's way.
    await upload(fleet, moduleOf("c"), moduleOf("a", ["d"]));
  });

  test.each([0, 1, 2])("for one that two close at the same moment, through %i others each", async (count) => {
    const storage = new MemoryStorage();
    await using fleet = await createTestOrchestrator({ storage });
    await upload(fleet, moduleOf("a"), moduleOf("b"));
    // Each of the two requires the first of a chain, whose last requires the other.
    const chainTo = async (end: string): Promise<string> => {
      let last = end;
      for (let at = 0; at < count; at += 1) {
        const name = `to-${end}-${at}`;
        await upload(fleet, moduleOf(name, [last]));
        last = name;
      }
      return last;
    };
    const contents = [moduleOf("a", [await chainTo("b")]), moduleOf("b", [await chainTo("a")])];
    // Both have looked before one of them writes: each at what the other requires, and at what it required itself.
    const [commit, list] = [storage.commit.bind(storage), storage.list.bind(storage)];
    let looks = 0;
    storage.list = (collection, query) => {
      const [name] = query?.equals ?? [];
      if (collection === "module_requirements" && (name === "a" || name === "b")) looks += 1;
      return list(collection, query);
    };
    storage.commit = async (writes, options) => {
      if (writes.some((write) => write.kind === "put" && write.collection === "module_requirements"))
        while (looks < 4) await settleAll();
      await settleAll();
      return commit(writes, options);
    };
    const ended = await Promise.allSettled(
      contents.map((content) => fleet.orchestrator.modules.upload(systemCaller, { content })),
    );
    expect(ended.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });
});

test("a module is not removed while another requires it", async () => {
  await using fleet = await createTestOrchestrator();
  const { modules } = fleet.orchestrator;
  await upload(fleet, moduleOf("base"), moduleOf("web", ["base"]));
  expect(await modules.get(systemCaller, { name: "base" })).toMatchObject({ used_by: ["module web"] });
  await expect(modules.remove(systemCaller, { name: "base" })).rejects.toMatchObject({
    code: "IN_USE",
    details: { used_by: ["module web"] },
  });
  await modules.remove(systemCaller, { name: "web" });
  await modules.remove(systemCaller, { name: "base" });
});

describe("on an agent", () => {
  test("what is required comes first, and else modules go by name, whatever brings them", async () => {
    await using fleet = await createTestOrchestrator();
    await using agent = await startApprovedAgent(fleet);
    const { assignments, operations } = fleet.orchestrator;
    await upload(fleet, moduleOf("z"), moduleOf("m", ["z"]), moduleOf("a", ["m"]), moduleOf("b"));
    await assignments.create(systemCaller, { name: "later", selector: "*", modules: ["z", "b"] });
    await assignments.create(systemCaller, { name: "first", selector: "*", modules: ["a", "m"] });
    const plan = await operations.plan(systemCaller, { node_id: agent.nodeId });
    expect(plan.modules.map(({ name }) => name)).toEqual(["z", "m", "a", "b"]);
    const { resources } = await operations.get(systemCaller, { operation_id: plan.operation_id });
    expect(resources.map(({ module }) => module)).toEqual(["z", "m", "a", "b"]);
  });

  test("a requirement that nothing brings to it is refused, and nothing is done", async () => {
    await using fleet = await createTestOrchestrator();
    await using agent = await startApprovedAgent(fleet);
    const { operations } = fleet.orchestrator;
    const { nodeId: node_id } = agent;
    await upload(fleet, moduleOf("base"), moduleOf("web", ["base"]));
    await expect(operations.apply(systemCaller, { node_id, modules: ["web"] })).rejects.toMatchObject({
      code: "MODULE_MISSING",
      message: "Module web requires module base, which nothing brings to this agent.",
      details: { module: "web", missing: "base" },
    });
    expect(await operations.apply(systemCaller, { node_id, modules: ["web", "base"] })).toMatchObject({
      status: "succeeded",
    });
  });

  test("a failure ends its module and those that require it; the others go on", async () => {
    expect(await outcomesOf("")).toEqual([
      "aside/f changed",
      "base/bad failed",
      "base/rest skipped",
      "mid/f skipped",
      "top/f skipped",
      "zoo/f changed",
    ]);
  });

  test("a failure reaches through modules that have nothing to do there", async () => {
    await using fleet = await createTestOrchestrator();
    await using agent = await startApprovedAgent(fleet);
    const { operations } = fleet.orchestrator;
    const skipped = `  - { id: f, type: file, path: /f, when: "role=none" }\n`;
    await upload(fleet, moduleOf("base", [], failing()), moduleOf("empty", ["base"], "  []\n"));
    await upload(fleet, moduleOf("mid", ["empty"], skipped), moduleOf("top", ["mid"]));
    const modules = ["base", "empty", "mid", "top"];
    const { operation_id } = await operations.apply(systemCaller, { node_id: agent.nodeId, modules });
    const { resources } = await operations.get(systemCaller, { operation_id });
    expect(resources.at(-1)).toMatchObject({
      module: "top",
      outcome: "skipped",
      message: "Not begun: its module requires base, which was not done.",
    });
  });

  test("with on_failure: continue nothing but what depends on it", async () => {
    expect(await outcomesOf(", on_failure: continue")).toEqual([
      "aside/f changed",
      "base/bad failed",
      "base/rest changed",
      "mid/f changed",
      "top/f changed",
      "zoo/f changed",
    ]);
  });

  test("with on_failure: stop_all everything that comes after", async () => {
    expect(await outcomesOf(", on_failure: stop_all")).toEqual([
      "aside/f changed",
      "base/bad failed",
      "base/rest skipped",
      "mid/f skipped",
      "top/f skipped",
      "zoo/f skipped",
    ]);
  });

  test("a module that was left out is applied by the next apply, when what failed succeeds", async () => {
    await using fleet = await createTestOrchestrator();
    await using agent = await startApprovedAgent(fleet);
    const { modules, operations } = fleet.orchestrator;
    await upload(fleet, moduleOf("base", [], failing()), moduleOf("web", ["base"]));
    const call = { node_id: agent.nodeId, modules: ["base", "web"] };
    const failed = await operations.apply(systemCaller, call);
    expect(failed.counts).toMatchObject({ changed: 0, failed: 1, skipped: 2 });
    const { resources } = await operations.get(systemCaller, { operation_id: failed.operation_id });
    expect(resources.map(({ message }) => message)).toEqual([
      "It exited with 3.",
      "Not begun: its module ended with the failure of base/bad.",
      "Not begun: its module requires base, which was not done.",
    ]);
    await modules.upload(systemCaller, { content: moduleOf("base") });
    expect(await operations.apply(systemCaller, call)).toMatchObject({ status: "succeeded" });
  });
});

/** What becomes of a chain of modules, whose first fails, and of two beside it. */
async function outcomesOf(onFailure: string): Promise<string[]> {
  await using fleet = await createTestOrchestrator();
  await using agent = await startApprovedAgent(fleet);
  const { operations } = fleet.orchestrator;
  await upload(fleet, moduleOf("base", [], failing(onFailure)), moduleOf("mid", ["base"]));
  await upload(fleet, moduleOf("top", ["mid"]), moduleOf("aside"), moduleOf("zoo"));
  const modules = ["zoo", "top", "mid", "base", "aside"];
  const { operation_id, status } = await operations.apply(systemCaller, { node_id: agent.nodeId, modules });
  expect(status).toBe("partial");
  const { resources } = await operations.get(systemCaller, { operation_id });
  return resources.map(({ module, resource_id, outcome }) => `${module}/${resource_id} ${outcome}`);
}

test("a plan of a module that requires another by then is stale", async () => {
  await using fleet = await createTestOrchestrator();
  await using agent = await startApprovedAgent(fleet);
  const { operations } = fleet.orchestrator;
  const { nodeId: node_id } = agent;
  await upload(fleet, moduleOf("base"), moduleOf("web"));
  const { operation_id: plan_id } = await operations.plan(systemCaller, { node_id, modules: ["web"] });
  await upload(fleet, moduleOf("web", ["base"]));
  await expect(operations.apply(systemCaller, { node_id, plan_id })).rejects.toMatchObject({
    code: "PLAN_STALE",
  });
});
