/** Agents get other names: one, or many after what they tell. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { approved, connect } from "../support/leaving-agents.ts";

const nameOf = async (test: TestOrchestrator, node_id: string): Promise<string | undefined> =>
  (await test.orchestrator.agents.get(systemCaller, { node_id })).name;

/** What an agent tells of its machine, as it is stored. */
async function tellAttributes(
  test: TestOrchestrator,
  node_id: string,
  attributes: Record<string, string>,
): Promise<void> {
  const value = { node_id, attributes, collected_at: "2026-01-01T00:00:00.000Z" };
  await test.storage.commit([{ kind: "put", collection: "agent_attributes", key: node_id, value }]);
}

/** Knows how many commits were under way at once, at most. */
class CountingStorage extends MemoryStorage {
  most = 0;
  #underWay = 0;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    this.#underWay += 1;
    this.most = Math.max(this.most, this.#underWay);
    await settle();
    this.#underWay -= 1;
    return super.commit(...args);
  }
}

describe("agents.rename", () => {
  it("shows in lists, selectors and events, and frees the old name", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    const { version } = await agents.get(systemCaller, { node_id });
    const renamed = await agents.rename(systemCaller, { node_id, name: "web-1" });
    expect(renamed).toMatchObject({ node_id, name: "web-1", version: version + 1 });
    expect((await agents.list(systemCaller, { selector: "name=web-1" })).items).toMatchObject([{ node_id }]);
    expect((await agents.list(systemCaller, { selector: "name=machine-1" })).items).toEqual([]);
    expect((await agents.list(systemCaller, { name: "WEB-1" })).items).toMatchObject([{ node_id }]);
    expect(test.events.at(-1)).toMatchObject({
      event_type: "agent.renamed",
      target: { id: node_id, name: "web-1" },
      metadata: { before: "machine-1", after: "web-1" },
    });
    await agents.tags.set(systemCaller, { node_id, key: "a", value: "b" });
    expect(test.events.at(-1)).toMatchObject({ target: { name: "web-1" } });
    const other = await connect(test, 2);
    const taken = { node_id: other.nodeId, status: "approved", name: "machine-1" } as const;
    expect(await agents.setStatus(systemCaller, taken)).toMatchObject({ name: "machine-1" });
  });

  it("has a maintenance window that goes by names hold at once", async () => {
    await using test = await createTestOrchestrator();
    const { agents, maintenanceWindows } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    await maintenanceWindows.create(systemCaller, {
      selector: "name=web-1",
      reason: "x",
      mode: "freeze",
      ends_at: "2100-01-01T00:00:00Z",
    });
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
    await test.orchestrator.modules.upload(systemCaller, { content });
    const apply = { node_id, modules: ["motd"], wait_seconds: 0 };
    await test.orchestrator.operations.apply(systemCaller, apply);
    await agents.rename(systemCaller, { node_id, name: "web-1" });
    const held = test.orchestrator.operations.apply(systemCaller, apply);
    await expect(held).rejects.toMatchObject({ code: "MAINTENANCE_WINDOW" });
  });

  it("tells both agents of a name that is taken, in whatever case, and changes nothing", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    for (const name of ["machine-2", "MACHINE-2"]) {
      const refused = agents.rename(systemCaller, { node_id: first.nodeId, name });
      await expect(refused).rejects.toMatchObject({
        code: "ALREADY_EXISTS",
        message: expect.stringMatching(
          new RegExp(`machine-2: ${second.nodeId}.*machine-1 \\(${first.nodeId}`),
        ),
        details: { node_id: first.nodeId, held_by: second.nodeId },
      });
    }
    const third = await connect(test, 3);
    const approval = { node_id: third.nodeId, status: "approved", name: "machine-2" } as const;
    await expect(agents.setStatus(systemCaller, approval)).rejects.toMatchObject({
      code: "ALREADY_EXISTS",
      details: { held_by: second.nodeId },
    });
    expect(await nameOf(test, first.nodeId)).toBe("machine-1");
  });

  it("changes the case of a name, and writes nothing where it is the same", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    expect(await agents.rename(systemCaller, { node_id, name: "Machine-1" })).toMatchObject({
      name: "Machine-1",
    });
    const events = test.events.length;
    await agents.rename(systemCaller, { node_id, name: "Machine-1" });
    expect(test.events.length).toBe(events);
    expect((await agents.list(systemCaller, { name: "machine-1" })).items).toMatchObject([{ node_id }]);
  });

  it.each(["", "1web", "web 1", "web\u001b[2J", "../web", "wéb", "w".repeat(65), "web\n"])(
    "refuses %j",
    async (name) => {
      await using test = await createTestOrchestrator();
      const { nodeId: node_id } = await approved(test, 1);
      const refused = test.orchestrator.agents.rename(systemCaller, { node_id, name });
      await expect(refused).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    },
  );

  it("refuses an agent that waits, one that is gone, and a version that is not the present one", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: waiting } = await connect(test, 1);
    await expect(agents.rename(systemCaller, { node_id: waiting, name: "a" })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    const gone = { node_id: "0".repeat(32), name: "a" };
    await expect(agents.rename(systemCaller, gone)).rejects.toMatchObject({ code: "NOT_FOUND" });
    const { nodeId: node_id } = await approved(test, 2);
    const stale = agents.rename(systemCaller, { node_id, name: "a" }, { ifVersion: [99] });
    await expect(stale).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
  });

  it("gives a name that two agents want at once to one of them", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const nodes = [await approved(test, 1), await approved(test, 2)];
    const tried = await Promise.allSettled(
      nodes.map(({ nodeId }) => agents.rename(systemCaller, { node_id: nodeId, name: "web" })),
    );
    expect(tried.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const { items } = await agents.list(systemCaller, { selector: "name=web" });
    expect(items).toHaveLength(1);
  });
});

describe("agents.setNames", () => {
  it("names many, also where one wants what another gives up, and leaves a circle as it is", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(async (n) => (await approved(test, n)).nodeId));
    const names = [
      { node_id: a!, name: "machine-2" },
      { node_id: b!, name: "machine-22" },
      { node_id: c!, name: "machine-4" },
      { node_id: d!, name: "machine-3" },
    ];
    const answer = await agents.setNames(systemCaller, { names });
    expect(answer).toMatchObject({ changed: 2, failed: 2 });
    expect(answer.items.map(({ name, outcome }) => [name, outcome])).toEqual([
      ["machine-2", "changed"],
      ["machine-22", "changed"],
      ["machine-3", "failed"],
      ["machine-4", "failed"],
    ]);
    expect(test.events.filter(({ event_type }) => event_type === "agent.renamed")).toHaveLength(2);
    expect(await agents.setNames(systemCaller, { names: names.slice(0, 2) })).toMatchObject({ unchanged: 2 });
  });

  it.each([
    ["Web1", "web1"],
    ["web1", "WEB1"],
    ["web1", "web1"],
  ])(
    "gives one the name that another gives up, called %s and then %s, in either order",
    async (old, taken) => {
      for (const isFirst of [true, false]) {
        await using test = await createTestOrchestrator();
        const { agents } = test.orchestrator;
        const [a, b] = [(await approved(test, 1)).nodeId, (await approved(test, 2)).nodeId];
        await agents.rename(systemCaller, { node_id: a, name: old });
        const names = [
          { node_id: a, name: "app1" },
          { node_id: b, name: taken },
        ];
        const answer = await agents.setNames(systemCaller, { names: isFirst ? names : names.toReversed() });
        expect(answer).toMatchObject({ changed: 2, failed: 0 });
        expect([await nameOf(test, a), await nameOf(test, b)]).toEqual(["app1", taken]);
      }
    },
  );

  it.each(["first to last", "last to first"])(
    "renumbers 60 of which each takes the name of the next, told %s",
    async (way) => {
      await using test = await createTestOrchestrator();
      const { agents } = test.orchestrator;
      const ids: string[] = [];
      for (let n = 1; n <= 60; n += 1) ids.push((await approved(test, n)).nodeId);
      // The second time those have capital letters that give their names up.
      for (const nameOfNext of [(at: number) => `MACHINE-${at + 2}`, (at: number) => `machine-${at + 3}`]) {
        const names = ids.map((node_id, at) => ({ node_id, name: nameOfNext(at) }));
        const answer = await agents.setNames(systemCaller, {
          names: way === "first to last" ? names : names.toReversed(),
        });
        expect(answer).toMatchObject({ changed: 60, failed: 0 });
        expect(await Promise.all(ids.map((id) => nameOf(test, id)))).toEqual(names.map(({ name }) => name));
      }
    },
  );

  it("refuses to give two agents one name, in whichever case", async () => {
    await using test = await createTestOrchestrator();
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    const names = [
      { node_id: first.nodeId, name: "same" },
      { node_id: second.nodeId, name: "SAME" },
    ];
    const naming = test.orchestrator.agents.setNames(systemCaller, { names });
    await expect(naming).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  it("names after the hostname or an attribute; what can't be a name fails alone", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    await agents.rename(systemCaller, { node_id: first.nodeId, name: "x" });
    await agents.rename(systemCaller, { node_id: second.nodeId, name: "y" });
    const named = await agents.setNames(systemCaller, { selector: "*", from: "hostname" });
    expect(named).toMatchObject({ changed: 2 });
    expect(await nameOf(test, first.nodeId)).toBe("machine-1");
    await tellAttributes(test, first.nodeId, { serial: "\u001b[31mSN 7.example" });
    await tellAttributes(test, second.nodeId, { serial: "..1" });
    const after = await agents.setNames(systemCaller, { selector: "*", from: "serial" });
    expect(after).toMatchObject({ changed: 1, failed: 1 });
    expect(await nameOf(test, first.nodeId)).toBe("mSN-7");
    const none = await agents.setNames(systemCaller, { selector: "*", from: "__proto__" });
    expect(none).toMatchObject({ changed: 0, failed: 2 });
  });

  // Each waits for another that comes behind it.
  it.each([1, 2, 10, 100])(
    "names %d agents of which each has the name that the one before it is to have",
    async (count) => {
      await using test = await createTestOrchestrator();
      const { agents } = test.orchestrator;
      const ids: string[] = [];
      for (let number = 1; number <= count; number += 1) ids.push((await approved(test, number)).nodeId);
      await agents.rename(systemCaller, { node_id: ids.at(-1)!, name: "another" });
      for (let number = count - 1; number >= 1; number -= 1)
        await agents.rename(systemCaller, { node_id: ids[number - 1]!, name: `machine-${number + 1}` });
      const node_ids = ids.toReversed();
      const answer = await agents.setNames(systemCaller, { node_ids, from: "hostname" });
      expect(answer).toMatchObject({ changed: count, failed: 0 });
      expect(answer.items.map(({ node_id, name }) => [node_id, name])).toEqual(
        node_ids.map((node_id, at) => [node_id, `machine-${count - at}`]),
      );
    },
  );

  it("names after an attribute in order, one of those that want one name, and none of a circle", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const wishes = {
      // A row of three, whose last finds its name free; two that want one name; a circle and who waits for it; one that tells nothing.
      row1: "row2",
      row2: "row3",
      row3: "Free",
      same1: "wanted",
      same2: "wanted",
      circle1: "circle2",
      circle2: "circle1",
      behind: "Circle1",
      kept: "kept",
      silent: undefined,
    };
    const ids: Record<string, string> = {};
    for (const [at, [name, wish]] of Object.entries(wishes).entries()) {
      const { nodeId } = await approved(test, at + 1);
      ids[name] = nodeId;
      await agents.rename(systemCaller, { node_id: nodeId, name });
      await tellAttributes(test, nodeId, wish === undefined ? {} : { wish });
    }
    const answer = await agents.setNames(systemCaller, { node_ids: Object.values(ids), from: "wish" });
    const named = Object.fromEntries(Object.keys(ids).map((name, at) => [name, answer.items[at]!.name]));
    expect(named).toMatchObject({ row1: "row2", row2: "row3", row3: "Free", kept: "kept", silent: "silent" });
    expect(named).toMatchObject({ circle1: "circle1", circle2: "circle2", behind: "behind" });
    expect([named["same1"], named["same2"]].filter((name) => name === "wanted")).toHaveLength(1);
    expect(answer).toMatchObject({ changed: 4, unchanged: 1, failed: 5 });
  });

  it("names those that wait for nobody side by side, beside a row of others", async () => {
    const storage = new CountingStorage();
    await using test = await createTestOrchestrator({ storage });
    const { agents } = test.orchestrator;
    const ids: string[] = [];
    for (let number = 1; number <= 30; number += 1) {
      const { nodeId: node_id } = await approved(test, number);
      await agents.rename(systemCaller, { node_id, name: `old-${number}` });
      ids.push(node_id);
    }
    // The second waits for the first.
    await tellAttributes(test, ids[0]!, { wish: "new-1" });
    await tellAttributes(test, ids[1]!, { wish: "old-1" });
    for (const [at, id] of ids.slice(2).entries()) await tellAttributes(test, id, { wish: `new-${at + 2}` });
    storage.most = 0;
    expect(await agents.setNames(systemCaller, { selector: "*", from: "wish" })).toMatchObject({
      changed: 30,
    });
    expect(storage.most).toBeGreaterThan(10);
  });

  it("tries those that want a name which its agent keeps side by side", async () => {
    const storage = new CountingStorage();
    await using test = await createTestOrchestrator({ storage });
    const { agents } = test.orchestrator;
    for (let number = 1; number <= 20; number += 1) {
      const { nodeId } = await approved(test, number);
      await tellAttributes(test, nodeId, { wish: "machine-1" });
    }
    storage.most = 0;
    const answer = await agents.setNames(systemCaller, { selector: "*", from: "wish" });
    expect(answer).toMatchObject({ changed: 0, unchanged: 1, failed: 19 });
    expect(storage.most).toBeGreaterThan(10);
  });

  it("refuses what names agents twice, in two ways or not at all", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    const twice = [
      { node_id, name: "a" },
      { node_id, name: "b" },
    ];
    for (const input of [
      {},
      { names: twice },
      { names: twice.slice(1), from: "hostname" },
      { names: twice.slice(1), selector: "*" },
      { from: "hostname" },
    ])
      await expect(agents.setNames(systemCaller, input)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    await expect(agents.setNames(systemCaller, { from: "hostname", selector: "a=b" })).rejects.toMatchObject({
      code: "NO_MATCH",
    });
    expect(await nameOf(test, node_id)).toBe("machine-1");
  });
});
