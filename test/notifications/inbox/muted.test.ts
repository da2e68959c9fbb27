/** What an operator mutes for themselves. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemCaller, type Caller, type NotificationPage } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";

let test: TestOrchestrator;
let mine: Caller;
let others: Caller;
beforeEach(async () => {
  test = await createNotifying();
  mine = (await test.signIn("Viewer")).caller;
  others = (await test.signIn("Admin")).caller;
  await pass(test, 3_000);
});
afterEach(() => test[Symbol.asyncDispose]());

const list = (caller: Caller, unread = false): Promise<NotificationPage> =>
  test.orchestrator.notifications.list(caller, { unread });
/** The page of what is unread, and the count beside it, which must be the same. */
async function unread(caller: Caller): Promise<string[]> {
  const page = await list(caller, true);
  expect(page.unread).toBe(page.items.length);
  expect(page.items.filter(({ muted }) => muted)).toEqual([]);
  return page.items.map(({ event_type }) => event_type);
}

/** Adds an operator and takes them away: an info and a warning. */
async function comeAndGo(): Promise<void> {
  const operator_id = await addOperator(test, `guest${test.events.length}`);
  await pass(test, 3_000);
  await test.orchestrator.operators.remove(systemCaller, { operator_id });
  await pass(test, 3_000);
}

it("is listed as muted and not unread, for whom it mutes alone, before and after it came", async () => {
  const { notifications } = test.orchestrator;
  await comeAndGo();
  expect(await unread(mine)).toEqual([
    "operator.removed",
    "operator.added",
    "operator.added",
    "operator.added",
  ]);
  const set = await notifications.updatePreferences(mine, { muted_events: ["operator.added"] });
  expect(set).toEqual({ muted_events: ["operator.added"], min_severity: "info" });
  expect(await notifications.preferences(mine)).toEqual(set);
  expect(await unread(mine)).toEqual(["operator.removed"]);
  await comeAndGo();
  expect(await unread(mine)).toEqual(["operator.removed", "operator.removed"]);
  expect((await list(mine)).items.map(({ muted }) => muted)).toEqual([false, true, false, true, true, true]);
  expect(await unread(others)).toHaveLength(6);
  expect((await list(others)).items.filter(({ muted }) => muted)).toEqual([]);
  expect(await notifications.preferences(others)).toEqual({ muted_events: [], min_severity: "info" });
});

it("counts again when it is muted no longer, unless it was read", async () => {
  const { notifications } = test.orchestrator;
  await comeAndGo();
  await notifications.updatePreferences(mine, { muted_events: ["operator.*"] });
  expect(await unread(mine)).toEqual([]);
  const { items } = await list(mine);
  await notifications.read(mine, { id: items[1]!.id });
  await notifications.updatePreferences(mine, { muted_events: [] });
  expect(await unread(mine)).toEqual(["operator.removed", "operator.added", "operator.added"]);
  await notifications.updatePreferences(mine, { min_severity: "warning" });
  expect(await unread(mine)).toEqual(["operator.removed"]);
  await notifications.readAll(mine);
  await comeAndGo();
  expect(await unread(mine)).toEqual(["operator.removed"]);
  // To read all keeps what is muted, and to mute keeps what was read.
  expect(await notifications.preferences(mine)).toEqual({ muted_events: [], min_severity: "warning" });
  await notifications.updatePreferences(mine, { min_severity: "info" });
  expect(await unread(mine)).toEqual(["operator.removed", "operator.added"]);
});

it("keeps nothing from channels, and is in the audit log", async () => {
  const { id } = await webhook(test, "http://[::1]:9/", { events: ["operator.added"] });
  const { notifications, audit } = test.orchestrator;
  await notifications.updatePreferences(mine, { muted_events: ["operator.*"], min_severity: "critical" });
  await addOperator(test, "grace");
  await pass(test, 3_000);
  expect(await deliveriesOf(test, id, ["dead"])).toHaveLength(1);
  const found = await audit.list(systemCaller, { event_type: "operator.notificationsMuted" });
  expect(found.items).toMatchObject([
    { actor: { name: "viewer" }, metadata: { muted_events: ["operator.*"], min_severity: "critical" } },
  ]);
});

it("is refused for what no event is called", async () => {
  const { notifications } = test.orchestrator;
  for (const [input, place] of [
    [{ muted_events: ["agent.gone"] }, ["muted_events", 0]],
    [{ muted_events: ["*"] }, ["muted_events", 0]],
    [{ muted_events: Array<string>(101).fill("agent.*") }, ["muted_events"]],
    [{ min_severity: "loud" }, ["min_severity"]],
    [{ muted: [] }, []],
  ] as const)
    await expect(notifications.updatePreferences(mine, input as object)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [expect.objectContaining({ path: place })],
    });
  expect(await notifications.preferences(mine)).toEqual({ muted_events: [], min_severity: "info" });
});

it("outlives a restart", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const start = (): Promise<TestOrchestrator> =>
    createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
  const first = await start();
  await addOperator(first, "ada");
  await pass({ clock }, 3_000);
  const muted_events = ["operator.added"];
  await first.orchestrator.notifications.updatePreferences(systemCaller, { muted_events });
  await first[Symbol.asyncDispose]();
  await using second = await start();
  const { notifications } = second.orchestrator;
  expect(await notifications.list(systemCaller, {})).toMatchObject({ items: [{ muted: true }], unread: 0 });
  await notifications.updatePreferences(systemCaller, { muted_events: [] });
  expect(await notifications.list(systemCaller, {})).toMatchObject({ items: [{ muted: false }], unread: 1 });
});
