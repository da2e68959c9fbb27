/**
 * A value that could not be read once: what was to take it out of what an agent tells was kept without it, and the value stood in results for
 * as long as the process ran.
 */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { StoredDocument } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

/** Can't read a value of a secret so many times. */
class FailingReads extends MemoryStorage {
  failures = 0;

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    if (collection === "secret_values" && this.failures > 0) {
      this.failures -= 1;
      throw new OrchestratorError("UNAVAILABLE");
    }
    return super.get<T>(collection, key);
  }
}

it("a secret that could not be read for a moment is taken out of all that is told", async () => {
  const storage = new FailingReads();
  const test = await createTestOrchestrator({ storage, secretsKey: new Uint8Array(32).fill(1) });
  onTestFinished(() => test[Symbol.asyncDispose]());
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const value = "c4nary-of-an-unlucky-read";
  await test.orchestrator.secrets.create(systemCaller, { name: "db", value });
  const content = `name: web\nresources:\n  - { id: conf, type: file, path: /conf, content: "{{ secrets.db }}" }\n`;
  await test.orchestrator.modules.upload(systemCaller, { content });
  const apply = { node_id, modules: ["web"], wait_seconds: 0 };
  const told: unknown[] = [];
  for (const failures of [1, 0]) {
    storage.failures = failures;
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, apply);
    await agent.next("apply");
    const watching = (async () => {
      for await (const step of test.orchestrator.operations.watch(systemCaller, { operation_id }))
        told.push(step);
    })();
    const output = [
      {
        module: "web",
        resource_id: "conf",
        stream: "stdout" as const,
        text: `it is ${value}`,
        truncated: false,
      },
    ];
    agent.link.send({ type: "output", operation_id, output });
    await settleAll();
    agent.link.send({ ...emptyResult(operation_id), status: "failed", output });
    await watching;
  }
  expect(storage.failures).toBe(0);
  expect(JSON.stringify(told)).toContain("it is (sensitive)");
  expect(JSON.stringify(told)).not.toContain(value);
});
