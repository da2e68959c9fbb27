/**
 * An agent in a process of its own that applies one script again and again, to be killed:
 * `holding-agent.ts <state folder> <seed> <cgroup or subreaper> <first operation> <script file>`.
 * Prints a line for each result and each signal; a first SIGTERM stops the agent, a second one at once.
 */
import { readFileSync } from "node:fs";
import { createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import { fromHex } from "../../lib/crypto/encoding.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { resource, uuid } from "./agent-commands.ts";
import { TestOrchestrator } from "./test-orchestrator.ts";

const [stateDir = "", seed = "", holdBy = "", first = "", script = ""] = process.argv.slice(2);
const orchestrator = new TestOrchestrator(systemClock, fromHex(seed) ?? undefined);
await orchestrator.start();
const host = new LocalHost({
  stateFolder: stateDir,
  holdBy: holdBy === "cgroup" ? "cgroup" : "subreaper",
});
const agent = createAgent({ stateDir, host, dial: async () => orchestrator.transport.connect() });
let stops = 0;
process.on("SIGTERM", () => {
  stops += 1;
  console.log(`stop ${stops}`);
  void agent.stop({ now: stops > 1 }).then(() => process.exit(0));
});
// Timers of the clock don't keep a process alive.
setInterval(() => {}, 60_000);
await agent.start();
await orchestrator.happened("connected");
console.log("up");
const text = readFileSync(script, "utf8");
try {
  for (let number = Number(first); ; number += 1) {
    const ordered = uuid(number);
    const done = `${script}.done.${number}`;
    const work = { id: "work", type: "script", run: `${text}\ntouch ${done}\n`, creates: done };
    await orchestrator.send(agent.nodeId, {
      type: "apply",
      operation_id: ordered,
      timeout_seconds: 600,
      allow_empty: false,
      resources: [resource(work)],
    });
    // Those of earlier lives come first.
    for (let told = ""; told !== ordered;) {
      const { operation_id, status, error } = await orchestrator.take("result");
      console.log(JSON.stringify({ operation_id, status, error }));
      await orchestrator.send(agent.nodeId, { type: "ack", operation_id });
      told = operation_id;
    }
  }
} catch (error) {
  // An agent that was told to stop hangs up.
  if (stops === 0) throw error;
}
