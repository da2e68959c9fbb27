/** What lists of agents tell of applies and drift checks, through every turn of an agent, and as filters. */
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemCaller, type Agent } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { newFolders, startApprovedAgent, type TestAgent } from "../support/fleet.ts";

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
  for (const limit of [1, 2, 3, 4]) {
    for (const filter of [{ drift: "drifted" }, { last_apply: "succeeded" }] as const) {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await fleet.orchestrator.agents.list(systemCaller, { ...filter, limit, cursor });
        found.push(...page.items.map(({ node_id }) => node_id));
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      expect(found).toEqual(ids);
    }
    const records: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await fleet.orchestrator.drift.newest(systemCaller, { limit, cursor });
      records.push(...page.items.map(({ node_id }) => node_id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(records).toEqual(ids);
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
