import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { groupRun } from "../../lib/runs/run-groups.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

async function* nothing(): AsyncGenerator<never> {}

it("counts the agents beyond a hundred groups, whatever the size of those groups", async () => {
  const refused = Array.from({ length: 103 * 3 }, (_, at) => ({
    node_id: String(at).padStart(32, "0"),
    name: `machine-${at}`,
    error: { code: "AGENT_OFFLINE", message: `In another way: ${at % 103}.` },
  }));
  await using test = await createTestOrchestrator();
  const { operations } = servicesOf(test.orchestrator);
  const { groups, ungrouped } = await groupRun(operations, { ended: nothing(), refused });
  expect(groups.map(({ count }) => count)).toEqual(Array.from({ length: 100 }, () => 3));
  expect(ungrouped).toBe(9);
});

it("tells the largest group first, and of each the first hundred agents by name", async () => {
  const refusedIn = (way: string, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      node_id: String(at).padStart(32, "0"),
      // In no order, whichever way they come.
      name: `machine-${String((at * 77) % count).padStart(3, "0")}`,
      error: { code: "AGENT_OFFLINE", message: way },
    }));
  await using test = await createTestOrchestrator();
  const { operations } = servicesOf(test.orchestrator);
  const refused = [...refusedIn("few", 5), ...refusedIn("many", 101), ...refusedIn("some", 100)];
  const { groups, ungrouped } = await groupRun(operations, { ended: nothing(), refused });
  expect(groups.map(({ count, error }) => [error?.message, count])).toEqual([
    ["many", 101],
    ["some", 100],
    ["few", 5],
  ]);
  for (const { agents, count } of groups) {
    const names = Array.from({ length: count }, (_, at) => `machine-${String(at).padStart(3, "0")}`);
    expect(agents.map(({ name }) => name)).toEqual(names.slice(0, 100));
  }
  expect(ungrouped).toBe(0);
});

it("has no group of agents on which it runs, or waits", async () => {
  await using scene = await createScene(3, undefined, { driftIntervalSeconds: 0 });
  const { runs } = scene.test.orchestrator;
  const [first, second, third] = scene.agents;
  await third!.agent.link.stop();
  await settleAll();
  const rollout = { when_offline: "queue" as const };
  const input = { selector: "*", command: "true", rollout, wait_seconds: 0 };
  const { rollout_id, groups } = await runs.start(systemCaller, input);
  expect(groups).toEqual([]);
  const { operation_id } = await first!.agent.next("run");
  await second!.agent.next("run");
  first!.agent.link.send(emptyResult(operation_id));
  await first!.agent.next("ack");
  await settleAll();
  const run = await runs.get(systemCaller, { rollout_id });
  expect(run).toMatchObject({ status: "running", counts: { succeeded: 1, running: 1, queued: 1 } });
  expect(run.groups.map(({ count, status, agents }) => [count, status, agents[0]!.name])).toEqual([
    [1, "succeeded", "a1"],
  ]);
});

it("has one group of agents that printed the same, whichever of both streams each told first", async () => {
  await using scene = await createScene(2, undefined, { driftIntervalSeconds: 0 });
  const { runs } = scene.test.orchestrator;
  const input = { selector: "*", command: "true", wait_seconds: 0 };
  const { rollout_id } = await runs.start(systemCaller, input);
  const piece = (stream: "stdout" | "stderr") =>
    ({ module: "run", resource_id: "run", stream, text: `on ${stream}\n`, truncated: false }) as const;
  for (const [at, { agent }] of scene.agents.entries()) {
    const { operation_id } = await agent.next("run");
    const output = [piece("stdout"), piece("stderr")];
    agent.link.send({ ...emptyResult(operation_id), output: at === 0 ? output : output.toReversed() });
    await agent.next("ack");
  }
  await settleAll();
  const { groups } = await runs.get(systemCaller, { rollout_id });
  expect(groups.map(({ agents }) => agents.map(({ name }) => name))).toEqual([["a1", "a2"]]);
});

it("has two groups of agents of which one left out a part of what both printed", async () => {
  await using scene = await createScene(2, undefined, { driftIntervalSeconds: 0 });
  const { runs } = scene.test.orchestrator;
  const { rollout_id } = await runs.start(systemCaller, { selector: "*", command: "true", wait_seconds: 0 });
  const printed = { module: "run", resource_id: "run", stream: "stdout" as const, text: "the end\n" };
  for (const [at, { agent }] of scene.agents.entries()) {
    const { operation_id } = await agent.next("run");
    agent.link.send({ ...emptyResult(operation_id), output: [{ ...printed, truncated: at === 0 }] });
    await agent.next("ack");
  }
  await settleAll();
  const { groups } = await runs.get(systemCaller, { rollout_id });
  expect(groups.map(({ agents, output }) => [agents[0]!.name, output[0]!.truncated]).toSorted()).toEqual([
    ["a1", true],
    ["a2", false],
  ]);
});

it("says that something is left out of what an agent cut off by itself, however short it is", async () => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { runs } = scene.test.orchestrator;
  const { rollout_id } = await runs.start(systemCaller, { selector: "*", command: "true", wait_seconds: 0 });
  const { agent } = scene.agents[0]!;
  const { operation_id } = await agent.next("run");
  const of = { module: "run", resource_id: "run" };
  const output = [
    { ...of, stream: "stdout" as const, text: "the end\n", truncated: true },
    { ...of, stream: "stderr" as const, text: "all\n", truncated: false },
  ];
  agent.link.send({ ...emptyResult(operation_id), output });
  await agent.next("ack");
  await settleAll();
  const { groups } = await runs.get(systemCaller, { rollout_id });
  expect(groups[0]!.output).toEqual(
    output.map(({ stream, text, truncated }) => ({ stream, text, truncated })),
  );
});

const others: [string, Partial<OperationDocument>][] = [
  ["their status", { status: "interrupted" }],
  ["the exit code", { exit_code: 8 }],
  ["the code of the error", { error: { code: "COMMAND_TIMED_OUT", message: "It exited with 7." } }],
  ["the text of the error", { error: { code: "COMMAND_FAILED", message: "It exited with 8." } }],
  ["what was printed", { output_hash: "b".repeat(64) }],
];

it.each(others)("takes apart agents that differ in nothing but %s", async (_, difference) => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { storage, orchestrator } = scene.test;
  await orchestrator.runs.start(systemCaller, { selector: "*", command: "true", wait_seconds: 0 });
  const { items } = await storage.list<OperationDocument>("operations");
  const ended = {
    ...items[0]!.value,
    status: "failed" as const,
    exit_code: 7,
    error: { code: "COMMAND_FAILED", message: "It exited with 7." },
    output_hash: "a".repeat(64),
  };
  async function* each(): AsyncGenerator<Readonly<OperationDocument>> {
    yield* [ended, { ...ended }, { ...ended, ...difference }];
  }
  const { operations } = servicesOf(orchestrator);
  const { groups } = await groupRun(operations, { ended: each(), refused: [] });
  expect(groups.map(({ count }) => count)).toEqual([2, 1]);
});

it.each([4095, 4096, 4097])("tells %i characters of a command as far as 4,096 go", async (length) => {
  await using scene = await createScene(1);
  const { runs } = scene.test.orchestrator;
  const command = "x".repeat(length);
  const run = await runs.start(systemCaller, { selector: "*", command, wait_seconds: 0 });
  expect(run.command).toBe(length <= 4096 ? command : `${"x".repeat(4095)}\u2026`);
});
