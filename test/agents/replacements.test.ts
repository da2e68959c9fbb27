/** An agent takes the place of another: all of it in one step, or none. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type {
  CommitOptions,
  CommitResult,
  Storage,
  StoredDocument,
  Write,
} from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { approved, connect, dial, leave } from "../support/leaving-agents.ts";
import { reinstalled } from "../support/reinstalled.ts";
import { waitFor } from "../support/wait-for.ts";

/** What the storage says of two agents and of names. */
async function stored(storage: Storage, ...nodeIds: string[]): Promise<unknown> {
  const collections = ["agents", "agent_states"];
  const documents = collections.map((name) => storage.getMany(name, nodeIds));
  const names = await storage.list("agent_names", { limit: 100 });
  const { head } = await storage.readLog("audit", { limit: 1 });
  return [await Promise.all(documents), names.items, head.sequence];
}

describe("agents.replace", () => {
  it("takes no machine out of its own place that was applied to, unless that is meant", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const other = await approved(test, 3);
    const by = other.nodeId;
    await agents.tags.replace(systemCaller, { node_id: by, tags: { own: "1" } });
    const applied = { operation_id: "0197a5b4-6d1e-7c3a-9f00-000000000001", status: "succeeded" };
    const value = { node_id: by, last_apply: { ...applied, finished_at: "2030-01-01T00:00:00.000Z" } };
    await test.storage.commit([{ kind: "put", collection: "agent_findings", key: by, value }]);
    await expect(agents.replace(systemCaller, { node_id: old, by })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringContaining("machine-3 was applied to already") as string,
    });
    expect(await agents.get(systemCaller, { node_id: by })).toMatchObject({
      name: "machine-3",
      tags: { own: "1" },
    });
    expect(await agents.replace(systemCaller, { node_id: old, by, force: true })).toMatchObject({
      name: "machine-1",
    });
  });

  it("hands over name and tags, keeps the old key out, and ends what was queued", async () => {
    await using test = await createTestOrchestrator();
    const { agents, operations } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const before = test.events.length;
    const agent = await agents.replace(systemCaller, { node_id: old, by: fresh });
    expect(agent).toMatchObject({ node_id: fresh, name: "machine-1", status: "approved" });
    expect(agent.tags).toEqual({ role: "web", rack: "7" });
    await settleAll();
    const left = await agents.get(systemCaller, { node_id: old });
    expect(left).toMatchObject({ status: "rejected", replaced_by: fresh, tags: {} });
    expect(left).not.toHaveProperty("name");
    expect((await agents.list(systemCaller, { selector: "role=web" })).items).toMatchObject([
      { node_id: fresh },
    ]);
    expect((await agents.list(systemCaller, { name: "machine-1" })).items).toMatchObject([
      { node_id: fresh },
    ]);
    await waitFor(async () => {
      const { items } = await operations.list(systemCaller, { node_id: old });
      expect(items).toMatchObject([{ status: "cancelled", error: { code: "AGENT_NOT_APPROVED" } }]);
    });
    const told = test.events.slice(before).filter(({ event_type }) => event_type.startsWith("agent."));
    expect(told.map(({ event_type, target }) => [event_type, target?.id])).toEqual([
      ["agent.rejected", old],
      ["agent.approved", fresh],
      ["agent.replaced", fresh],
    ]);
    expect(told.at(-1)).toMatchObject({
      target: { name: "machine-1" },
      metadata: {
        replaced: { node_id: old, name: "machine-1", status: "approved", tags: { role: "web", rack: "7" } },
        by: { node_id: fresh, name: null, hostname: "machine-2", status: "pending", tags: {} },
        forced: false,
      },
    });
    for (const status of ["approved", "rejected"] as const)
      await expect(agents.setStatus(systemCaller, { node_id: old, status })).rejects.toMatchObject({
        code: "INVALID_TRANSITION",
      });
    const again = dial(test, 1);
    expect(await again.join()).toBe("rejected");
    await again.heard.next("closed");
    expect(test.transport.isConnected(old)).toBe(false);
    expect(await agents.get(systemCaller, { node_id: old })).toMatchObject({ status: "rejected" });
  });

  it("takes over what calls named, and its own naming counts more", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const put = (node_id: string, named: Record<string, { revision: number }>): Write => ({
      kind: "put",
      collection: "agent_states",
      key: node_id,
      value: { node_id, named },
    });
    await test.storage.commit([
      put(old, { motd: { revision: 1 }, web: { revision: 3 } }),
      put(fresh, { web: { revision: 4 } }),
    ]);
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    const [from, to] = await test.storage.getMany("agent_states", [old, fresh]);
    expect(from?.value).toEqual({ node_id: old });
    expect(to?.value).toMatchObject({
      node_id: fresh,
      named: { motd: { revision: 1 }, web: { revision: 4 } },
    });
  });

  it("has one that is approved give up its own name and tags", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const old = await approved(test, 1);
    await leave(test, old);
    const { nodeId: fresh } = await approved(test, 2);
    await agents.tags.set(systemCaller, { node_id: fresh, key: "secrets", value: "all" });
    // Nobody approves it anew.
    const { approved_at, approved_by } = await agents.get(systemCaller, { node_id: fresh });
    expect(approved_at).toBeDefined();
    await test.clock.advance(60_000);
    await agents.replace(systemCaller, { node_id: old.nodeId, by: fresh });
    const kept = { name: "machine-1", tags: {}, approved_at, approved_by };
    expect(await agents.get(systemCaller, { node_id: fresh })).toMatchObject(kept);
    const third = await connect(test, 3);
    const freed = { node_id: third.nodeId, status: "approved", name: "machine-2" } as const;
    expect(await agents.setStatus(systemCaller, freed)).toMatchObject({ name: "machine-2" });
  });

  it("refuses one that is connected, but by force, which ends its connection", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [old, fresh] = [await approved(test, 1), await connect(test, 2)];
    const replacement = { node_id: old.nodeId, by: fresh.nodeId };
    await expect(agents.replace(systemCaller, replacement)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringContaining("connected") as string,
    });
    expect(await agents.get(systemCaller, { node_id: fresh.nodeId })).toMatchObject({ status: "pending" });
    await agents.replace(systemCaller, { ...replacement, force: true });
    await waitFor(() => expect(test.transport.isConnected(old.nodeId)).toBe(false));
    expect(test.transport.isConnected(fresh.nodeId)).toBe(true);
    const replaced = test.events.find(({ event_type }) => event_type === "agent.replaced");
    expect(replaced).toMatchObject({ metadata: { forced: true } });
  });

  it("takes the place of one that was rejected before, and of none that was never named", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [old, fresh, waiting] = [await approved(test, 1), await connect(test, 2), await connect(test, 3)];
    await agents.setStatus(systemCaller, { node_id: old.nodeId, status: "rejected" });
    await waitFor(() => expect(test.transport.isConnected(old.nodeId)).toBe(false));
    const wrong = { node_id: waiting.nodeId, by: fresh.nodeId, force: true };
    await expect(agents.replace(systemCaller, wrong)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    const replacement = { node_id: old.nodeId, by: fresh.nodeId };
    expect(await agents.replace(systemCaller, replacement)).toMatchObject({ name: "machine-1" });
    // The name stays with the one that has it when the record of the other goes.
    await agents.remove(systemCaller, { node_id: old.nodeId });
    expect((await agents.list(systemCaller, { name: "machine-1" })).items).toMatchObject([
      { node_id: fresh.nodeId },
    ]);
    await agents.rename(systemCaller, { node_id: fresh.nodeId, name: "web-1" });
  });

  it("refuses itself, strangers, the rejected, and versions that are gone", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const { nodeId: rejected } = await connect(test, 3);
    await agents.setStatus(systemCaller, { node_id: rejected, status: "rejected" });
    const gone = "0".repeat(32);
    for (const [node_id, by, code] of [
      [old, old, "VALIDATION_FAILED"],
      [gone, fresh, "NOT_FOUND"],
      [old, gone, "NOT_FOUND"],
      [old, rejected, "INVALID_TRANSITION"],
      ["machine-1", fresh, "VALIDATION_FAILED"],
      [old, old.toUpperCase(), "VALIDATION_FAILED"],
    ] as const)
      await expect(agents.replace(systemCaller, { node_id, by })).rejects.toMatchObject({ code });
    const stale = agents.replace(systemCaller, { node_id: old, by: fresh }, { ifVersion: [99] });
    await expect(stale).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
  });

  it("lets one of two that race for a name have it", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const { nodeId: other } = await connect(test, 3);
    const tried = await Promise.allSettled(
      [fresh, other].map((by) => agents.replace(systemCaller, { node_id: old, by })),
    );
    expect(tried.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const refused = tried.find((each): each is PromiseRejectedResult => each.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: "INVALID_TRANSITION" });
    const { items } = await agents.list(systemCaller, { status: "approved" });
    expect(items.map(({ name }) => name)).toEqual(["machine-1"]);
  });
});

/** Fails one call after the other: before it does anything, or, of a commit, after it is on disk, as a kill there would. */
class FailingStorage extends MemoryStorage {
  calls = 0;
  failAt = Infinity;
  isLost = false;

  #fails(): void {
    this.calls += 1;
    if (this.calls === this.failAt) throw new Error("the process ends here");
  }
  override async get<Value = JsonObject>(
    ...args: Parameters<MemoryStorage["get"]>
  ): Promise<StoredDocument<Value> | null> {
    this.#fails();
    return super.get<Value>(...args);
  }
  override async getMany<Value = JsonObject>(
    ...args: Parameters<MemoryStorage["getMany"]>
  ): Promise<(StoredDocument<Value> | null)[]> {
    this.#fails();
    return super.getMany<Value>(...args);
  }
  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    if (this.isLost && this.calls + 1 === this.failAt) await super.commit(writes, options);
    this.#fails();
    return super.commit(writes, options);
  }
}

it.each([
  { isLost: false, isBack: false },
  { isLost: true, isBack: false },
  { isLost: false, isBack: true },
  { isLost: true, isBack: true },
])("a failure at any call of the storage leaves before or after: %o", async ({ isLost, isBack }) => {
  let [before, after] = [0, 0];
  for (let at = 1; ; at += 1) {
    const storage = new FailingStorage();
    await using test = await createTestOrchestrator({ storage });
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const there = { node_id: old, by: fresh };
    const back = { node_id: fresh, by: old, force: true };
    if (isBack) await agents.replace(systemCaller, there);
    await settleAll();
    const known = await stored(storage, old, fresh);
    const [leaves, comes] = isBack ? [fresh, old] : [old, fresh];
    Object.assign(storage, { calls: 0, failAt: at, isLost });
    const failed = await agents.replace(systemCaller, isBack ? back : there).then(
      () => false,
      () => true,
    );
    storage.failAt = Infinity;
    await settleAll();
    const [left, came] = await storage.getMany<{ name?: string; status: string }>("agents", [leaves, comes]);
    const names = (await storage.list<{ node_id: string }>("agent_names", { limit: 10 })).items;
    if (left?.value.status === "approved") {
      expect(await stored(storage, old, fresh)).toEqual(known);
      before += 1;
    } else {
      expect(left?.value).toMatchObject({ status: "rejected" });
      expect(came?.value).toMatchObject({ status: "approved", name: "machine-1" });
      expect(names.map(({ key, value }) => [key, value.node_id])).toEqual([["machine-1", comes]]);
      after += 1;
    }
    if (!failed) break;
  }
  expect(before).toBeGreaterThan(2);
  expect(after).toBeGreaterThan(isLost ? 1 : 0);
});

it("work that was queued for a replaced agent ends also where the process was killed right behind the step", async () => {
  const data = new MemoryData();
  let ids = { old: "", fresh: "" };
  {
    await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
    ids = await reinstalled(test);
  }
  // What the step writes, by a process that is gone before it hears of it.
  const storage = new MemoryStorage({ data });
  await storage.open(storageSchema);
  const old = await storage.get<JsonObject>("agents", ids.old);
  const value = { ...old!.value, status: "rejected", replaced_by: ids.fresh };
  await storage.commit([{ kind: "put", collection: "agents", key: ids.old, value }]);
  await storage.close();
  await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  await waitFor(async () => {
    const { items } = await test.orchestrator.operations.list(systemCaller, { node_id: ids.old });
    expect(items).toMatchObject([{ status: "cancelled", error: { code: "AGENT_NOT_APPROVED" } }]);
  });
});
