/** What lists of agents tell of applies and drift checks, through every turn of an agent, and as filters. */
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCaller, type Agent } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { findingsAfterCheck } from "../../lib/drift/findings-after.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { itemsOf } from "../support/all-pages.ts";
import { settleAll } from "../support/deferred.ts";
import { newFolders, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

let data: MemoryData;
let fleet: TestOrchestrator;
let agents: TestAgent[];
beforeEach(async () => {
  data = new MemoryData();
  fleet = await createTestOrchestrator({ storage: new MemoryStorage({ data }), driftIntervalSeconds: 0 });
  agents = [];
  for (let n = 0; n < 3; n++) agents.push(await startApprovedAgent(fleet, newFolders()));
  agents.sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1));
});
afterEach(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const upload = (content: string): Promise<unknown> =>
  fleet.orchestrator.modules.upload(systemCaller, { content });
const file = (name: string): string =>
  `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: ours }\n`;
const apply = ({ nodeId: node_id }: TestAgent, ...modules: string[]) =>
  fleet.orchestrator.operations.apply(systemCaller, { node_id, ...(modules.length > 0 && { modules }) });
const check = ({ nodeId: node_id }: TestAgent) => fleet.orchestrator.drift.check(systemCaller, { node_id });
const read = ({ nodeId: node_id }: TestAgent): Promise<Agent> =>
  fleet.orchestrator.agents.get(systemCaller, { node_id });
const find = async (filter: Parameters<typeof fleet.orchestrator.agents.list>[1]): Promise<string[]> =>
  (await fleet.orchestrator.agents.list(systemCaller, filter)).items.map(({ node_id }) => node_id);
const counts = () => servicesOf(fleet.orchestrator).agents.findings.counts();

test("an agent tells its newest apply, what is in place and what has drifted, and all of it goes back", async () => {
  const [first, second] = agents as [TestAgent, TestAgent, TestAgent];
  for (const each of [await read(first), ...(await fleet.orchestrator.agents.list(systemCaller)).items])
    expect(each).not.toHaveProperty("last_apply");
  await upload(file("web"));
  await upload(file("base"));
  const { operation_id } = await apply(first, "web", "base");
  expect(await read(first)).toMatchObject({
    last_apply: { operation_id, status: "succeeded" },
    modules: { web: 1, base: 1 },
  });
  expect(await read(first)).not.toHaveProperty("drift");

  writeFileSync(join(first.root, "web"), "theirs");
  const { drift_id, checked_at } = await check(first);
  expect(await read(first)).toMatchObject({ drift: { drift_id, status: "drifted", checked_at } });
  expect(counts()).toEqual({ last_apply: { succeeded: 1 }, drift: { drifted: 1 }, unsuccessful: 0 });
  expect(await find({ drift: "drifted" })).toEqual([first.nodeId]);

  // An apply of one module alone says nothing of the others; one of everything does.
  await apply(first, "base");
  expect(await find({ drift: "drifted" })).toEqual([first.nodeId]);
  await apply(first);
  expect(await read(first)).not.toHaveProperty("drift");
  expect(counts().drift).toEqual({});
  await check(first);
  expect(await find({ drift: "in_sync" })).toEqual([first.nodeId]);

  const blocked = join(second.root, "deep");
  mkdirSync(blocked);
  await upload(file("deep"));
  expect((await apply(second, "deep")).status).toBe("failed");
  expect(counts()).toMatchObject({ last_apply: { succeeded: 1, failed: 1 }, unsuccessful: 1 });
  expect(await find({ last_apply: "failed" })).toEqual([second.nodeId]);
  expect(await find({ last_apply: "unsuccessful", drift: "in_sync" })).toEqual([]);
  expect((await read(second)).modules).toBeUndefined();
  rmdirSync(blocked);
  await apply(second, "deep");
  expect(await find({ last_apply: "unsuccessful" })).toEqual([]);
  expect(counts()).toEqual({ last_apply: { succeeded: 2 }, drift: { in_sync: 1 }, unsuccessful: 0 });
});

test("what never began hides nothing of what ended before it, or after it", async () => {
  const { orchestrator, transport } = fleet;
  const agent = await connectScriptedAgent(fleet);
  const { nodeId: node_id } = agent;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await upload(file("web"));
  const ask = () =>
    orchestrator.operations.apply(systemCaller, { node_id, modules: ["web"], wait_seconds: 0 });
  const last = async () => (await orchestrator.agents.get(systemCaller, { node_id })).last_apply;
  const first = await ask();
  await agent.next("apply");
  const second = await ask();
  await orchestrator.operations.cancel(systemCaller, { operation_id: second.operation_id });
  agent.link.send({ ...emptyResult(first.operation_id), status: "failed" });
  await agent.next("ack");
  await settleAll();
  expect(await last()).toMatchObject({ operation_id: first.operation_id, status: "failed" });
  expect(counts().unsuccessful).toBe(1);
  await agent.link.stop();
  await waitFor(() => expect(transport.isConnected(node_id)).toBe(false));
  const third = await orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["web"],
    when_offline: "queue",
    wait_seconds: 0,
  });
  await orchestrator.operations.cancel(systemCaller, { operation_id: third.operation_id });
  expect(await last()).toMatchObject({ operation_id: first.operation_id, status: "failed" });
  expect(await find({ last_apply: "unsuccessful" })).toEqual([node_id]);
});

test("an apply of which nobody knows how it ended counts as no failure", async () => {
  const agent = await connectScriptedAgent(fleet);
  const { nodeId: node_id } = agent;
  const { orchestrator } = fleet;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await upload(file("web"));
  await orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["web"],
    timeout_seconds: 1,
    wait_seconds: 0,
  });
  await agent.next("apply");
  await agent.link.stop();
  await waitFor(() => expect(fleet.transport.isConnected(node_id)).toBe(false));
  await waitFor(async () => {
    await fleet.clock.advance(60_000);
    expect((await orchestrator.agents.get(systemCaller, { node_id })).last_apply?.status).toBe("unknown");
  });
  expect(await find({ last_apply: "unknown" })).toEqual([node_id]);
  expect(await find({ last_apply: "unsuccessful" })).toEqual([]);
  expect(counts()).toMatchObject({ last_apply: { unknown: 1 }, unsuccessful: 0 });
});

test("a check and an apply that end in one moment are both told", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => "collection" in write && write.collection === "agent_findings"),
  );
  await using raced = await createTestOrchestrator({ storage, driftIntervalSeconds: 0 });
  await using agent = await startApprovedAgent(raced, newFolders());
  const { nodeId: node_id } = agent;
  const { modules, operations, agents: all } = raced.orchestrator;
  await modules.upload(systemCaller, { content: file("web") });
  await modules.upload(systemCaller, { content: file("base") });
  await operations.apply(systemCaller, { node_id, modules: ["base"] });
  const drift = { drift_id: "d", status: "drifted", checked_at: "2030-01-01T00:00:00.000Z" } as const;
  storage.before = async () => {
    const { findings } = servicesOf(raced.orchestrator).agents;
    await storage.commit(await findings.change(node_id, (before) => ({ ...before, drift })));
  };
  const { operation_id } = await operations.apply(systemCaller, { node_id, modules: ["web"] });
  expect(storage.before).toBeNull();
  expect(await all.get(systemCaller, { node_id })).toMatchObject({ last_apply: { operation_id }, drift });
});

test("a check that can't tell hides nothing of what was found, and is told beside it until one can", async () => {
  const agent = await connectScriptedAgent(fleet);
  const { orchestrator } = fleet;
  const { nodeId: node_id } = agent;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await upload(file("web"));
  const operation = orchestrator.operations.apply(systemCaller, { node_id, modules: ["web"] });
  const command = await agent.next("apply");
  agent.link.send(emptyResult(command.operation_id));
  await operation;
  const end = async (more: object): Promise<string> => {
    const checked = orchestrator.drift.check(systemCaller, { node_id });
    const { operation_id } = await agent.next("check");
    agent.link.send({ ...emptyResult(operation_id), ...more });
    await checked;
    return operation_id;
  };
  const results: ResourceResult[] = [
    {
      resource_id: "f",
      module: "web",
      type: "file",
      identity: "/web",
      outcome: "would_change",
      action: "update",
      changes: [],
      caused_by: [],
      attempts: 1,
      duration_ms: 1,
    },
  ];
  const drifted = await end({ results });
  const failed = await end({ status: "failed" });
  const read = async () => orchestrator.agents.get(systemCaller, { node_id });
  expect(await read()).toMatchObject({
    drift: { drift_id: drifted, status: "drifted" },
    failed_drift_check: { drift_id: failed },
  });
  expect(counts().drift).toEqual({ drifted: 1, failed: 1 });
  expect(await find({ drift: "drifted" })).toEqual([node_id]);
  expect(await find({ drift: "failed" })).toEqual([node_id]);
  const ids = async (status?: "in_sync" | "drifted" | "failed") =>
    (await orchestrator.drift.newest(systemCaller, { ...(status && { status }) })).items.map(
      ({ drift_id }) => drift_id,
    );
  expect([await ids(), await ids("drifted"), await ids("failed")]).toEqual([[failed], [drifted], [failed]]);
  const insync = await end({});
  expect(await read()).toMatchObject({ drift: { drift_id: insync, status: "in_sync" } });
  expect(await read()).not.toHaveProperty("failed_drift_check");
  expect(counts().drift).toEqual({ in_sync: 1 });
  const failedAgain = await end({ status: "failed" });
  expect([await ids(), await ids("in_sync"), await ids("failed")]).toEqual([
    [failedAgain],
    [insync],
    [failedAgain],
  ]);
});

test("a check that turns out to be about another baseline is no finding any more", () => {
  const record = {
    drift_id: "b",
    node_id: "n",
    baseline_operation_id: "x",
    trigger: "manual",
    checked_at: "2030-01-01T00:00:00.000Z",
    duration_ms: 1,
    counts: { total: 0, unchanged: 0, changed: 0, would_change: 0, removed: 0, failed: 0, skipped: 0 },
  } as const;
  const { checked_at } = record;
  const drift = { drift_id: "a", status: "drifted", checked_at } as const;
  const before = { drift, failed_drift_check: { drift_id: "b", checked_at } };
  expect(findingsAfterCheck(before, { ...record, status: "cancelled" }, false)).toEqual({ drift });
  expect(findingsAfterCheck(before, { ...record, status: "in_sync" }, true)).toEqual({ drift });
  expect(findingsAfterCheck({ drift }, { ...record, status: "cancelled" }, false)).toBeNull();
  const reversed = { drift: { ...drift, drift_id: "b" }, failed_drift_check: { drift_id: "a", checked_at } };
  const { failed_drift_check } = reversed;
  expect(findingsAfterCheck(reversed, { ...record, status: "cancelled" }, false)).toEqual({
    failed_drift_check,
  });
  expect(findingsAfterCheck(reversed, { ...record, status: "drifted" }, true)).toEqual({
    failed_drift_check,
  });
});

test("what is forgotten is no module of the agent any more", async () => {
  const [agent] = agents as [TestAgent];
  await upload(file("web"));
  await upload(file("base"));
  await apply(agent, "web", "base");
  const { nodeId: node_id } = agent;
  await fleet.orchestrator.operations.forget(systemCaller, { node_id, resources: ["web"] });
  expect((await read(agent)).modules).toEqual({ base: 1 });
});

test("agents that are rejected are not counted, and count again; with a removed one everything goes", async () => {
  const [first, second] = agents as [TestAgent, TestAgent];
  await upload(file("web"));
  for (const agent of agents) await apply(agent, "web");
  const decide = ({ nodeId: node_id }: TestAgent, status: "approved" | "rejected") =>
    fleet.orchestrator.agents.setStatus(systemCaller, { node_id, status });
  await decide(first, "rejected");
  expect(counts().last_apply).toEqual({ succeeded: 2 });
  await decide(first, "approved");
  expect(counts().last_apply).toEqual({ succeeded: 3 });
  await decide(second, "rejected");
  await fleet.orchestrator.agents.remove(systemCaller, { node_id: second.nodeId });
  expect(counts().last_apply).toEqual({ succeeded: 2 });
  expect(await fleet.storage.get("agent_findings", second.nodeId)).toBeNull();
});

test("pages of every size put together are the whole list, each agent once", async () => {
  await upload(file("web"));
  for (const agent of agents) {
    await apply(agent, "web");
    writeFileSync(join(agent.root, "web"), "theirs");
    await check(agent);
  }
  const ids = agents.map(({ nodeId }) => nodeId);
  const { agents: listed, drift } = fleet.orchestrator;
  for (const limit of [1, 2, 3, 4]) {
    for (const filter of [{ drift: "drifted" }, { last_apply: "succeeded" }] as const) {
      const found = await itemsOf((page) => listed.list(systemCaller, { ...filter, ...page }), limit);
      expect(found.map(({ node_id }) => node_id)).toEqual(ids);
    }
    const records = await itemsOf((page) => drift.newest(systemCaller, page), limit);
    expect(records.map(({ node_id }) => node_id)).toEqual(ids);
  }
});

test("the newest check of each agent is listed with its name and counts, by what it found and by selector", async () => {
  const [first, second] = agents as [TestAgent, TestAgent];
  await upload(file("web"));
  for (const agent of [first, second]) await apply(agent, "web");
  writeFileSync(join(second.root, "web"), "theirs");
  await check(first);
  const { drift_id } = await check(second);
  const { drift } = fleet.orchestrator;
  const names = async (filter: Parameters<typeof drift.newest>[1]) =>
    (await drift.newest(systemCaller, filter)).items.map(({ node_id }) => node_id);
  const { name: agent_name } = await read(second);
  expect((await drift.newest(systemCaller, { status: "drifted" })).items).toMatchObject([
    { drift_id, agent_name, status: "drifted", counts: { would_change: 1, total: 1 } },
  ]);
  expect(await names({})).toEqual([first.nodeId, second.nodeId]);
  expect(await names({ selector: `name=${agent_name}` })).toEqual([second.nodeId]);
  expect(await names({ selector: `name=${agent_name}`, status: "in_sync" })).toEqual([]);
  await expect(names({ selector: "((" })).rejects.toMatchObject({ code: "SELECTOR_INVALID" });
});

test("the version of the program is a filter", async () => {
  const { agent_version } = await read(agents[0]!);
  expect(await find({ agent_version })).toHaveLength(3);
  expect(await find({ agent_version: `${agent_version}x` })).toEqual([]);
});

test("everything of it is known after a restart", async () => {
  await upload(file("web"));
  for (const agent of agents) await apply(agent, "web");
  const [first] = agents as [TestAgent];
  writeFileSync(join(first.root, "web"), "theirs");
  await check(first);
  const before = await read(first);
  for (const agent of agents) await agent.agent.stop();
  await fleet.orchestrator.stop();
  await using again = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  expect(await again.orchestrator.agents.get(systemCaller, { node_id: first.nodeId })).toMatchObject({
    last_apply: before.last_apply,
    drift: before.drift,
    modules: { web: 1 },
  });
  expect((await again.orchestrator.summary.get(systemCaller)).drift).toEqual({ drifted: 1 });
});
