/** A fleet that comes back tells nothing new: that costs no write, and is told all the same. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { AttributesDocument } from "../../lib/agents/documents.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { connectScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

const attributesOf = (test: TestOrchestrator, node_id: string) =>
  test.orchestrator.agents.attributes(systemCaller, { node_id });

const stored = async (test: TestOrchestrator, node_id: string) =>
  (await test.storage.get<AttributesDocument>("agent_attributes", node_id))!;

/** Has an agent tell its attributes now, and resolves when an operator sees them. */
async function tell(test: TestOrchestrator, agent: ScriptedAgent, attributes: Record<string, string>) {
  const { nodeId: node_id } = agent;
  const collected_at = new Date(test.clock.now()).toISOString();
  // The orchestrator's clock was moved on: the agent may be on its way back.
  await waitFor(() => agent.link.send({ type: "attributes", attributes, collected_at }));
  await waitFor(async () =>
    expect(await attributesOf(test, node_id)).toEqual({ node_id, attributes, collected_at }),
  );
  return collected_at;
}

it("attributes that an agent tells again are not written within the hour, and collected_at goes on", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const revisions: number[] = [];
  for (const [family, minutes] of [
    ["debian", 1],
    ["debian", 1],
    ["alpine", 1],
    ["alpine", 61],
    ["alpine", 0],
  ] as const) {
    await tell(test, agent, { "os.family": family });
    revisions.push((await stored(test, node_id)).revision);
    for (let minute = 0; minute < minutes; minute += 1) await test.clock.advance(60_000);
  }
  expect(revisions).toEqual([1, 1, 2, 2, 3]);
});

it("what was told while a clock was ahead is written anew once it is right", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  test.clock.jump(2 * 86_400_000);
  await tell(test, agent, { rack: "r1" });
  test.clock.jump(-2 * 86_400_000);
  const collected_at = await tell(test, agent, { rack: "r1" });
  expect(await stored(test, node_id)).toMatchObject({ revision: 2, value: { collected_at } });
});

it("when agents told the same again last is known after a stop, and what another wrote meanwhile stays", async () => {
  const data = new MemoryData();
  const first = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  const agents = [await connectScriptedAgent(first), await connectScriptedAgent(first)];
  const told: string[] = [];
  for (const agent of agents) {
    const { nodeId: node_id } = agent;
    await first.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    await tell(first, agent, { rack: "r1" });
  }
  await first.clock.advance(60_000);
  for (const agent of agents) told.push(await tell(first, agent, { rack: "r1" }));
  const [kept, changed] = agents.map(({ nodeId }) => nodeId) as [string, string];
  const { value } = await stored(first, changed);
  const newer = { ...value, attributes: { rack: "r2" } };
  await first.storage.commit([{ kind: "put", collection: "agent_attributes", key: changed, value: newer }]);
  for (const agent of agents) await agent.link.stop();
  await first.orchestrator.stop();

  await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  expect(await attributesOf(second, kept)).toMatchObject({
    attributes: { rack: "r1" },
    collected_at: told[0],
  });
  expect(await attributesOf(second, changed)).toMatchObject({ attributes: { rack: "r2" } });
});

it("what another process writes of a machine in the moment of a stop stays", async () => {
  const data = new MemoryData();
  const storage = new RacingStorage(
    (writes) => writes.some((write) => "collection" in write && write.collection === "agent_attributes"),
    { data },
  );
  const first = await createTestOrchestrator({ storage });
  const agent = await connectScriptedAgent(first);
  const { nodeId: node_id } = agent;
  await first.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await tell(first, agent, { rack: "r1" });
  await first.clock.advance(60_000);
  await tell(first, agent, { rack: "r1" });
  const { value } = await stored(first, node_id);
  const newer = { ...value, attributes: { rack: "r2" } };
  storage.before = () =>
    storage.commit([{ kind: "put", collection: "agent_attributes", key: node_id, value: newer }]);
  await agent.link.stop();
  await first.orchestrator.stop();
  expect(storage.before).toBeNull();

  await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  expect(await attributesOf(second, node_id)).toMatchObject({ attributes: { rack: "r2" } });
});
