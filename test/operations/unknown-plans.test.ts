/** Plans that can't know everything, from the call to the machine and back. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";

interface Scene extends AsyncDisposable {
  operations: TestOrchestrator["orchestrator"]["operations"];
  fleet: TestOrchestrator;
  node_id: string;
  at: (path: string) => string;
}

/** What the script does before anything else has its turn. */
async function scene(run: string): Promise<Scene> {
  const fleet = await createTestOrchestrator();
  const agent = await startApprovedAgent(fleet);
  const { assignments, modules, operations } = fleet.orchestrator;
  const content = `
name: web
resources:
  - { id: make, type: script, run: "${run}; touch made", creates: /made }
  - { id: conf, type: file, path: /app/conf, content: "kept\\n", mode: "0644" }
  - { id: old, type: file, path: /app/old, ensure: absent }
  - { id: tell, type: script, run: "echo told >> runs", run_on: [conf] }
  - { id: known, type: file, path: /etc/known, content: "known\\n", on_failure: continue }
  - { id: last, type: file, path: /etc/last, content: "last\\n" }
`;
  await modules.upload(systemCaller, { content });
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
  const at = (path: string): string => join(agent.root, path);
  writeFileSync(at("etc/known"), "known\n", { mode: 0o644 });
  return {
    operations,
    fleet,
    node_id: agent.nodeId,
    at,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await fleet[Symbol.asyncDispose]();
    },
  };
}

const brings = "mkdir app; echo kept > app/conf; chmod 644 app/conf; touch app/old";

async function planOf({ operations, node_id }: Scene): Promise<string> {
  const { operation_id, status } = await operations.plan(systemCaller, { node_id });
  expect(status).toBe("succeeded");
  return operation_id;
}

async function linesOf({ operations }: Scene, operation_id: string): Promise<string[]> {
  const { resources } = await operations.get(systemCaller, { operation_id });
  return resources.map(({ resource_id, outcome, action, until = "-" }) =>
    [resource_id, outcome, action, until].join(" "),
  );
}

test("what is unknown is told with what it waits for, is counted, and settles as it is declared", async () => {
  await using each = await scene(brings);
  const { operations, node_id } = each;
  const plan_id = await planOf(each);
  expect(await linesOf(each, plan_id)).toEqual([
    "make would_change run -",
    "conf unknown create make",
    "old unknown none make",
    "tell unknown none make",
    "known unchanged none -",
    "last would_change create -",
  ]);
  const { counts } = await operations.get(systemCaller, { operation_id: plan_id });
  expect(counts).toMatchObject({ total: 6, unknown: 3, would_change: 2, unchanged: 1, removed: 0 });
  const applied = await operations.apply(systemCaller, { node_id, plan_id });
  expect(applied).toMatchObject({ status: "succeeded", counts: { unknown: 0, changed: 3, removed: 1 } });
  expect(await linesOf(each, applied.operation_id)).toEqual([
    "make changed run -",
    "conf unchanged none -",
    "old changed remove -",
    "tell unchanged none -",
    "known unchanged none -",
    "last changed create -",
  ]);
  const drift = await each.fleet.orchestrator.drift.check(systemCaller, { node_id });
  expect(drift).toMatchObject({ status: "in_sync", counts: { unknown: 0 } });
});

test("what is unknown may turn out to be changed, and what follows it acts", async () => {
  await using each = await scene("mkdir app; echo other > app/conf");
  const { operations, node_id, at } = each;
  const applied = await operations.apply(systemCaller, { node_id, plan_id: await planOf(each) });
  expect(await linesOf(each, applied.operation_id)).toMatchObject([
    "make changed run -",
    "conf changed update -",
    "old unchanged none -",
    "tell changed run -",
    "known unchanged none -",
    "last changed create -",
  ]);
  expect(readFileSync(at("runs"), "utf8")).toBe("told\n");
});

test("what would touch anything else on the way is refused and left, and all else is done", async () => {
  await using each = await scene(`${brings}; echo spoiled > etc/known`);
  const { operations, node_id, at } = each;
  const applied = await operations.apply(systemCaller, { node_id, plan_id: await planOf(each) });
  expect(applied.status).toBe("partial");
  const { resources } = await operations.get(systemCaller, { operation_id: applied.operation_id });
  expect(resources.find(({ resource_id }) => resource_id === "known")).toMatchObject({
    outcome: "failed",
    code: "PLAN_STALE",
    message: "The plan said unchanged, and what came before has made it differ. It was left as it is.",
  });
  expect(readFileSync(at("etc/known"), "utf8")).toBe("spoiled\n");
  expect(existsSync(at("etc/last"))).toBe(true);
  const again = await operations.apply(systemCaller, { node_id });
  expect(again).toMatchObject({ status: "succeeded", counts: { changed: 1 } });
  expect(readFileSync(at("etc/known"), "utf8")).toBe("known\n");
});

test("a plan is stale where the machine has moved so that what was unknown can be known", async () => {
  await using each = await scene(brings);
  const { operations, node_id, at } = each;
  const plan_id = await planOf(each);
  mkdirSync(at("app"));
  writeFileSync(at("made"), "");
  await expect(operations.apply(systemCaller, { node_id, plan_id })).rejects.toMatchObject({
    code: "PLAN_STALE",
    details: { reason: "machine" },
  });
  expect(existsSync(at("app/conf"))).toBe(false);
});

test("a removal that nobody could foresee counts against how many there may be", async () => {
  await using each = await scene(brings);
  const { operations, node_id, at } = each;
  const applied = await operations.apply(systemCaller, { node_id, max_removals: 0 });
  const { resources } = await operations.get(systemCaller, { operation_id: applied.operation_id });
  expect(resources.find(({ resource_id }) => resource_id === "old")).toMatchObject({
    outcome: "failed",
    code: "TOO_MANY_REMOVALS",
  });
  expect(existsSync(at("app/old"))).toBe(true);
  expect(await operations.apply(systemCaller, { node_id, max_removals: 1 })).toMatchObject({
    status: "succeeded",
    counts: { removed: 1 },
  });
});

test("a rollout that plans says how much is unknown", async () => {
  await using each = await scene(brings);
  const plan = await each.fleet.orchestrator.rollouts.plan(systemCaller, { name: "web", wait_seconds: 30 });
  expect(plan.operations).toMatchObject([{ summary: "2 would change, 3 unknown, 1 unchanged" }]);
});
