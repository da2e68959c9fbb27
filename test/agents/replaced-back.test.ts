/** An agent takes its place back from the one that had replaced it. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { reinstalled } from "../support/reinstalled.ts";
import { waitFor } from "../support/wait-for.ts";

/** What calls named for agents. */
function naming({ storage }: TestOrchestrator) {
  const namedOf = async (node_id: string): Promise<unknown> =>
    (await storage.get<JsonObject>("agent_states", node_id))?.value["named"];
  const name = async (node_id: string, named: Record<string, { revision: number }>): Promise<void> => {
    const before = await storage.get<JsonObject>("agent_states", node_id);
    const value = { node_id, ...before?.value, named };
    await storage.commit([{ kind: "put", collection: "agent_states", key: node_id, value }]);
  };
  return { namedOf, name };
}

describe("an agent that was replaced", () => {
  it("takes back what calls named for the place, and leaves the other what it was named itself", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const { namedOf, name } = naming(test);
    await name(old, { motd: { revision: 1 }, web: { revision: 3 }, gone: { revision: 1 } });
    await name(fresh, { web: { revision: 4 }, own: { revision: 1 }, dropped: { revision: 1 } });
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    // In its new place something is named, something is named otherwise, and something is taken away.
    await name(fresh, {
      web: { revision: 4 },
      own: { revision: 1 },
      motd: { revision: 2 },
      since: { revision: 7 },
    });
    await agents.replace(systemCaller, { node_id: fresh, by: old, force: true });
    expect(await namedOf(old)).toEqual({
      motd: { revision: 2 },
      web: { revision: 3 },
      since: { revision: 7 },
    });
    expect(await namedOf(fresh)).toEqual({ web: { revision: 4 }, own: { revision: 1 } });
  });

  it("goes back by the same verb, and no other way", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    const third = await connect(test, 3);
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    // Nothing is left to be taken over, and nobody else may bring it back.
    for (const [node_id, by] of [
      [old, third.nodeId],
      [old, fresh],
      [third.nodeId, old],
    ] as const)
      await expect(agents.replace(systemCaller, { node_id, by })).rejects.toMatchObject({
        code: "INVALID_TRANSITION",
      });
    const back = { node_id: fresh, by: old, force: true };
    expect(await agents.replace(systemCaller, back)).toMatchObject({
      node_id: old,
      name: "machine-1",
      status: "approved",
      tags: { role: "web", rack: "7" },
    });
    for (const node_id of [old, fresh]) {
      const agent = await agents.get(systemCaller, { node_id });
      for (const field of ["replaced_by", "status_when_replaced", "in_place_of"])
        expect(agent).not.toHaveProperty(field);
    }
    expect(await agents.get(systemCaller, { node_id: fresh })).toMatchObject({
      status: "rejected",
      tags: {},
    });
  });

  it("gives one that was there by mistake its name and tags again, and nothing of what waited for the place", async () => {
    await using test = await createTestOrchestrator();
    const { agents, operations } = test.orchestrator;
    const { old } = await reinstalled(test);
    const wrong = await approved(test, 4);
    const by = wrong.nodeId;
    await agents.tags.replace(systemCaller, { node_id: by, tags: { role: "db" } });
    await agents.replace(systemCaller, { node_id: old, by });
    await agents.rename(systemCaller, { node_id: by, name: "web-1" });
    await agents.tags.set(systemCaller, { node_id: by, key: "rack", value: "8" });
    await leave(test, wrong);
    const queued = { node_id: by, modules: ["motd"], when_offline: "queue", wait_seconds: 0 } as const;
    const { operation_id } = await operations.apply(systemCaller, { ...queued, modules: ["motd"] });
    await agents.replace(systemCaller, { node_id: by, by: old });
    expect(await agents.get(systemCaller, { node_id: old })).toMatchObject({
      status: "approved",
      name: "web-1",
      tags: { role: "web", rack: "8" },
    });
    const back = { status: "rejected", name: "machine-4", tags: { role: "db" } };
    expect(await agents.get(systemCaller, { node_id: by })).toMatchObject(back);
    await waitFor(async () =>
      expect(await operations.get(systemCaller, { operation_id })).toMatchObject({ status: "cancelled" }),
    );
    expect(await agents.setStatus(systemCaller, { node_id: by, status: "approved" })).toMatchObject({
      ...back,
      status: "approved",
    });
  });

  it.each([
    ["machine-4", "MACHINE-4"],
    ["Machine-4", "machine-4"],
    ["Machine-4", "Machine-4"],
  ])("leaves one that was %s by mistake without a name where another is %s by now", async (own, taken) => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const { nodeId: by } = await approved(test, 4);
    await agents.rename(systemCaller, { node_id: by, name: own });
    await agents.replace(systemCaller, { node_id: old, by });
    const { nodeId: third } = await connect(test, 3);
    await agents.setStatus(systemCaller, { node_id: third, status: "approved", name: taken });
    await agents.replace(systemCaller, { node_id: by, by: old, force: true });
    expect(await agents.get(systemCaller, { node_id: by })).not.toHaveProperty("name");
    expect(await agents.get(systemCaller, { node_id: third })).toMatchObject({ name: taken });
    const named = await agents.setStatus(systemCaller, { node_id: by, status: "approved" });
    expect(named.name).toBe("machine-4-2");
  });

  it.each(["machine-4", "Machine-4"])("gives one that was %s by mistake that name again", async (own) => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const { nodeId: by } = await approved(test, 4);
    await agents.rename(systemCaller, { node_id: by, name: own });
    await agents.replace(systemCaller, { node_id: old, by });
    await agents.replace(systemCaller, { node_id: by, by: old, force: true });
    expect(await agents.get(systemCaller, { node_id: by })).toMatchObject({ name: own });
    const { nodeId: third } = await connect(test, 3);
    const taken = agents.setStatus(systemCaller, {
      node_id: third,
      status: "approved",
      name: own.toUpperCase(),
    });
    await expect(taken).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
  });

  it("approves none that was rejected on purpose before it was replaced", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    await agents.setStatus(systemCaller, { node_id: old, status: "rejected" });
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    const back = await agents.replace(systemCaller, { node_id: fresh, by: old, force: true });
    expect(back).toMatchObject({ status: "rejected", name: "machine-1", tags: { role: "web", rack: "7" } });
    const told = test.events.filter(({ target }) => target?.id === old).map(({ event_type }) => event_type);
    expect(told.slice(-2)).toEqual(["agent.rejected", "agent.replaced"]);
  });

  it("goes back step by step where one was replaced after the other", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const [second, third] = [await approved(test, 4), await approved(test, 5)];
    const [b, c] = [second.nodeId, third.nodeId];
    const { namedOf, name } = naming(test);
    const own = { a: { revision: 1 }, b: { revision: 2 }, c: { revision: 3 } };
    await name(old, { a: own.a });
    await name(b, { b: own.b });
    await name(c, { c: own.c });
    for (const [node_id, by] of [
      [old, b],
      [b, c],
      [c, b],
      [b, old],
    ] as const)
      await agents.replace(systemCaller, { node_id, by, force: true });
    const all = await Promise.all([old, b, c].map((node_id) => agents.get(systemCaller, { node_id })));
    expect(all.map(({ name, status, tags }) => [name, status, tags])).toEqual([
      ["machine-1", "approved", { role: "web", rack: "7" }],
      ["machine-4", "rejected", {}],
      ["machine-5", "rejected", {}],
    ]);
    expect(await Promise.all([old, b, c].map(namedOf))).toEqual([{ a: own.a }, { b: own.b }, { c: own.c }]);
  });

  it("does not come back where the other has left its place for that of a third", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const [b, third] = [(await approved(test, 4)).nodeId, (await approved(test, 5)).nodeId];
    await agents.replace(systemCaller, { node_id: old, by: b });
    await agents.replace(systemCaller, { node_id: third, by: b, force: true });
    await expect(agents.replace(systemCaller, { node_id: b, by: old, force: true })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringContaining(third) as string,
    });
    await agents.replace(systemCaller, { node_id: b, by: third, force: true });
    expect(await agents.get(systemCaller, { node_id: third })).toMatchObject({ name: "machine-5" });
    // The place of before is the one that the other gets again, and so it can be left again, too.
    expect(await agents.get(systemCaller, { node_id: b })).toMatchObject({
      status: "rejected",
      name: "machine-1",
      tags: { role: "web", rack: "7" },
    });
    await agents.replace(systemCaller, { node_id: b, by: old, force: true });
    expect(await agents.get(systemCaller, { node_id: old })).toMatchObject({ name: "machine-1" });
    await agents.remove(systemCaller, { node_id: b });
    await expect(agents.replace(systemCaller, { node_id: b, by: old })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("comes back once", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    const back = { node_id: fresh, by: old, force: true };
    await agents.replace(systemCaller, back);
    await expect(agents.replace(systemCaller, back)).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("has the name by which the place is called when the step is made, and the other never one of two", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old } = await reinstalled(test);
    const [b, third] = [(await approved(test, 4)).nodeId, (await approved(test, 5)).nodeId];
    await agents.replace(systemCaller, { node_id: old, by: b });
    // One renames the place, and one takes the name that the other gave up, both in the moment of the step.
    await Promise.all([
      agents.replace(systemCaller, { node_id: b, by: old, force: true }),
      agents.rename(systemCaller, { node_id: b, name: "web-1" }).catch(() => {}),
      agents.rename(systemCaller, { node_id: third, name: "machine-4" }).catch(() => {}),
    ]);
    const names = (await test.storage.list<{ node_id: string }>("agent_names", { limit: 10 })).items;
    const all = await Promise.all([old, b, third].map((node_id) => agents.get(systemCaller, { node_id })));
    const called = all.flatMap(({ name, node_id }) => (name === undefined ? [] : [[name, node_id]]));
    expect(names.map(({ key, value }) => [key, value.node_id])).toEqual(called.toSorted());
    expect(all[0]!.name).toMatch(/^(?:machine-1|web-1)$/);
  });

  it("puts back what an earlier version replaced, as far as that is known", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { old, fresh } = await reinstalled(test);
    await agents.replace(systemCaller, { node_id: old, by: fresh });
    const known = await test.storage.getMany<JsonObject>("agents", [old, fresh]);
    await test.storage.commit(
      known.map((each) => {
        const { status_when_replaced: _status, in_place_of: _place, ...value } = each!.value;
        return { kind: "put", collection: "agents", key: each!.key, value };
      }),
    );
    const back = await agents.replace(systemCaller, { node_id: fresh, by: old, force: true });
    expect(back).toMatchObject({ status: "approved", name: "machine-1" });
    expect(await agents.get(systemCaller, { node_id: fresh })).toMatchObject({
      status: "rejected",
      replaced_by: old,
    });
  });
});
