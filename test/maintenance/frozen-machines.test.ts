/** Real agents in a freeze: what comes by itself, what somebody runs on many, and what a window keeps nobody from. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCaller, type MaintenanceWindow, type Operation } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { newFolders, startAgent, type TestAgent } from "../support/fleet.ts";

const hourMs = 3_600_000;
let fleet: TestOrchestrator;
/** One that windows of these tests freeze, and one that they don't. */
let db: TestAgent;
let web: TestAgent;

beforeEach(async () => {
  fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  [db, web] = [await approved("db"), await approved("web")];
});
afterEach(async () => {
  for (const agent of [db, web]) await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

async function approved(role: string): Promise<TestAgent> {
  const agent = await startAgent(fleet, { ...newFolders(), clock: fleet.clock });
  const { nodeId: node_id } = agent;
  await fleet.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: role });
  await fleet.orchestrator.agents.tags.replace(systemCaller, { node_id, tags: { role } });
  return agent;
}

async function assign(more: object): Promise<void> {
  const content = "name: motd\nresources:\n  - { type: file, path: /motd, content: ours }\n";
  await fleet.orchestrator.modules.upload(systemCaller, { content });
  const assignment = { name: "all", selector: "*", modules: ["motd"], ...more };
  await fleet.orchestrator.assignments.create(systemCaller, assignment);
}

function freeze(hours: number): Promise<MaintenanceWindow> {
  const ends_at = new Date(fleet.clock.now() + hours * hourMs).toISOString();
  const window = { reason: "the database moves", mode: "freeze" as const, selector: "role=db", ends_at };
  return fleet.orchestrator.maintenanceWindows.create(systemCaller, window);
}

/** Lets time pass with what it sets off, in steps in which agents are heard. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await fleet.clock.advance(Math.min(left, 10_000));
    await settleAll();
  }
}

async function applies(): Promise<Operation[]> {
  const { items } = await fleet.orchestrator.operations.list(systemCaller, { kind: "apply" });
  const { operations } = servicesOf(fleet.orchestrator);
  for (const { operation_id, held_by } of items) if (!held_by) await endOf(operations, operation_id, 30);
  return (await fleet.orchestrator.operations.list(systemCaller, { kind: "apply" })).items;
}

const pathOf = ({ root }: TestAgent): string => join(root, "motd");
const has = (agent: TestAgent): string | null =>
  existsSync(pathOf(agent)) ? readFileSync(pathOf(agent), "utf8") : null;

test("a scheduled apply is held where it is due in a freeze, and begins when that ends", async () => {
  await assign({ schedule: { cron: "30 * * * *", time_zone: "UTC" } });
  const { id } = await freeze(1);
  await pass(hourMs / 2 + 10_000);
  const [held] = (await applies()).filter(({ held_by }) => held_by);
  expect(held).toMatchObject({ node_id: db.nodeId, status: "queued", held_by: { window_id: id } });
  expect([has(db), has(web)]).toEqual([null, "ours"]);
  await pass(hourMs / 2 - 20_000);
  expect(has(db)).toBeNull();
  await pass(70_000);
  expect((await applies()).map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  expect(has(db)).toBe("ours");
});

test("a scheduled apply all of whose agents are frozen when it is due is held as well, and not passed over", async () => {
  await assign({ selector: "role=db", schedule: { cron: "30 * * * *", time_zone: "UTC" } });
  await freeze(1);
  await pass(hourMs / 2 + 10_000);
  expect((await fleet.orchestrator.rollouts.list(systemCaller)).items).toMatchObject([
    { trigger: "scheduled", status: "running", held: 1 },
  ]);
  expect(fleet.events.map(({ event_type }) => event_type)).not.toContain("schedule.skipped");
  await pass(hourMs / 2 + 60_000);
  expect((await applies()).map(({ status }) => status)).toEqual(["succeeded"]);
  expect(has(db)).toBe("ours");
});

test("enforcement repairs nothing in a freeze, and after it what is still so", async () => {
  await assign({ enforce: true });
  const { operations, drift } = fleet.orchestrator;
  for (const { nodeId: node_id } of [db, web]) await operations.apply(systemCaller, { node_id });
  await freeze(2);
  for (const agent of [db, web]) writeFileSync(pathOf(agent), "theirs");
  const checkBoth = async (): Promise<void> => {
    await pass(300_000);
    for (const { nodeId: node_id } of [db, web])
      expect((await drift.check(systemCaller, { node_id })).status).toBe("drifted");
    await settleAll();
    await applies();
  };
  await checkBoth();
  expect([has(db), has(web)]).toEqual(["theirs", "ours"]);
  await pass(2 * hourMs);
  expect(has(db)).toBe("theirs");
  expect((await drift.check(systemCaller, { node_id: db.nodeId })).status).toBe("drifted");
  await settleAll();
  await applies();
  expect(has(db)).toBe("ours");
});

test("a command is run where nothing is frozen and held elsewhere; refused where all are", async () => {
  const { runs } = fleet.orchestrator;
  const window = await freeze(1);
  const begun = await runs.start(systemCaller, { selector: "*", command: "hostname", wait_seconds: 0 });
  const { operations } = servicesOf(fleet.orchestrator);
  const of = async ({ nodeId: node_id }: TestAgent): Promise<Operation> =>
    (await fleet.orchestrator.operations.list(systemCaller, { node_id })).items[0]!;
  await endOf(operations, (await of(web)).operation_id, 30);
  await settleAll();
  const seen = await runs.get(systemCaller, { rollout_id: begun.rollout_id });
  expect(seen.counts).toMatchObject({ succeeded: 1, queued: 1 });
  const { nodeId: node_id } = db;
  const held = await of(db);
  expect(held).toMatchObject({ status: "queued", held_by: { window_id: window.id } });
  const refused = runs.start(systemCaller, { node_ids: [node_id], command: "true", wait_seconds: 0 });
  await expect(refused).rejects.toMatchObject({ code: "MAINTENANCE_WINDOW" });
  await pass(hourMs + 60_000);
  await endOf(operations, held.operation_id, 30);
  await settleAll();
  expect(await runs.get(systemCaller, { rollout_id: begun.rollout_id })).toMatchObject({
    status: "succeeded",
    counts: { succeeded: 2 },
  });
});

test("a terminal is opened, a plan is made and drift is looked at in a freeze", async () => {
  await assign({ selector: "role=db" });
  await freeze(1);
  const { operations, terminals, drift } = fleet.orchestrator;
  const { nodeId: node_id } = db;
  const { caller } = await fleet.signIn("Operator", "ada");
  const { session_id } = await terminals.open(caller, { node_id, shell: "/bin/sh" });
  expect(await terminals.get(caller, { session_id })).toMatchObject({ status: "active", node_id });
  await terminals.close(caller, { session_id });
  expect(await operations.plan(caller, { node_id })).toMatchObject({ status: "succeeded" });
  const planned = await fleet.orchestrator.rollouts.plan(caller, { name: "all", wait_seconds: 0 });
  expect(planned).toMatchObject({ matched: 1, status: "running" });
  await expect(operations.apply(caller, { node_id })).rejects.toMatchObject({ code: "MAINTENANCE_WINDOW" });
  await expect(drift.check(caller, { node_id })).rejects.toMatchObject({ code: "NO_BASELINE" });
  expect(has(db)).toBeNull();
});
