/** Agents that come and go, in memory. */
import { expect } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { settleAll } from "./deferred.ts";
import { waitFor } from "./wait-for.ts";

/** Opens the connection of an agent, whose key follows from its number, that has said nothing yet. */
export function dial(test: TestOrchestrator, number: number): TestAgent {
  const [agentEnd, orchestratorEnd] = createSocketPair("192.0.2.1");
  test.transport.accept(orchestratorEnd);
  const seed = new Uint8Array(32);
  new DataView(seed.buffer).setUint32(0, number);
  return new TestAgent(agentEnd, { crypto: nodeCrypto, seed, hostname: `machine-${number}` });
}

/** Connects such an agent, and has the orchestrator know it. */
export async function connect(test: TestOrchestrator, number: number): Promise<TestAgent> {
  const agent = dial(test, number);
  await agent.join();
  await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(true));
  await settleAll();
  return agent;
}

/** The same, approved. */
export async function approved(test: TestOrchestrator, number: number): Promise<TestAgent> {
  const agent = await connect(test, number);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  return agent;
}

/** Agents go away. */
export async function leave(test: TestOrchestrator, ...agents: TestAgent[]): Promise<void> {
  for (const agent of agents) agent.socket.close(1000, "");
  for (const { nodeId } of agents)
    await waitFor(() => expect(test.transport.isConnected(nodeId)).toBe(false));
  await settleAll();
}
