/** A fleet that comes back tells nothing new: that costs no write, and is told all the same. */
import { expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("attributes that an agent tells again are not written within the hour, and collected_at goes on", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const tell = async (attributes: Record<string, string>): Promise<number> => {
    const collected_at = new Date(test.clock.now()).toISOString();
    agent.link.send({ type: "attributes", attributes, collected_at });
    await vi.waitFor(async () =>
      expect(await test.orchestrator.agents.attributes(systemCaller, { node_id })).toEqual({
        node_id,
        attributes,
        collected_at,
      }),
    );
    return (await test.storage.get("agent_attributes", node_id))!.revision;
  };
  expect(await tell({ "os.family": "debian" })).toBe(1);
  await test.clock.advance(60_000);
  expect(await tell({ "os.family": "debian" })).toBe(1);
  await test.clock.advance(60_000);
  expect(await tell({ "os.family": "alpine" })).toBe(2);
  await test.clock.advance(60_000);
  expect(await tell({ "os.family": "alpine" })).toBe(2);
  agent.link.send({ type: "log", level: "info", message: "still here" });
  for (let minutes = 0; minutes < 61; minutes += 1) await test.clock.advance(60_000);
  await using again = await connectScriptedAgent(test, agent.keys);
  again.link.send({
    type: "attributes",
    attributes: { "os.family": "alpine" },
    collected_at: new Date(test.clock.now()).toISOString(),
  });
  await vi.waitFor(async () =>
    expect((await test.storage.get("agent_attributes", node_id))!.revision).toBe(3),
  );
});
