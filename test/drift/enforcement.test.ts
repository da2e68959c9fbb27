import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const module = 'name: motd\nresources:\n  - { type: file, path: /etc/motd, content: "ours\\n" }\n';

interface Machine {
  test: TestOrchestrator;
  agent: TestAgent;
  file: string;
  /** Changes the machine, and checks it; resolves when nothing follows from that any more. */
  drift(): Promise<void>;
  check(): Promise<string>;
  events(): string[];
}

async function createMachine(enforce: boolean): Promise<Machine> {
  const test = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  const agent = await startApprovedAgent(test);
  onTestFinished(async () => {
    await agent[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
  });
  const { modules, assignments, operations, drift } = test.orchestrator;
  const service = servicesOf(test.orchestrator).operations;
  const { nodeId: node_id } = agent;
  const file = join(agent.root, "etc/motd");
  await modules.upload(systemCaller, { content: module });
  await assignments.create(systemCaller, { name: "motd", selector: "*", modules: ["motd"], enforce });
  await operations.apply(systemCaller, { node_id });
  const check = async (): Promise<string> => {
    const { status } = await drift.check(systemCaller, { node_id });
    await settleAll();
    const { items } = await operations.list(systemCaller, { node_id });
    await Promise.all(items.map(({ operation_id }) => endOf(service, operation_id, 30)));
    return status;
  };
  return {
    test,
    agent,
    file,
    check,
    async drift() {
      writeFileSync(file, "theirs\n");
      expect(await check()).toBe("drifted");
    },
    events: () =>
      test.events
        .map(({ event_type }) => event_type)
        .filter((type) => /^drift\.(?!checkRequested)/.test(type)),
  };
}

describe("an assignment that is enforced", () => {
  it("removes nothing, unless its assignment lets it when nobody is there", async () => {
    const { test, drift, check } = await createMachine(true);
    const { operations, assignments } = test.orchestrator;
    const holds = async (): Promise<boolean | undefined> => {
      const { items } = await operations.list(systemCaller, { kind: "apply", limit: 1 });
      return (await servicesOf(test.orchestrator).operations.store.find(items[0]!.operation_id))
        ?.hold_removals;
    };
    expect(await holds()).toBeUndefined();
    await drift();
    expect(await holds()).toBe(true);
    expect(await check()).toBe("in_sync");
    await assignments.update(systemCaller, { name: "motd", unattended_removals: true });
    await drift();
    expect(await holds()).toBeUndefined();
  });

  it("is applied again where a check finds it changed, and the next check finds it in sync", async () => {
    const { test, agent, file, drift, check, events } = await createMachine(true);
    await drift();
    expect(readFileSync(file, "utf8")).toBe("ours\n");
    expect(await check()).toBe("in_sync");
    expect(events()).toEqual(["drift.detected", "drift.enforced", "drift.resolved"]);
    const { items } = await test.orchestrator.operations.list(systemCaller, { kind: "apply" });
    expect(items[0]).toMatchObject({
      assignment: "motd",
      requested_by: "system",
      modules: [{ name: "motd", revision: 1 }],
    });
    const { items: checks } = await test.orchestrator.drift.list(systemCaller, { node_id: agent.nodeId });
    const { drift_id } = checks.find(({ status }) => status === "drifted")!;
    expect(test.events.find(({ event_type }) => event_type === "drift.enforced")).toMatchObject({
      target: { type: "agent", id: agent.nodeId },
      summary: expect.stringMatching(/^What drifted on .+ is applied again, for motd$/),
      metadata: { drift_id, operation_id: items[0]!.operation_id, assignment: "motd", times: 1 },
    });
  });

  it("never brings a newer revision on a machine: what was applied is put back", async () => {
    const { test, file, drift } = await createMachine(true);
    await test.orchestrator.modules.upload(systemCaller, { content: module.replace("ours", "newer") });
    await drift();
    expect(readFileSync(file, "utf8")).toBe("ours\n");
  });

  it("never takes a newer revision off a machine that is applied beside the check, whichever comes first", async () => {
    const { test, agent, file } = await createMachine(true);
    const { modules, operations, drift } = test.orchestrator;
    const service = servicesOf(test.orchestrator).operations;
    const { nodeId: node_id } = agent;
    for (let turns = 0; turns < 24; turns += 2) {
      await modules.upload(systemCaller, { content: module.replace("ours", `newer ${turns}`) });
      test.clock.jump(5 * 3_600_000);
      writeFileSync(file, "theirs\n");
      const checked = drift.check(systemCaller, { node_id });
      for (let turn = 0; turn < turns; turn += 1) await settle();
      const { status } = await operations.apply(systemCaller, { node_id });
      expect(status).toBe("succeeded");
      await checked;
      await settleAll();
      const { items } = await operations.list(systemCaller, { node_id });
      await Promise.all(items.map(({ operation_id }) => endOf(service, operation_id, 30)));
      expect(readFileSync(file, "utf8")).toBe(`newer ${turns}\n`);
      const state = await service.stateOf(node_id);
      const baseline = items.find(({ operation_id }) => operation_id === state?.baseline?.operation_id);
      expect(baseline?.modules).toEqual([{ name: "motd", revision: turns / 2 + 2 }]);
    }
  });

  it("does not begin to put back what a newer apply before it in line has replaced", async () => {
    const { test, agent, file } = await createMachine(true);
    const { modules } = test.orchestrator;
    const service = servicesOf(test.orchestrator).operations;
    const { nodeId } = agent;
    const { baseline } = (await service.stateOf(nodeId))!;
    await modules.upload(systemCaller, { content: module.replace("ours", "newer") });
    const newer = await service.desiredReader().of(nodeId);
    const apply = { kind: "apply", nodeId, agentName: "machine" } as const;
    const [, behind] = await service.requestAll(systemCaller, [
      { ...apply, desired: newer },
      {
        ...apply,
        desired: { modules: [], resources: await service.snapshot(baseline!.snapshot) },
        repeats: baseline!.operation_id,
      },
    ]);
    expect(await endOf(service, behind!.operation_id, 30)).toMatchObject({
      status: "cancelled",
      error: { code: "REVISION_CONFLICT" },
    });
    expect(readFileSync(file, "utf8")).toBe("newer\n");
  });

  it("waits longer from time to time, gives up after the fifth, and says so once", async () => {
    const { test, agent, file, drift, check, events } = await createMachine(true);
    await drift();
    await drift();
    expect(readFileSync(file, "utf8")).toBe("theirs\n");
    for (const minutes of [5, 15, 60, 240]) {
      test.clock.leap(minutes * 60_000 - 1_000);
      await drift();
      expect(readFileSync(file, "utf8")).toBe("theirs\n");
      test.clock.leap(1_000);
      await drift();
      expect(readFileSync(file, "utf8")).toBe("ours\n");
    }
    test.clock.leap(86_400_000);
    await drift();
    await drift();
    expect(readFileSync(file, "utf8")).toBe("theirs\n");
    const enforced = Array.from({ length: 5 }, () => "drift.enforced");
    expect(events()).toEqual(["drift.detected", ...enforced, "drift.enforcementStopped"]);
    const told = test.events.filter(({ event_type }) => event_type.startsWith("drift.enforce"));
    expect(told).toMatchObject([1, 2, 3, 4, 5, 5].map((times) => ({ metadata: { times } })));
    const { items } = await test.orchestrator.drift.list(systemCaller, { node_id: agent.nodeId });
    expect(told.at(-1)?.metadata).toEqual({
      // Of the last three the first found it given up.
      drift_id: items[1]!.drift_id,
      assignment: "motd",
      times: 5,
    });
    writeFileSync(file, "ours\n");
    expect(await check()).toBe("in_sync");
    await drift();
    expect(readFileSync(file, "utf8")).toBe("ours\n");
  });

  it("is put back at once again where another revision is applied, however often the one before was", async () => {
    const { test, agent, file, drift } = await createMachine(true);
    const { modules, operations } = test.orchestrator;
    await drift();
    await drift();
    expect(readFileSync(file, "utf8")).toBe("theirs\n");
    await modules.upload(systemCaller, { content: module.replace("ours", "newer") });
    await operations.apply(systemCaller, { node_id: agent.nodeId });
    await drift();
    expect(readFileSync(file, "utf8")).toBe("newer\n");
    const enforced = test.events.filter(({ event_type }) => event_type === "drift.enforced");
    expect(enforced).toMatchObject([{ metadata: { times: 1 } }, { metadata: { times: 1 } }]);
  });

  it("is left alone on a machine that has gone since its check: what is still so is found by the next", async () => {
    const { test, agent, drift, events } = await createMachine(true);
    const { nodeId: node_id } = agent;
    const { presence } = servicesOf(test.orchestrator).agents;
    const get = test.storage.get.bind(test.storage);
    test.storage.get = async <Value>(collection: string, key: string) => {
      const found = await get<Value>(collection, key);
      if (collection === "drift_records" && presence.isConnected(node_id)) {
        await agent[Symbol.asyncDispose]();
        await expect.poll(() => presence.isConnected(node_id)).toBe(false);
      }
      return found;
    };
    await drift();
    expect(events()).toEqual(["drift.detected"]);
    expect((await test.orchestrator.operations.list(systemCaller, { kind: "apply" })).items).toHaveLength(1);
  });

  it("is put back though a clock that was ahead wrote when it was put back last", async () => {
    const { test, agent, file, drift } = await createMachine(true);
    await drift();
    const { value } = (await test.storage.get("drift_states", agent.nodeId))!;
    const last_at = test.clock.now() + 30 * 86_400_000;
    const enforcement = { ...(value["enforcement"] as object), last_at };
    const ahead = { ...value, enforcement };
    await test.storage.commit([{ kind: "put", collection: "drift_states", key: agent.nodeId, value: ahead }]);
    await drift();
    expect(readFileSync(file, "utf8")).toBe("ours\n");
  });

  it("is left alone after an apply that failed: nobody knows which state is right", async () => {
    const { test, agent, file, drift } = await createMachine(true);
    const broken = `${module}  - { type: file, path: /no/such/folder, content: x }\n`;
    await test.orchestrator.modules.upload(systemCaller, { content: broken });
    const { status } = await test.orchestrator.operations.apply(systemCaller, { node_id: agent.nodeId });
    expect(status).not.toBe("succeeded");
    await drift();
    expect(readFileSync(file, "utf8")).toBe("theirs\n");
  });
});

it("an assignment that is not enforced only tells of drift", async () => {
  const { file, drift, events } = await createMachine(false);
  await drift();
  expect(readFileSync(file, "utf8")).toBe("theirs\n");
  expect(events()).toEqual(["drift.detected"]);
});
