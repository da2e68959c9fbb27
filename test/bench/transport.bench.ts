/**
 * What the agent protocol costs, over memory sockets: both sides run in this process, so half of each figure is the agent's.
 * Run: node --import tsx test/bench/transport.bench.ts
 */
import { systemClock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";

const handshakes = 2000;
const messages = 50_000;

/** Runs a piece of work and prints its rate and its CPU time. */
async function measure(what: string, count: number, work: () => Promise<void>): Promise<void> {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  const rate = Math.round((count / elapsedMs) * 1000);
  console.log(`${what}: ${rate}/s, ${((user + system) / count).toFixed(1)} us CPU each`);
}

let received = 0;
let onReceived = (): void => {};
const transport = new MemoryTransport({ maxHandshakes: handshakes });
await transport.start(
  {
    clock: systemClock,
    crypto: nodeCrypto,
    logger: silentLogger,
    signer: nodeCrypto.createSigner(nodeCrypto.randomBytes(32)),
    orchestratorTime: () => new Date().toISOString(),
  },
  {
    admit: async () => ({ status: "approved" }),
    connected: async () => {},
    async message() {
      received += 1;
      if (received === messages) onReceived();
    },
    stream: async () => {},
    disconnected: () => {},
    refused: () => {},
  },
);

const agents: TestAgent[] = [];
await measure("handshakes, both sides, agent's key generation included", handshakes, async () => {
  for (let count = 0; count < handshakes; count += 1) {
    const agent = new TestAgent(transport.connect(), {
      crypto: nodeCrypto,
      seed: nodeCrypto.randomBytes(32),
    });
    await agent.join();
    agents.push(agent);
  }
});

const [agent] = agents;
if (!agent) throw new Error("There is no agent.");
const message: AgentMessage = { type: "log", level: "info", message: "x".repeat(260) };
await measure("messages of 300 B, agent to orchestrator, both sides", messages, async () => {
  const done = new Promise<void>((resolve) => (onReceived = resolve));
  for (let count = 0; count < messages; count += 1) {
    agent.say(message);
    if (count % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
});

const commands = 10_000;
const id = "01890000-0000-7000-8000-000000000001";
await measure("signed commands, orchestrator to agent, both sides", commands, async () => {
  for (let count = 0; count < commands; count += 1) {
    await transport.send(agent.nodeId, {
      type: "ack",
      id,
      operation_id: id,
      not_after: "2030-01-01T00:00:00.000Z",
    });
    await agent.heard.next("message");
  }
});
await transport.stop();
