/**
 * What operations do when a write fails, a wish overtakes its command or the process ends between two steps.
 *
 * Symptom of each regression here: an operation that stayed open for ever, or ran although it had been cancelled. Cause:
 * what failed once was forgotten, and a wish to cancel was kept nowhere but in a message.
 */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { StoredDocument } from "../../lib/storage/storage.ts";
import { deferred, settle, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

/** Reads of operations wait, where there is something to wait for. */
class GatedReads extends MemoryStorage {
  gate: Promise<void> | null = null;

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    if (collection === "operations") await this.gate;
    return super.get<T>(collection, key);
  }
}

async function setUp(given: { clock?: FakeClock; storage?: MemoryStorage } = {}) {
  const { clock = new FakeClock() } = given;
  const data = new MemoryData();
  const { storage = new MemoryStorage({ clock, data }) } = given;
  const test = await createTestOrchestrator({ clock, storage });
  const agent = await connectScriptedAgent(test, undefined, clock);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  await test.orchestrator.modules.upload(systemCaller, { content: motd });
  return { clock, data, test, agent, node_id: agent.nodeId };
}

/** Leaves an operation as a process that is gone may have left it. */
async function change(
  parts: { clock: FakeClock; data: MemoryData },
  key: string,
  fields: JsonObject,
): Promise<void> {
  const storage = new MemoryStorage(parts);
  await storage.open(storageSchema);
  const { value } = (await storage.get("operations", key))!;
  await storage.commit([{ kind: "put", collection: "operations", key, value: { ...value, ...fields } }]);
  await storage.close();
}

const statusOf = async (test: TestOrchestrator, operation_id: string): Promise<string> =>
  (await test.orchestrator.operations.get(systemCaller, { operation_id })).status;

describe("while nothing can be written", () => {
  it("an operation past its deadline still ends, and its agent gets the next, once there is space", async () => {
    const { clock, data, test, agent, node_id } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const input = { node_id, modules: ["motd"], wait_seconds: 0, timeout_seconds: 60 };
    const first = await test.orchestrator.operations.apply(systemCaller, input);
    await agent.next("apply");
    const second = await test.orchestrator.operations.apply(systemCaller, input);
    // In steps, so that the agent answers and keeps its connection.
    const pass = async (seconds: number): Promise<void> => {
      for (let left = seconds; left > 0; left -= 1) {
        await clock.advance(1_000);
        for (let turn = 0; turn < 4; turn += 1) await settle();
      }
    };
    data.freeBytes = 0;
    await pass(95);
    expect(await statusOf(test, first.operation_id)).toBe("running");
    data.freeBytes = Infinity;
    await pass(60);
    expect(await statusOf(test, first.operation_id)).toBe("unknown");
    // The first is sent again until its end could be written.
    let { operation_id } = await agent.next("apply");
    if (operation_id === first.operation_id) ({ operation_id } = await agent.next("apply"));
    expect(operation_id).toBe(second.operation_id);
  });

  it("an operation that could not be started is started once there is space", async () => {
    const { clock, data, test, agent, node_id } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const input = { node_id, modules: ["motd"], wait_seconds: 0 };
    const first = await test.orchestrator.operations.apply(systemCaller, input);
    await agent.next("apply");
    const second = await test.orchestrator.operations.apply(systemCaller, input);
    const end = test.orchestrator.listen(() => (data.freeBytes = 0));
    agent.link.send(emptyResult(first.operation_id));
    await agent.next("ack");
    await settle();
    end();
    expect(await statusOf(test, second.operation_id)).toBe("queued");
    data.freeBytes = Infinity;
    await clock.advance(5_000);
    expect(await agent.next("apply")).toMatchObject({ operation_id: second.operation_id });
  });
});

describe("a wish to cancel", () => {
  it("reaches an agent that was away when it was made", async () => {
    const { test, agent, node_id } = await setUp();
    await using _test = test;
    const input = { node_id, modules: ["motd"], wait_seconds: 0 };
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
    await agent.next("apply");
    await agent.link.stop();
    await settle();
    await test.orchestrator.operations.cancel(systemCaller, { operation_id });
    await using again = await connectScriptedAgent(test, agent.keys);
    await again.next("apply");
    expect(await again.next("cancel")).toMatchObject({ operation_id });
  });

  it("counts although the process ended before the operation left the line", async () => {
    const { clock, data, test, agent, node_id } = await setUp();
    await agent.link.stop();
    await settle();
    const input = { node_id, modules: ["motd"], wait_seconds: 0, when_offline: "queue" as const };
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
    await test.orchestrator.stop();
    await change({ clock, data }, operation_id, { cancel_requested: true });
    await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    await settle();
    expect(await statusOf(second, operation_id)).toBe("cancelled");
  });
});

describe("an agent that takes what is in time for late", () => {
  const late = { code: "COMMAND_EXPIRED", message: "late" };
  const notRun = { code: "COMMAND_EXPIRED", message: "Not run: the agent has no record of it." };

  /** An apply that its agent has taken, or refused where it says so. */
  async function begin({ error }: { error?: typeof late } = {}) {
    const scene = await setUp();
    const { test, agent, node_id, clock } = scene;
    const input = { node_id, modules: ["motd"], wait_seconds: 0 };
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
    agent.link.send({ type: "reply", id: (await agent.next("apply")).id, ...(error && { error }) });
    await settleAll();
    const comeBack = async (): Promise<void> => {
      await clock.advance(5_000);
      await settleAll();
    };
    return { ...scene, operation_id, comeBack };
  }

  it("is let go once, so that it learns the time, and gets the command again", async () => {
    const { test, agent, operation_id, comeBack } = await begin({ error: late });
    await using _test = test;
    await using _agent = agent;
    expect(test.transport.isConnected(agent.nodeId)).toBe(false);
    expect(await statusOf(test, operation_id)).toBe("running");
    await comeBack();
    const again = await agent.next("apply");
    expect(again).toMatchObject({ operation_id });
    agent.link.send({ type: "reply", id: again.id, error: late });
    await settleAll();
    expect(test.transport.isConnected(agent.nodeId)).toBe(true);
    const ended = await test.orchestrator.operations.get(systemCaller, { operation_id });
    expect(ended).toMatchObject({ status: "failed", error: notRun });
  });

  it("is right about what its deadline is over of, and is not let go", async () => {
    const { test, agent, operation_id, clock, data } = await begin();
    await agent.link.stop();
    await test.orchestrator.stop();
    // After a start it is awaited for longer than its deadline says.
    await change({ clock, data }, operation_id, { deadline_at: clock.now() });
    await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    await using again = await connectScriptedAgent(second, agent.keys, clock);
    again.link.send({ type: "reply", id: (await again.next("apply")).id, error: late });
    await settleAll();
    expect(second.transport.isConnected(agent.nodeId)).toBe(true);
    const ended = await second.orchestrator.operations.get(systemCaller, { operation_id });
    expect(ended).toMatchObject({ status: "failed", error: notRun });
  });

  it("gets a wish to cancel again that it refused so", async () => {
    const { test, agent, operation_id, comeBack } = await begin();
    await using _test = test;
    await using _agent = agent;
    await test.orchestrator.operations.cancel(systemCaller, { operation_id });
    agent.link.send({ type: "reply", id: (await agent.next("cancel")).id, error: late });
    await settleAll();
    expect(test.transport.isConnected(agent.nodeId)).toBe(false);
    await comeBack();
    expect(await agent.next("apply")).toMatchObject({ operation_id });
    const again = await agent.next("cancel");
    expect(again).toMatchObject({ operation_id });
    // Whatever it says of the wish, the apply itself runs, and only its own result ends it.
    agent.link.send({ type: "reply", id: again.id, error: late });
    await settleAll();
    expect(await statusOf(test, operation_id)).toBe("running");
  });
});

describe("an agent that is away", () => {
  it("keeps waiting only what may wait: what stands behind that in line fails at once", async () => {
    const { test, agent, node_id } = await setUp();
    await using _test = test;
    await test.orchestrator.assignments.create(systemCaller, {
      name: "all",
      selector: "*",
      modules: ["motd"],
    });
    await agent.link.stop();
    await settle();
    const waiting = await test.orchestrator.operations.apply(systemCaller, {
      node_id,
      wait_seconds: 0,
      when_offline: "queue",
    });
    const rollout = await test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
    await settle();
    expect(await statusOf(test, rollout.operations[0]!.operation_id!)).toBe("failed");
    expect(await statusOf(test, waiting.operation_id)).toBe("queued");
  });

  it("gets the oldest first, also where it comes while the line is gone through", async () => {
    const { test, agent, node_id } = await setUp();
    await using _test = test;
    await agent.link.stop();
    await settle();
    const input = { node_id, modules: ["motd"], wait_seconds: 0, when_offline: "queue" as const };
    const first = await test.orchestrator.operations.apply(systemCaller, input);
    await test.orchestrator.operations.apply(systemCaller, input);
    // It is there when the second is looked at, and was not when the first was.
    const isConnected = test.transport.isConnected.bind(test.transport);
    const answers = [false];
    test.transport.isConnected = (nodeId) => answers.shift() ?? isConnected(nodeId);
    await using again = await connectScriptedAgent(test, agent.keys);
    expect(await again.next("apply")).toMatchObject({ operation_id: first.operation_id });
  });

  it("gets the oldest where it comes while another that joins the line is read", async () => {
    const clock = new FakeClock();
    const storage = new GatedReads({ clock });
    const { test, agent, node_id } = await setUp({ clock, storage });
    await using _test = test;
    await agent.link.stop();
    await settle();
    const input = { node_id, modules: ["motd"], wait_seconds: 0, when_offline: "queue" as const };
    const first = await test.orchestrator.operations.apply(systemCaller, input);
    await settleAll();
    const gate = deferred();
    storage.gate = gate.promise;
    const second = test.orchestrator.operations.apply(systemCaller, input);
    await settleAll();
    await using again = await connectScriptedAgent(test, agent.keys, clock);
    await settleAll();
    gate.resolve();
    await second;
    await settleAll();
    expect(again.commands).toMatchObject([{ operation_id: first.operation_id }]);
  });

  it("has what waits for 30 days kept for 30 days, longer than one timer holds", async () => {
    const { clock, test, agent, node_id } = await setUp();
    await using _test = test;
    await agent.link.stop();
    await settle();
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id,
      modules: ["motd"],
      wait_seconds: 0,
      when_offline: "queue",
      expires_in_seconds: 2_592_000,
    });
    await test.orchestrator.audit.setRetention(systemCaller, { retention_days: null });
    await clock.advance(29 * 86_400_000);
    expect(await statusOf(test, operation_id)).toBe("queued");
    await clock.advance(86_400_000);
    expect(await statusOf(test, operation_id)).toBe("failed");
  });
});

it("an operation awaits its result no longer after a restart than if it began then, whatever a wrong clock said", async () => {
  const { clock, data, test, agent, node_id } = await setUp();
  const input = { node_id, modules: ["motd"], wait_seconds: 0, timeout_seconds: 600 };
  const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
  await agent.next("apply");
  await test.orchestrator.stop();
  await agent.link.stop();
  await change({ clock, data }, operation_id, { deadline_at: clock.now() + 90 * 86_400_000 });
  await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  await settleAll();
  await clock.advance(600_000);
  expect(await statusOf(second, operation_id)).toBe("running");
  await clock.advance(60_000);
  expect(await statusOf(second, operation_id)).toBe("unknown");
});

it("an operation awaits its result no longer after a restart on a clock that was set back", async () => {
  const { data, test, agent, node_id } = await setUp();
  const input = { node_id, modules: ["motd"], wait_seconds: 0, timeout_seconds: 60 };
  const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
  await agent.next("apply");
  await test.orchestrator.stop();
  await agent.link.stop();
  const clock = new FakeClock(test.clock.now() - 20 * 86_400_000);
  await using second = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  await clock.advance(91_000);
  expect(await statusOf(second, operation_id)).toBe("unknown");
});
