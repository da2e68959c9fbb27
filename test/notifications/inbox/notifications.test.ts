/** Notifications from the event to the operator who reads them. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller, type Caller, type NotificationPage } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { itemsOf } from "../../support/all-pages.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { deferred, settleAll } from "../../support/deferred.ts";
import { approved, leave } from "../../support/leaving-agents.ts";

/** Notifications are written once the test lets them be. */
class SlowWrites extends MemoryStorage {
  gate: Promise<void> | null = null;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    const [writes] = args;
    if (writes.some((write) => write.kind === "put" && write.collection === "notifications")) await this.gate;
    return super.commit(...args);
  }
}

let test: TestOrchestrator;
beforeEach(async () => {
  test = await createNotifying();
});
afterEach(() => test[Symbol.asyncDispose]());

type List = Parameters<TestOrchestrator["orchestrator"]["notifications"]["list"]>[1];
const list = (input: List = {}, caller: Caller = systemCaller): Promise<NotificationPage> =>
  test.orchestrator.notifications.list(caller, input);
const titles = async (input: List = {}, caller?: Caller): Promise<string[]> =>
  (await list(input, caller)).items.map(({ title }) => title);

async function tellOperators(...names: string[]): Promise<void> {
  for (const name of names) await addOperator(test, name);
  await pass(test, 3_000);
}

describe("a notification", () => {
  it("is made of an event, once nothing more came for two seconds", async () => {
    const operatorId = await addOperator(test, "ada");
    await pass(test, 1_000);
    expect(await list()).toEqual({ items: [], next_cursor: null, unread: 0 });
    await pass(test, 1_500);
    const { items, unread } = await list();
    expect(unread).toBe(1);
    expect(items).toMatchObject([
      {
        event_type: "operator.added",
        severity: "info",
        subject: { type: "operator", id: operatorId, name: "ada" },
        count: 1,
        read_at: null,
        muted: false,
      },
    ]);
    expect(items[0]!.title).toContain("ada");
  });

  it("waits for thirty seconds at most, however much comes", async () => {
    for (let second = 0; second < 32; second += 1) {
      await addOperator(test, `op${second}`);
      await pass(test, 1_000);
      if (second < 28) expect((await list()).items).toEqual([]);
    }
    expect((await list()).items.length).toBeGreaterThan(25);
  });

  it("is made also of what comes while others are being written", async () => {
    const clock = new FakeClock();
    const storage = new SlowWrites({ clock });
    await using slow = await createNotifying({ clock, storage });
    const scene = { ...slow, clock };
    const written = deferred();
    storage.gate = written.promise;
    await addOperator(scene, "ada");
    await pass(scene, 3_000);
    await addOperator(scene, "grace");
    await pass(scene, 3_000);
    written.resolve();
    await settleAll();
    const { items } = await slow.orchestrator.notifications.list(systemCaller);
    expect(items.map(({ subject }) => subject.name)).toEqual(["grace", "ada"]);
  });

  it("waits until nothing more comes each time anew, however long ago the one before was", async () => {
    const inboxOf = async (): Promise<number> => (await list()).items.length;
    for (let round = 1; round < 6; round += 2) {
      await addOperator(test, `first${round}`);
      await pass(test, 1_500);
      await addOperator(test, `second${round}`);
      await pass(test, 1_000);
      expect(await inboxOf()).toBe(round - 1);
      await pass(test, 1_500);
      expect(await inboxOf()).toBe(round + 1);
      await pass(test, 60_000);
    }
  });

  it("is not made of what nobody need know", async () => {
    await test.signIn("Operator");
    const { items } = await (await pass(test, 3_000), list());
    expect(items.map(({ event_type }) => event_type)).toEqual(["operator.added"]);
  });

  it("is one for many agents that went away together, and names them", async () => {
    const agents = [];
    for (let number = 1; number <= 25; number += 1) agents.push(await approved(test, number));
    await leave(test, ...agents);
    await pass(test, 66_000);
    const { items } = await list();
    const [offline] = items.filter(({ event_type }) => event_type === "agent.offline");
    expect(offline).toMatchObject({ title: "25 agents are offline", count: 25, severity: "warning" });
    expect(offline!.body).toMatch(/ and 5 more$/);
    expect(offline!.subject.name).toMatch(/ and 24 others$/);
    expect(items.filter(({ event_type }) => event_type === "agent.offline")).toHaveLength(1);
  });
});

describe("an agent in a maintenance window", () => {
  it("is told of in the inbox, muted, and nowhere else; the others are told as ever", async () => {
    const agents = [];
    for (let number = 1; number <= 5; number += 1) agents.push(await approved(test, number));
    const quiet = agents.slice(0, 2);
    for (const { nodeId } of quiet)
      await test.orchestrator.agents.tags.replace(systemCaller, { node_id: nodeId, tags: { role: "db" } });
    const ends_at = new Date(test.clock.now() + 3_600_000).toISOString();
    const window = { reason: "work", mode: "mute" as const, selector: "role=db", ends_at };
    await test.orchestrator.maintenanceWindows.create(systemCaller, window);
    const { id } = await webhook(test, "http://[::1]:9/", { events: ["agent.offline"] });
    await leave(test, ...agents);
    await pass(test, 66_000);
    const offline = (await list()).items.filter(({ event_type }) => event_type === "agent.offline");
    expect(offline.map(({ title, muted, count }) => [title, muted, count]).toSorted()).toEqual([
      ["2 agents are offline", true, 2],
      ["3 agents are offline", false, 3],
    ]);
    const unread = (await list({ unread: true })).items;
    expect(unread.filter(({ event_type }) => event_type === "agent.offline")).toHaveLength(1);
    expect((await list()).unread).toBe(unread.length);
    const [delivery] = await deliveriesOf(test, id, ["dead"]);
    expect(delivery!.title).toBe("3 agents are offline");
  });
});

describe("the list", () => {
  it("goes page by page, newest first, at every bound", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) await tellOperators(name);
    const all = await titles();
    expect(all).toHaveLength(5);
    expect(all[0]).toContain("e");
    for (const limit of [1, 2, 4, 5, 6]) {
      const found = await itemsOf((page) => list(page), limit);
      expect(found.map(({ title }) => title)).toEqual(all);
    }
  });

  it("refuses a cursor of another filter", async () => {
    await tellOperators("a", "b");
    const { next_cursor } = await list({ limit: 1 });
    const other = list({ limit: 1, unread: true, cursor: next_cursor! });
    await expect(other).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });

  it("is filtered by the least severity", async () => {
    await tellOperators("a");
    const { items } = await test.orchestrator.operators.list(systemCaller, {});
    await test.orchestrator.operators.remove(systemCaller, { operator_id: items[0]!.operator_id });
    await pass(test, 3_000);
    expect((await list({ min_severity: "warning" })).items.map(({ event_type }) => event_type)).toEqual([
      "operator.removed",
    ]);
    expect((await list({ min_severity: "critical" })).items).toEqual([]);
    expect((await list({ min_severity: "info" })).items).toHaveLength(2);
  });
});

describe("what an operator read", () => {
  it("is read by nobody else, and stays so", async () => {
    await tellOperators("a", "b", "c");
    const { caller } = await test.signIn("Viewer");
    const other = await test.signIn("Admin");
    await pass(test, 3_000);
    const all = (await list({}, caller)).items;
    expect(all).toHaveLength(5);
    const { id } = all[2]!;
    await test.orchestrator.notifications.read(caller, { id });
    await test.orchestrator.notifications.read(caller, { id });
    const mine = await list({}, caller);
    expect(mine.unread).toBe(4);
    expect(mine.items.map(({ read_at }) => read_at === null)).toEqual([true, true, false, true, true]);
    expect((await list({ unread: true }, caller)).items.map((each) => each.id)).not.toContain(id);
    expect((await list({}, other.caller)).unread).toBe(5);
    await test.orchestrator.notifications.readAll(caller);
    expect(await list({ unread: true }, caller)).toMatchObject({ items: [], unread: 0 });
    await tellOperators("d");
    expect((await list({ unread: true }, caller)).items).toHaveLength(1);
    expect((await list({}, caller)).items[3]).toMatchObject({ id, read_at: mine.items[2]!.read_at });
    expect((await list({}, other.caller)).unread).toBe(6);
  });

  it("goes with the notification, after notificationRetentionDays, and with nothing else", async () => {
    const dayMs = 86_400_000;
    const { caller } = await test.signIn("Viewer");
    const read = async (title: string): Promise<void> => {
      const { id } = (await list({}, caller)).items.find((each) => each.title.includes(title))!;
      await test.orchestrator.notifications.read(caller, { id });
    };
    await tellOperators("ada");
    await read("ada");
    await pass(test, 60 * dayMs, 24 * 3_600_000);
    await tellOperators("bob");
    await read("bob");
    expect(await test.storage.count("notification_reads")).toBe(2);
    await pass(test, 31 * dayMs, 24 * 3_600_000);
    expect((await titles()).filter((title) => title.startsWith("Operator"))).toEqual([
      "Operator bob was added as Viewer",
    ]);
    expect(await test.storage.count("notification_reads")).toBe(1);
    await pass(test, 60 * dayMs, 24 * 3_600_000);
    expect(await test.storage.count("notification_reads")).toBe(0);
  }, 120_000);

  it("stays read however often all is read, and what comes after it is unread each time", async () => {
    const { notifications } = test.orchestrator;
    const idOf = (at: number): string => `0199d3a0-5f3c-7c1e-9a55-${String(at).padStart(12, "0")}`;
    const readAt: string[] = [];
    for (let at = 0; at < 103; at += 1) {
      const value = { id: idOf(at), event_type: "agent.offline", severity: "warning", title: "x", body: "" };
      const [subject, created_at] = [{ type: "agent", id: "a", name: "a" }, "2030-01-01T00:00:00.000Z"];
      const put = { ...value, subject, created_at, count: 1, muted: false };
      await test.storage.commit([{ kind: "put", collection: "notifications", key: idOf(at), value: put }]);
      expect((await list({ limit: 1 })).unread).toBe(1);
      await test.clock.advance(1_000);
      readAt.push(new Date(test.clock.now()).toISOString());
      await notifications.readAll(systemCaller);
      expect((await list({ limit: 1 })).unread).toBe(0);
    }
    const { items } = await list({ limit: 500 });
    // A hundred times are told apart; what was read before is told with the first of them.
    const expected = readAt.map((time, at) => (at < 3 ? readAt[3] : time)).toReversed();
    expect(items.map(({ read_at }) => read_at)).toEqual(expected);
  });

  it("is refused for what there is not", async () => {
    const id = "0197a5b4-6d1e-7c3a-9f00-0123456789ab";
    const read = test.orchestrator.notifications.read(systemCaller, { id });
    await expect(read).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a restart", () => {
  it("forgets nothing, repeats nothing, and tells what nobody was told of", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const start = (): Promise<TestOrchestrator> =>
      createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    const first = await start();
    await addOperator(first, "ada");
    await pass({ clock }, 3_000);
    const [told] = (await first.orchestrator.notifications.list(systemCaller, {})).items;
    await first.orchestrator.notifications.read(systemCaller, { id: told!.id });
    // Nobody has told of this one when the process ends.
    await addOperator(first, "grace");
    await first[Symbol.asyncDispose]();
    await using second = await start();
    await pass({ clock }, 3_000);
    const page = await second.orchestrator.notifications.list(systemCaller, {});
    expect(page.items.map(({ subject, read_at }) => [subject.name, read_at !== null])).toEqual([
      ["grace", false],
      ["ada", true],
    ]);
    expect(page.unread).toBe(1);
  });
});
