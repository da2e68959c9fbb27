import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

it("operations are listed for one agent, newest first and page by page, without those of others", async () => {
  await using test = await createTestOrchestrator();
  const { agents, operations } = test.orchestrator;
  await using mine = await connectScriptedAgent(test);
  await using other = await connectScriptedAgent(test);
  const asked: string[] = [];
  for (const { nodeId } of [mine, other])
    await agents.setStatus(systemCaller, { node_id: nodeId, status: "approved" });
  for (const agent of [mine, other, mine, mine]) {
    const { operation_id } = await operations.apply(systemCaller, { node_id: agent.nodeId, wait_seconds: 0 });
    await agent.next("apply");
    agent.link.send(emptyResult(operation_id));
    if (agent === mine) asked.unshift(operation_id);
    await test.clock.advance(1_000);
  }
  const input = { node_id: mine.nodeId, limit: 2 };
  const first = await operations.listForAgent(systemCaller, input);
  const rest = await operations.listForAgent(systemCaller, { ...input, cursor: first.next_cursor! });
  const ids = [...first.items, ...rest.items].map(({ operation_id }) => operation_id);
  expect(ids).toEqual(asked);
  expect(rest.next_cursor).toBeNull();
});
