import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { itemsOf } from "../support/all-pages.ts";
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

it("operations and checks of an agent that was removed can be listed, and those of one that there never was can't", async () => {
  await using test = await createTestOrchestrator();
  const { agents, drift, operations } = test.orchestrator;
  await using agent = await connectScriptedAgent(test);
  const node_id = agent.nodeId;
  const lists = [operations.listForAgent.bind(operations), drift.list.bind(drift)];
  const counts = (): Promise<number[]> =>
    Promise.all(lists.map(async (list) => (await list(systemCaller, { node_id })).items.length));
  expect(await counts()).toEqual([0, 0]);
  const never = { code: "NOT_FOUND", message: "This agent was never checked for drift." };
  await expect(drift.latest(systemCaller, { node_id })).rejects.toMatchObject(never);
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const { operation_id } = await operations.apply(systemCaller, { node_id, wait_seconds: 0 });
  await agent.next("apply");
  agent.link.send(emptyResult(operation_id));
  await expect
    .poll(async () => (await operations.get(systemCaller, { operation_id })).status)
    .toBe("succeeded");
  const { drift_id } = await drift.check(systemCaller, { node_id, wait_seconds: 0 });
  await agent.next("check");
  agent.link.send(emptyResult(drift_id));
  await expect.poll(async () => (await drift.get(systemCaller, { drift_id })).status).toBe("in_sync");
  expect(await counts()).toEqual([1, 1]);
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  expect(await counts()).toEqual([1, 1]);
  await agents.remove(systemCaller, { node_id });
  expect(await counts()).toEqual([1, 1]);
  const stranger = { node_id: node_id.replace(/^./, (first) => (first === "0" ? "1" : "0")) };
  for (const read of [...lists, drift.latest.bind(drift)])
    await expect(read(systemCaller, stranger)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: `There is no agent ${stranger.node_id}.`,
    });
});

it("operations are listed in pages of any size, by whatever they are chosen, each once", async () => {
  await using test = await createTestOrchestrator();
  const { agents, operations } = test.orchestrator;
  await using agent = await connectScriptedAgent(test);
  const node_id = agent.nodeId;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    const { operation_id } = await operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    await agent.next("apply");
    agent.link.send(emptyResult(operation_id));
    made.unshift(operation_id);
    await test.clock.advance(1_000);
  }
  await expect
    .poll(async () => (await operations.list(systemCaller, { status: "succeeded" })).items)
    .toHaveLength(made.length);
  const id_prefix = made[0]!.slice(0, 8);
  const from = "2030-01-01T00:00:00.000Z";
  const to = new Date(test.clock.now()).toISOString();
  const filters = [
    {},
    { id_prefix },
    { node_id },
    { kind: "apply" },
    { status: "succeeded" },
    { from },
    { to },
  ];
  const both = filters.flatMap((one) => filters.map((other) => ({ ...one, ...other })));
  const choices = both as Parameters<typeof operations.list>[1][];
  for (const filter of choices)
    for (const limit of [1, 2, 5]) {
      const found = await itemsOf((page) => operations.list(systemCaller, { ...filter, ...page }), limit);
      const ids = found.map(({ operation_id }) => operation_id);
      expect(ids, JSON.stringify({ filter, limit })).toEqual(made);
    }
});
