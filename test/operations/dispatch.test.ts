import { describe, expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { eventOf } from "../support/fleet.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

async function approve(test: TestOrchestrator, nodeId: string): Promise<void> {
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: nodeId, status: "approved" });
}

async function startApply(test: TestOrchestrator, nodeId: string): Promise<string> {
  await test.orchestrator.modules.upload(systemCaller, { content: motd });
  const input = { node_id: nodeId, modules: ["motd"], wait_seconds: 0, timeout_seconds: 60 };
  return (await test.orchestrator.operations.apply(systemCaller, input)).operation_id;
}

/** A fleet of which the process has just begun, and what waits in it for an agent that is away. */
async function restarted() {
  const clock = new FakeClock();
  const data = new MemoryData();
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const agent = await connectScriptedAgent(first);
  await approve(first, agent.nodeId);
  await startApply(first, agent.nodeId);
  const { id } = await agent.next("apply");
  const waiting = await startApply(first, agent.nodeId);
  agent.link.send({ type: "reply", id });
  await first.orchestrator.stop();
  await agent.link.stop();
  const second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const read = () => second.orchestrator.operations.get(systemCaller, { operation_id: waiting });
  return { second, agent, read };
}

describe("an operation", () => {
  it("is unknown when nothing is heard by its deadline, and is corrected when the result comes after all", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = await startApply(test, agent.nodeId);
    await agent.next("apply");
    await agent.link.stop();
    await test.clock.advance(89_000);
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 0)).toMatchObject({
      status: "running",
    });
    await test.clock.advance(2_000);
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 0)).toMatchObject({
      status: "unknown",
      error: { code: "AGENT_TIMEOUT" },
    });
    await using again = await connectScriptedAgent(test, agent.keys);
    again.link.send(emptyResult(operation_id));
    expect(await again.next("ack")).toMatchObject({ operation_id });
    const corrected = await endOf(servicesOf(test.orchestrator).operations, operation_id, 0);
    expect(corrected).toMatchObject({ status: "succeeded" });
    // It once succeeded and told of AGENT_TIMEOUT: the error of `unknown` stayed.
    expect(corrected.error).toBeUndefined();
  });

  it("wakes whoever waits for its end longest, after another has given up", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = await startApply(test, agent.nodeId);
    await agent.next("apply");
    const { operations } = servicesOf(test.orchestrator);
    const [short, long] = [endOf(operations, operation_id, 1), endOf(operations, operation_id, 60)];
    await settleAll();
    await test.clock.advance(2_000);
    expect(await short).toMatchObject({ status: "running" });
    agent.link.send(emptyResult(operation_id));
    expect(await long).toMatchObject({ status: "succeeded" });
  });

  it("is kept once, however often its result comes, and each time is acknowledged", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = await startApply(test, agent.nodeId);
    await agent.next("apply");
    for (let i = 0; i < 3; i += 1) {
      agent.link.send({ ...emptyResult(operation_id), status: i === 0 ? "succeeded" : "failed" });
      await agent.next("ack");
    }
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 0)).toMatchObject({
      status: "succeeded",
    });
    const { items } = await test.orchestrator.audit.list(systemCaller, { category: "operation" });
    expect(items.map((item) => item.event_type)).toEqual(["operation.finished", "operation.requested"]);
  });

  it("fails at once where what is desired is more than an agent can be sent", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    test.transport.send = async () => {
      throw new OrchestratorError("PAYLOAD_TOO_LARGE");
    };
    const operation_id = await startApply(test, agent.nodeId);
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 30)).toMatchObject({
      status: "failed",
      error: { code: "PAYLOAD_TOO_LARGE" },
    });
  });

  it("fails with the reason where the agent refuses the command", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = await startApply(test, agent.nodeId);
    const { id } = await agent.next("apply");
    agent.link.send({ type: "reply", id, error: { code: "STORAGE_FULL", message: "no space" } });
    const ended = await endOf(servicesOf(test.orchestrator).operations, operation_id, 60);
    expect(ended).toMatchObject({
      status: "failed",
      error: { code: "STORAGE_FULL", message: "no space" },
    });
  });

  it("can be cancelled where its agent was removed and waits for approval again", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const { agents, operations } = test.orchestrator;
    const operation_id = await startApply(test, agent.nodeId);
    await agent.next("apply");
    const { nodeId: node_id } = agent;
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agents.remove(systemCaller, { node_id });
    await agent.link.stop();
    await using again = await connectScriptedAgent(test, agent.keys);
    expect(again.nodeId).toBe(node_id);
    // It was refused with AGENT_NOT_APPROVED, although the wish was stored.
    const asked = await operations.cancel(systemCaller, { operation_id });
    expect(asked).toMatchObject({ operation_id, status: "running" });
  });

  it("asks the agent to stop when it is cancelled while it runs, and ends as the agent says", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = await startApply(test, agent.nodeId);
    await agent.next("apply");
    await test.orchestrator.operations.cancel(systemCaller, { operation_id });
    expect(await agent.next("cancel")).toMatchObject({ operation_id });
    agent.link.send({ ...emptyResult(operation_id), status: "cancelled" });
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 60)).toMatchObject({
      status: "cancelled",
    });
  });

  it("is sent again, under the same id, after the orchestrator was started anew", async () => {
    const clock = new FakeClock();
    const data = new MemoryData();
    const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    const agent = await connectScriptedAgent(first);
    await approve(first, agent.nodeId);
    const operation_id = await startApply(first, agent.nodeId);
    await agent.next("apply");
    await first.orchestrator.stop();
    await agent.link.stop();
    await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    expect(await endOf(servicesOf(second.orchestrator).operations, operation_id, 0)).toMatchObject({
      status: "running",
    });
    await using again = await connectScriptedAgent(second, agent.keys);
    const command = await again.next("apply");
    expect(command).toMatchObject({ operation_id, resources: [{ identity: "/etc/motd" }] });
    again.link.send(emptyResult(operation_id));
    expect(await endOf(servicesOf(second.orchestrator).operations, operation_id, 60)).toMatchObject({
      status: "succeeded",
    });
  });
});

describe("an operation that waited behind another when the orchestrator was started anew", () => {
  it("waits for its agent for a minute and a half, and no longer", async () => {
    const { second, read } = await restarted();
    await using _test = second;
    await second.clock.advance(89_000);
    expect((await read()).status).toBe("queued");
    await second.clock.advance(2_000);
    await settleAll();
    expect(await read()).toMatchObject({ status: "failed", error: { code: "AGENT_OFFLINE" } });
  });

  it("begins when its agent comes back in that time and tells how the other ended", async () => {
    const { second, agent, read } = await restarted();
    await using _test = second;
    await second.clock.advance(80_000);
    await using again = await connectScriptedAgent(second, agent.keys);
    again.link.send(emptyResult((await again.next("apply")).operation_id));
    expect((await again.next("apply")).operation_id).toBe((await read()).operation_id);
  });
});

describe("a hostile agent", () => {
  it("is cut off for a result of another agent's operation, which stays as it was, and it is written down", async () => {
    await using test = await createTestOrchestrator();
    await using honest = await connectScriptedAgent(test);
    await using hostile = await connectScriptedAgent(test);
    await approve(test, honest.nodeId);
    await approve(test, hostile.nodeId);
    const operation_id = await startApply(test, honest.nodeId);
    await honest.next("apply");
    hostile.link.send(emptyResult(operation_id));
    await eventOf(test, "agent.refused", hostile.nodeId);
    expect(await endOf(servicesOf(test.orchestrator).operations, operation_id, 0)).toMatchObject({
      status: "running",
    });
  });

  it("gets a result acknowledged that nobody knows, so that it does not come for ever", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    await approve(test, agent.nodeId);
    const operation_id = "019b0000-0000-7000-8000-000000000000";
    agent.link.send(emptyResult(operation_id));
    expect(await agent.next("ack")).toMatchObject({ operation_id });
    await expect(test.orchestrator.operations.get(systemCaller, { operation_id })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
