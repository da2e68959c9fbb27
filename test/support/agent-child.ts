/**
 * An agent and its orchestrator in a process of their own, to be killed: `agent-child.ts <state folder> <root> <seed>`.
 * Does the first apply to its end, without acknowledging it, then begins the second.
 */
import { createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { fromHex } from "../../lib/crypto/encoding.ts";
import { firstApply, secondApply } from "./kill-scenario.ts";
import { TestOrchestrator } from "./test-orchestrator.ts";

const [stateDir = "", root = "", seed = ""] = process.argv.slice(2);
const orchestrator = new TestOrchestrator(systemClock, fromHex(seed) ?? undefined);
await orchestrator.start();
const agent = createAgent({ stateDir, root, dial: async () => orchestrator.transport.connect() });
await agent.start();
await orchestrator.happened("connected");
await orchestrator.send(agent.nodeId, firstApply);
await orchestrator.take("result");
await orchestrator.send(agent.nodeId, secondApply);
// Timers of the clock don't keep a process alive.
setInterval(() => {}, 60_000);
