/** What an agent is sent for each kind of operation, and until when it counts. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

let fleet: TestOrchestrator;
let agent: ScriptedAgent;
beforeEach(async () => {
  fleet = await createTestOrchestrator({ driftIntervalSeconds: 0, operationGraceSeconds: 30 });
  agent = await connectScriptedAgent(fleet);
  await fleet.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  for (const name of ["web", "old"])
    await fleet.orchestrator.modules.upload(systemCaller, {
      content: `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: x }\n`,
    });
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const inSeconds = (seconds: number): string => new Date(fleet.clock.now() + seconds * 1_000).toISOString();

/** Asks for an apply, and gives what the agent is sent for it. */
async function sentFor(input: object) {
  const call = { node_id: agent.nodeId, wait_seconds: 0, timeout_seconds: 60, ...input };
  const { operation_id } = await fleet.orchestrator.operations.apply(systemCaller, call);
  const command = await agent.next("apply");
  expect(command.operation_id).toBe(operation_id);
  return command;
}

async function end(operation_id: string): Promise<void> {
  agent.link.send(emptyResult(operation_id));
  await settleAll();
}

describe("an apply", () => {
  const what = { timeout_seconds: 60, allow_empty: false };
  const web = [{ module: "web", resource_id: "f" }];
  test.each<[string, object, object]>([
    ["of everything", {}, { ...what, resources: [] }],
    ["of everything that may be nothing", { allow_empty: true }, { ...what, allow_empty: true }],
    ["of a module", { modules: ["web"] }, { ...what, scope: ["web"], resources: web }],
    [
      "that takes a module away",
      { remove_modules: ["old"] },
      { ...what, scope: ["old"], resources: [], allow_empty: true },
    ],
    [
      "that takes one away and brings another",
      { modules: ["web"], remove_modules: ["old"] },
      { ...what, scope: ["web", "old"], resources: web },
    ],
    [
      "that may remove nothing",
      { modules: ["web"], max_removals: 0 },
      { ...what, scope: ["web"], max_removals: 0 },
    ],
  ])("%s", async (_, input, expected) => {
    if ("remove_modules" in input) await end((await sentFor({ modules: ["old"] })).operation_id);
    const command = await sentFor(input);
    expect(command).toMatchObject({ ...expected, not_after: inSeconds(90) });
    const always = ["type", "id", "operation_id", "timeout_seconds", "resources", "not_after", "allow_empty"];
    const said = ["scope", "max_removals"].filter((field) => field in expected);
    expect(Object.keys(command).toSorted()).toEqual([...always, ...said].toSorted());
  });

  test("of a plan has the digest of what that said", async () => {
    const { operations } = fleet.orchestrator;
    const call = { node_id: agent.nodeId, modules: ["web"], wait_seconds: 0 };
    const { operation_id: plan_id } = await operations.plan(systemCaller, call);
    const plan = await agent.next("plan");
    const fields = ["type", "id", "operation_id", "timeout_seconds", "resources", "not_after", "scope"];
    expect(Object.keys(plan).toSorted()).toEqual(fields.toSorted());
    await end(plan_id);
    const command = await sentFor({ plan_id });
    expect(command).toMatchObject({
      scope: ["web"],
      plan_digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });
});

test("a forgetting names what is forgotten, each once", async () => {
  const { operations } = fleet.orchestrator;
  const input = { node_id: agent.nodeId, resources: ["web/f", "old", "web/f"], wait_seconds: 0 };
  await operations.forget(systemCaller, input);
  const command = await agent.next("forget");
  expect(command.names).toEqual(["web/f", "old"]);
  expect(Date.parse(command.not_after)).toBeGreaterThan(fleet.clock.now());
});

test("what was lost on its way is asked about with a command whose time is over, and nothing to do", async () => {
  const { operation_id } = await sentFor({ modules: ["web"], timeout_seconds: 1 });
  agent.link.send({ type: "reply", id: agent.commands.at(-1)!.id });
  await settleAll();
  await fleet.clock.advance(40_000);
  const question = await agent.nextQuestion("apply");
  expect(question).toMatchObject({ operation_id, resources: [], timeout_seconds: 1 });
});

test("what is acknowledged and what is to be cancelled counts for five minutes", async () => {
  const { operation_id } = await sentFor({ modules: ["web"] });
  await fleet.orchestrator.operations.cancel(systemCaller, { operation_id });
  expect(await agent.next("cancel")).toMatchObject({ operation_id, not_after: inSeconds(300) });
  agent.link.send(emptyResult(operation_id));
  expect(await agent.next("ack")).toMatchObject({ operation_id, not_after: inSeconds(300) });
});

test("what is cancelled while it waits is no matter of its agent", async () => {
  const { operations } = fleet.orchestrator;
  const first = await sentFor({ modules: ["web"] });
  const input = { node_id: agent.nodeId, modules: ["web"], wait_seconds: 0 };
  const { operation_id } = await operations.apply(systemCaller, input);
  expect(await operations.cancel(systemCaller, { operation_id })).toMatchObject({ status: "cancelled" });
  await end(first.operation_id);
  expect(agent.commands.filter(({ type }) => type === "cancel")).toEqual([]);
});
