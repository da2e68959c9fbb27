/** An agent that applies once, in a process to be killed: `applying-agent.ts <state folder> <root> <seed>`. */
import { createAgent } from "../../../lib/agent/agent.ts";
import { systemClock } from "../../../lib/clock.ts";
import { fromHex } from "../../../lib/crypto/encoding.ts";
import { TestOrchestrator } from "../test-orchestrator.ts";
import { killedApply } from "./killed-apply.ts";

const [stateDir = "", root = "", seed = ""] = process.argv.slice(2);
const orchestrator = new TestOrchestrator(systemClock, fromHex(seed) ?? undefined);
await orchestrator.start();
const agent = createAgent({ stateDir, root, dial: async () => orchestrator.transport.connect() });
await agent.start();
await orchestrator.happened("connected");
await orchestrator.send(agent.nodeId, killedApply);
await orchestrator.take("result");
await agent.stop();
process.exit(0);
