/** A result of many mebibytes is written a few parts at a time, and comes back as it was told. */
import { expect, test } from "vitest";
import { MemoryStorage, systemCaller, systemClock } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { type OperationDocument, resultsLog } from "../../lib/operations/documents.ts";
import { eachResult, loadReport, saveReport } from "../../lib/operations/operation-results.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const resultOf = (n: number): ResourceResult => ({
  resource_id: `r${n}`,
  module: "motd",
  type: "file",
  identity: `/etc/${n}`,
  outcome: "changed",
  action: "update",
  changes: Array(25).fill({ property: "p", before: "x".repeat(30), after: n }),
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
});

/** Tells how much of a report one commit holds: as long as that takes, nobody else is served. */
class WeighingStorage extends MemoryStorage {
  commits = 0;
  largest = 0;

  override commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    const parts = args[0].filter((write) => write.kind === "append" && write.log === resultsLog);
    if (parts.length > 0) this.commits += 1;
    this.largest = Math.max(this.largest, JSON.stringify(parts).length);
    return super.commit(...args);
  }
}

test("a result of 10 MiB comes back whole and in order, and is written a little at a time", async () => {
  // A slice takes a time, which a clock that stands still does not tell.
  const clock = systemClock;
  const storage = new WeighingStorage({ clock });
  await using orchestrated = await createTestOrchestrator({ clock, storage });
  const { orchestrator } = orchestrated;
  await using agent = await connectScriptedAgent(orchestrated);
  const node_id = agent.nodeId;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
  await orchestrator.modules.upload(systemCaller, { content });
  const { operation_id } = await orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["motd"],
    wait_seconds: 0,
  });
  await agent.next("apply");
  const results = Array.from({ length: 4_500 }, (_, n) => resultOf(n));
  const output = Array.from({ length: 10 }, (_, n) => ({
    module: "motd",
    resource_id: `r${n}`,
    stream: "stdout" as const,
    text: `${n}`.repeat(100_000),
    truncated: false,
  }));
  agent.link.send({ ...emptyResult(operation_id), results, output });
  await agent.next("ack");
  const kept = await orchestrator.operations.get(systemCaller, { operation_id });
  expect(kept.resources).toEqual(results);
  const page = await orchestrator.operations.output(systemCaller, { node_id, operation_id });
  expect(page.output).toEqual(output);
  // In parts of a quarter of a MiB; ten of the output alone were more than a MiB.
  expect(storage.commits).toBeGreaterThan(10);
  expect(storage.largest).toBeLessThan(700_000);
});

test("long results that are written at the same time come back apart, together and one by one", async () => {
  await using orchestrated = await createTestOrchestrator({ clock: systemClock });
  const { context } = servicesOf(orchestrated.orchestrator).operations.parts;
  const saved = await Promise.all(
    ["one", "two", "three"].map(async (operation_id) => {
      const results = Array.from({ length: 1_000 }, (_, n) => ({ ...resultOf(n), module: operation_id }));
      const place = await saveReport(context, operation_id, { results, output: [] });
      return { operation: { operation_id, results: place } as OperationDocument, results };
    }),
  );
  for (const { operation, results } of saved) {
    expect(operation.results!.to - operation.results!.from).toBeGreaterThan(results.length / 100);
    expect((await loadReport(context, operation)).results).toEqual(results);
    const each: ResourceResult[] = [];
    for await (const result of eachResult(context, operation)) each.push(result);
    expect(each).toEqual(results);
  }
});
