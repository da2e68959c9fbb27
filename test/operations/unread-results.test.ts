/** Results that tell nothing new are acknowledged without being read, so that neither their size nor what is in them costs anything. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

async function setUp() {
  const orchestrated = await createTestOrchestrator();
  const agent = await connectScriptedAgent(orchestrated);
  const node_id = agent.nodeId;
  await orchestrated.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await orchestrated.orchestrator.modules.upload(systemCaller, {
    content: "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n",
  });
  const apply = () =>
    orchestrated.orchestrator.operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  /** A result that reading would refuse. */
  const sayUnreadable = (operation_id: string): void =>
    agent.link.send({ ...emptyResult(operation_id), results: [{ no: "result" }] } as never);
  return { orchestrated, agent, apply, sayUnreadable };
}

test("a result of an operation that nobody knows is acknowledged unread", async () => {
  const { orchestrated, agent, sayUnreadable } = await setUp();
  await using _orchestrator = orchestrated;
  await using _agent = agent;
  const operation_id = "01890000-0000-7000-8000-00000000dead";
  sayUnreadable(operation_id);
  expect(await agent.next("ack")).toMatchObject({ operation_id });
  expect(orchestrated.transport.isConnected(agent.nodeId)).toBe(true);
});

test("a result that came before is acknowledged unread, and the next operation goes on", async () => {
  const { orchestrated, agent, apply, sayUnreadable } = await setUp();
  await using _orchestrator = orchestrated;
  await using _agent = agent;
  const { operation_id } = await apply();
  await agent.next("apply");
  agent.link.send(emptyResult(operation_id));
  await agent.next("ack");
  sayUnreadable(operation_id);
  expect(await agent.next("ack")).toMatchObject({ operation_id });
  const second = await apply();
  expect(await agent.next("apply")).toMatchObject({ operation_id: second.operation_id });
});
