/** Where more operations are kept than `operationRetentionCount`, the oldest go. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { toJsonObject } from "../../lib/json.ts";
import { type OperationDocument, resultsLog } from "../../lib/operations/documents.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { OldOperations } from "../support/retention.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const agent = { node_id: "a" };

async function openedFor(count: number): Promise<OldOperations> {
  const clock = new FakeClock();
  const old = await OldOperations.open(new MemoryStorage({ clock }), clock, {
    operationRetentionCount: count,
  });
  await old.put("agents", "a", { node_id: "a", status: "approved", hostname: "a", tags: {} });
  return old;
}
async function removeSurplus(old: OldOperations): Promise<void> {
  for await (const _ of old.retention.surplusRound());
}

describe("of more operations than are to be kept", () => {
  it.each([249, 250, 251, 352])("the oldest go, and no more than is too many: %i of 250", async (count) => {
    const old = await openedFor(250);
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push(await old.add({ kind: "apply", node_id: `b-${n % 7}` }, `${n}`));
    await removeSurplus(old);
    expect(await old.ids()).toEqual(ids.slice(Math.max(0, count - 250)));
    const { entries } = await old.storage.readLog("audit", { where: { event_type: "operation.pruned" } });
    const removed = entries.map(({ value }) => (value["metadata"] as { removed: number }).removed);
    expect(removed).toEqual({ 249: [], 250: [], 251: [1], 352: [100, 2] }[count]);
  });

  it("what goes with them is not counted as one of them", async () => {
    const old = await openedFor(10);
    const ids: string[] = [];
    for (let n = 0; n < 160; n++) ids.push(await old.add({ kind: "check", ...agent }, `${n}`));
    await removeSurplus(old);
    expect(await old.ids()).toEqual(ids.slice(150));
  });

  it("what is needed stays, and younger ones go in its place", async () => {
    const old = await openedFor(3);
    const running = await old.add({ kind: "apply", ...agent, status: "running" });
    const baseline = await old.add({ kind: "apply", ...agent });
    const state = { operation_id: baseline, snapshot: "x", at: "x" };
    await old.put("agent_states", "a", { ...agent, last_apply: state, baseline: state });
    const rest = [];
    for (let n = 0; n < 120; n++) rest.push(await old.add({ kind: "apply", node_id: "b" }, `${n}`));
    await removeSurplus(old);
    expect(await old.ids()).toEqual([running, baseline, rest.at(-1)]);
  });

  it("what is needed is looked at once an hour and not with every round, and goes when it is no more", async () => {
    const old = await openedFor(2);
    const running = [];
    for (let n = 0; n < 250; n++)
      running.push(await old.add({ kind: "apply", node_id: `b-${n}`, status: "running" }, `${n}`));
    await removeSurplus(old);
    await old.add({ kind: "apply", node_id: "c" });
    let looks = 0;
    const { get } = old.storage;
    old.storage.get = (collection, key) => {
      if (collection === "operations") looks += 1;
      return get.call(old.storage, collection, key) as never;
    };
    await removeSurplus(old);
    expect(await old.ids()).toEqual(running);
    expect(looks).toBeLessThan(110);
    const stored = (await old.storage.get<OperationDocument>("operations", running[0]!))!.value;
    await old.put("operations", running[0]!, toJsonObject({ ...stored, status: "succeeded" }));
    await removeSurplus(old);
    expect(await old.ids()).toContain(running[0]);
    await old.rounds(1);
    await removeSurplus(old);
    expect(await old.ids()).toEqual(running.slice(1));
  });

  it("those that are needed stay where they are too many by themselves", async () => {
    const old = await openedFor(2);
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push(await old.add({ kind: "apply", ...agent, status: "running" }));
    await removeSurplus(old);
    await removeSurplus(old);
    expect(await old.ids()).toEqual(ids);
  });

  it("what stays is written anew once a day at most, so that its results hold up no others", async () => {
    const old = await openedFor(1);
    const id = await old.add({ kind: "apply", ...agent, status: "running" });
    await old.age(2);
    for (let n = 0; n < 3; n++) await old.add({ kind: "plan", ...agent, status: "queued" });
    await removeSurplus(old);
    const { head } = await old.storage.readLog(resultsLog);
    await removeSurplus(old);
    expect((await old.storage.readLog(resultsLog)).head).toEqual(head);
    await old.rounds(3);
    const { entries } = await old.storage.readLog(resultsLog);
    expect(entries.map(({ value }) => value["operation_id"]).at(-1)).toBe(id);
    expect(entries).toHaveLength(4);
  });
});

describe("an orchestrator", () => {
  it("counts its operations every minute", async () => {
    const clock = new FakeClock();
    const data = new MemoryData();
    const old = await OldOperations.open(new MemoryStorage({ clock, data }), clock);
    for (let n = 0; n < 998; n++) await old.add({ kind: "apply", node_id: "b" }, `${n}`);
    await old.storage.close();
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, operationRetentionCount: 1_000 });
    const scripted = await connectScriptedAgent(test);
    const node_id = scripted.nodeId;
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    await test.orchestrator.modules.upload(systemCaller, {
      content: "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: one }\n",
    });
    for (let n = 0; n < 5; n++) {
      const running = test.orchestrator.operations.plan(systemCaller, { node_id, modules: ["motd"] });
      const { operation_id } = await scripted.next("plan");
      scripted.link.send(emptyResult(operation_id));
      await running;
    }
    expect(await storage.count("operations")).toBe(1_003);
    await clock.advance(62_000);
    expect(await storage.count("operations")).toBe(1_000);
  });
});
