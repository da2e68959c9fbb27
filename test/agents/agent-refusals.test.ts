import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { settleAll } from "../support/deferred.ts";
import { waitFor } from "../support/wait-for.ts";

function dial(
  { transport }: TestOrchestrator,
  { number = 1, address }: { number?: number; address: string },
) {
  const [agentEnd, orchestratorEnd] = createSocketPair(address);
  transport.accept(orchestratorEnd);
  return new TestAgent(agentEnd, { crypto: nodeCrypto, seed: new Uint8Array(32).fill(number) });
}

async function approved(test: TestOrchestrator, number: number, address: string): Promise<TestAgent> {
  const agent = dial(test, { number, address });
  await agent.join();
  await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(true));
  await settleAll();
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  return agent;
}

/** Strangers from many addresses, each of whom breaks the protocol at once. */
async function flood(test: TestOrchestrator, addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    for (let count = 0; count < 12; count += 1) dial(test, { address }).socket.send("none of ours");
    await settleAll();
  }
}

async function dialWithCopy(test: TestOrchestrator, number: number, address: string): Promise<void> {
  const copy = dial(test, { number, address });
  copy.greet();
  await copy.heard.next("refused");
  await settleAll();
}

function refusals({ events }: TestOrchestrator, nodeId?: string) {
  return events.filter(
    ({ event_type, target }) =>
      event_type === "agent.refused" && (nodeId === undefined || target?.id === nodeId),
  );
}

const addresses = Array.from({ length: 8 }, (_, number) => `203.0.113.${number + 1}`);

it("tells sixty refusals of strangers a minute, ten of one address", async () => {
  await using test = await createTestOrchestrator();
  await flood(test, addresses.slice(0, 1));
  expect(refusals(test)).toHaveLength(10);
  await flood(test, addresses.slice(1));
  expect(refusals(test)).toHaveLength(60);
});

it("tells of a copy of an agent's key, whatever strangers do meanwhile, at its address too", async () => {
  await using test = await createTestOrchestrator();
  const agent = await approved(test, 1, "192.0.2.1");
  await flood(test, addresses);
  await dialWithCopy(test, 1, "203.0.113.1");
  expect(refusals(test, agent.nodeId)).toMatchObject([
    {
      metadata: {
        code: "AGENT_ALREADY_CONNECTED",
        remote_address: "203.0.113.1",
        connected_address: "192.0.2.1",
      },
    },
  ]);
});

it("names the agent, where it is known which", async () => {
  await using test = await createTestOrchestrator();
  const agent = await approved(test, 1, "192.0.2.1");
  const { hostname } = await test.orchestrator.agents.get(systemCaller, { node_id: agent.nodeId });
  await dialWithCopy(test, 1, "203.0.113.1");
  await test.orchestrator.agents.rename(systemCaller, { node_id: agent.nodeId, name: "web-1" });
  await dialWithCopy(test, 1, "203.0.113.1");
  expect(hostname).not.toBe(agent.nodeId);
  expect(refusals(test, agent.nodeId)).toMatchObject([
    { target: { type: "agent", id: agent.nodeId, name: hostname } },
    {
      target: { name: "web-1" },
      summary: "A connection of agent web-1 was refused: AGENT_ALREADY_CONNECTED",
    },
  ]);
  dial(test, { address: "203.0.113.2" }).socket.send("none of ours");
  await settleAll();
  expect(refusals(test).at(-1)).toMatchObject({
    summary: "A connection of an agent was refused: PROTOCOL_ERROR",
  });
});

it("tells ten refusals of one agent a minute, and those of others beside", async () => {
  await using test = await createTestOrchestrator();
  const [first, second] = [await approved(test, 1, "192.0.2.1"), await approved(test, 2, "192.0.2.2")];
  for (let count = 0; count < 12; count += 1) await dialWithCopy(test, 1, `203.0.113.${count + 1}`);
  await dialWithCopy(test, 2, "203.0.113.1");
  expect(refusals(test, first.nodeId)).toHaveLength(10);
  expect(refusals(test, second.nodeId)).toHaveLength(1);
});

it("keeps what is told of copies apart from agents that only wait", async () => {
  await using test = await createTestOrchestrator();
  const agent = await approved(test, 1, "192.0.2.1");
  const waiting = Array.from({ length: 8 }, (_, at) => at + 10);
  for (const number of waiting) {
    const address = `198.51.100.${number}`;
    await dial(test, { number, address }).join();
    await settleAll();
    for (let count = 0; count < 10; count += 1) await dialWithCopy(test, number, address);
  }
  expect(refusals(test)).toHaveLength(60);
  await dialWithCopy(test, 1, "203.0.113.1");
  expect(refusals(test, agent.nodeId)).toHaveLength(1);
});

it("is told under the id of the agent where its record can't be read", async () => {
  await using test = await createTestOrchestrator();
  const agent = await approved(test, 1, "192.0.2.1");
  const get = test.storage.get.bind(test.storage);
  test.storage.get = (collection, key) =>
    collection === "agents" ? Promise.reject(new OrchestratorError("STORAGE_FAILED")) : get(collection, key);
  await dialWithCopy(test, 1, "203.0.113.1");
  test.storage.get = get;
  expect(refusals(test)).toMatchObject([
    { target: { id: agent.nodeId, name: agent.nodeId }, metadata: { code: "AGENT_ALREADY_CONNECTED" } },
  ]);
});
