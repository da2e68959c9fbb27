/**
 * An agent that gives a daemon one configuration after another, in a process to be killed:
 * `reloading-agent.ts <state folder> <root> <seed> <number of the first>`. Prints each number before it is applied.
 */
import { createAgent } from "../../../lib/agent/agent.ts";
import { systemClock } from "../../../lib/clock.ts";
import { fromHex } from "../../../lib/crypto/encoding.ts";
import { resource } from "../agent-commands.ts";
import { TestOrchestrator } from "../test-orchestrator.ts";

/** Gives the daemon a configuration, and has it read that. */
export const configure = (operation_id: string, number: number) => ({
  type: "apply" as const,
  operation_id,
  timeout_seconds: 60,
  allow_empty: false,
  resources: [
    resource({ id: "conf", type: "file", path: "/conf", content: `${number}\n` }),
    // As long as a look at the configuration takes.
    resource({ id: "validate", type: "script", run: "sleep 0.02", run_on: ["conf"] }),
    resource({
      id: "reload",
      type: "script",
      run: "kill -HUP $(cat pid)",
      run_on: ["conf"],
      requires: ["validate"],
    }),
  ],
});

const [stateDir, root = "", seed = "", first] = process.argv.slice(2);
if (stateDir !== undefined && first !== undefined) {
  const orchestrator = new TestOrchestrator(systemClock, fromHex(seed) ?? undefined);
  await orchestrator.start();
  const agent = createAgent({ stateDir, root, dial: async () => orchestrator.transport.connect() });
  await agent.start();
  await orchestrator.happened("connected");
  for (let number = Number(first); ; number += 1) {
    process.stdout.write(`${number}\n`);
    const operation_id = crypto.randomUUID();
    await orchestrator.send(agent.nodeId, configure(operation_id, number));
    await orchestrator.take("result", (result) => result.operation_id === operation_id);
    await orchestrator.send(agent.nodeId, { type: "ack", operation_id });
  }
}
