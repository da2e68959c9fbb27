/** What is told of the end of an operation, and to whom it is there at all. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { operationStatusSchema } from "../../lib/operations/schemas.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

type Status = ReturnType<typeof emptyResult>["status"];

/** How each end is told; `unknown` is told once nothing was heard. */
const ends: Record<Status | "unknown", "finished" | "failed"> = {
  succeeded: "finished",
  cancelled: "finished",
  partial: "failed",
  failed: "failed",
  timed_out: "failed",
  interrupted: "failed",
  unknown: "failed",
};

let fleet: TestOrchestrator;
let agent: ScriptedAgent;
let node_id: string;
beforeEach(async () => {
  fleet = await createTestOrchestrator({ driftIntervalSeconds: 0, operationGraceSeconds: 30 });
  agent = await connectScriptedAgent(fleet);
  node_id = agent.nodeId;
  await fleet.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: "web-1" });
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

async function apply(status: Status | null): Promise<string> {
  const input = { node_id, wait_seconds: 0, timeout_seconds: 60 };
  const { operation_id } = await fleet.orchestrator.operations.apply(systemCaller, input);
  await agent.next("apply");
  if (status) agent.link.send({ ...emptyResult(operation_id), status });
  await settleAll();
  return operation_id;
}

const told = () => fleet.events.filter(({ event_type }) => /^operation\.(finished|failed)$/.test(event_type));

describe("the end of an operation", () => {
  it("may be each of these", () => {
    const open = ["queued", "running"];
    expect([...open, ...Object.keys(ends)].toSorted()).toEqual(operationStatusSchema.options.toSorted());
  });

  it.each(Object.entries(ends) as [keyof typeof ends, string][])(
    "that is %s is told as %s, once",
    async (status, as) => {
      const operation_id = await apply(status === "unknown" ? null : status);
      if (status === "unknown") await fleet.clock.advance(91_000);
      await settleAll();
      expect(told()).toMatchObject([
        {
          event_type: `operation.${as}`,
          summary: `Apply on web-1 ended: ${status}`,
          target: { type: "operation", id: operation_id },
          metadata: { node_id, operation_id, status, counts: { total: 0 } },
        },
      ]);
    },
  );
});

it("the work of a drift check is no operation to anybody, and its end is told as no end of one", async () => {
  await apply("succeeded");
  const { drift, operations } = fleet.orchestrator;
  const { drift_id: operation_id } = await drift.check(systemCaller, { node_id, wait_seconds: 0 });
  const notFound = { code: "NOT_FOUND", message: `There is no operation ${operation_id}.` };
  const isNowhere = async (): Promise<void> => {
    const calls = {
      get: operations.get(systemCaller, { operation_id }),
      output: operations.output(systemCaller, { node_id, operation_id }),
      cancel: operations.cancel(systemCaller, { operation_id }),
      watch: operations.watch(systemCaller, { operation_id }).next(),
    };
    for (const [verb, call] of Object.entries(calls))
      await expect(call, verb).rejects.toMatchObject(notFound);
    for (const { items } of [
      await operations.list(systemCaller),
      await operations.listForAgent(systemCaller, { node_id }),
    ])
      expect(items).toHaveLength(1);
  };
  await agent.next("check");
  await isNowhere();
  agent.link.send(emptyResult(operation_id));
  await settleAll();
  expect(await drift.get(systemCaller, { drift_id: operation_id })).toMatchObject({ status: "in_sync" });
  await isNowhere();
  expect(told()).toHaveLength(1);
});

it("what an operation printed is there under its own agent alone", async () => {
  const operation_id = await apply("succeeded");
  await using other = await connectScriptedAgent(fleet);
  const { agents, operations } = fleet.orchestrator;
  await agents.setStatus(systemCaller, { node_id: other.nodeId, status: "approved" });
  expect(await operations.output(systemCaller, { node_id, operation_id })).toMatchObject({ operation_id });
  await expect(
    operations.output(systemCaller, { node_id: other.nodeId, operation_id }),
  ).rejects.toMatchObject({ code: "NOT_FOUND" });
});

it.each([
  [[], false],
  [[false, false], false],
  [[true, false], true],
  [[false, true], true],
  [[true, true], true],
])("output whose pieces are cut like %j is told to be cut: %s", async (pieces, truncated) => {
  const operation_id = await apply(null);
  const output = pieces.map((isCut, at) => ({
    module: "web",
    resource_id: `r${at}`,
    stream: "stdout" as const,
    text: "x",
    truncated: isCut,
  }));
  agent.link.send({ ...emptyResult(operation_id), output });
  await settleAll();
  const read = fleet.orchestrator.operations.output(systemCaller, { node_id, operation_id });
  expect(await read).toEqual({ operation_id, truncated, output });
});

it.each([
  ["this version", {}],
  ["one that did not keep when it began", { begun_at: undefined }],
])(
  "an operation of %s of which nothing was heard is told to have lasted until its deadline",
  async (_, older) => {
    const operation_id = await apply(null);
    const { value, revision } = (await fleet.storage.get<JsonObject>("operations", operation_id))!;
    const put = { kind: "put", collection: "operations", key: operation_id, expected: revision } as const;
    await fleet.storage.commit([{ ...put, value: { ...value, ...older } as JsonObject }]);
    await fleet.clock.advance(91_000);
    await settleAll();
    const ended = await fleet.orchestrator.operations.get(systemCaller, { operation_id });
    expect(ended).toMatchObject({ status: "unknown", duration_ms: 90_000 });
  },
);
