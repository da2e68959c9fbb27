/** What an operator mutes for themselves. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  nodeCrypto,
  systemCaller,
  toHex,
  type Caller,
  type NotificationPage,
  type NotificationPreferences,
} from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../../lib/json.ts";
import { eachDocument } from "../../../lib/storage/each-document.ts";
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

const readers = "notification_readers";

/** Adds an operator with a key, a new one or this. */
async function addAnn(
  { orchestrator }: TestOrchestrator,
  public_key = toHex(nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey).publicKey),
): Promise<{ operator_id: string; public_key: string }> {
  const added = { username: "ann", role: "Viewer", public_key } as const;
  const { operator_id } = await orchestrator.operators.add(systemCaller, added);
  return { operator_id, public_key };
}

function callerOf(operator_id: string): Caller {
  return { kind: "operator", operator_id, username: "ann", role: "Viewer", session_id: "s" };
}

async function muteAll({ orchestrator }: TestOrchestrator, operator_id: string): Promise<void> {
  await orchestrator.notifications.updatePreferences(callerOf(operator_id), {
    muted_events: ["operator.*"],
    min_severity: "critical",
  });
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

it("is read with all there is, also where nothing else is left to read", async () => {
  const { notifications } = test.orchestrator;
  await comeAndGo();
  await notifications.updatePreferences(mine, { muted_events: ["operator.*"] });
  expect(await unread(mine)).toEqual([]);
  await notifications.readAll(mine);
  expect((await list(mine)).items.filter(({ read_at }) => read_at === null)).toEqual([]);
  await notifications.updatePreferences(mine, { muted_events: [] });
  expect(await unread(mine)).toEqual([]);
});

it("writes and tells nothing where nothing changes, and answers a call that is repeated all the same", async () => {
  const { notifications, audit, idempotency } = test.orchestrator;
  const commit = vi.spyOn(test.storage, "commit");
  const writes = (): number =>
    commit.mock.calls
      .flatMap(([all]) => all)
      .filter((write) => write.kind === "put" && write.collection === readers).length;
  const nothing: NotificationPreferences = { muted_events: [], min_severity: "info" };
  expect(await notifications.updatePreferences(mine, nothing)).toEqual(nothing);
  expect(writes()).toBe(0);
  const set: NotificationPreferences = { muted_events: ["agent.*", "drift.*"], min_severity: "warning" };
  await notifications.updatePreferences(mine, set);
  expect(writes()).toBe(1);
  const again = { muted_events: ["drift.*", "agent.*", "drift.*"] };
  expect(await notifications.updatePreferences(mine, again)).toEqual(set);
  expect(await notifications.updatePreferences(mine, {})).toEqual(set);
  const keyed = { key: "k", permission: "notifications.updatePreferences", input: again } as const;
  const repeat = (): Promise<unknown> =>
    idempotency.once(mine, keyed, (caller) => notifications.updatePreferences(caller, again));
  expect(await repeat()).toEqual(set);
  expect(writes()).toBe(1);
  // The claim was answered, though nothing else was written.
  await notifications.updatePreferences(mine, nothing);
  expect(await repeat()).toEqual(set);
  expect(await notifications.preferences(mine)).toEqual(nothing);
  const found = await audit.list(systemCaller, { event_type: "operator.notificationsMuted" });
  expect(found.items).toHaveLength(2);
});

it("ends with its operator: whoever is added again with the same key has muted nothing", async () => {
  const { operators } = test.orchestrator;
  const { operator_id, public_key } = await addAnn(test);
  await muteAll(test, operator_id);
  await operators.remove(systemCaller, { operator_id });
  await pass(test, 1_000);
  expect(await test.storage.get(readers, operator_id)).toBeNull();
  expect(await addAnn(test, public_key)).toMatchObject({ operator_id });
  expect(await test.orchestrator.notifications.preferences(callerOf(operator_id))).toEqual({
    muted_events: [],
    min_severity: "info",
  });
  expect(await unread(callerOf(operator_id))).not.toEqual([]);
});

it("ends with an operator whom nobody saw removed, while others and the process itself keep theirs", async () => {
  const data = new MemoryData();
  const clock = new FakeClock();
  const start = (): Promise<TestOrchestrator> =>
    createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
  const first = await start();
  const { operator_id, public_key } = await addAnn(first);
  const staying = await addOperator(first, "bob");
  await muteAll(first, operator_id);
  await muteAll(first, staying);
  const muted = await first.orchestrator.notifications.updatePreferences(systemCaller, {
    muted_events: ["agent.*"],
  });
  const kept = (await first.storage.get(readers, operator_id))!.value;
  await first.orchestrator.operators.remove(systemCaller, { operator_id });
  await pass({ clock }, 1_000);
  // As it is where the process was killed right after the removal.
  await first.storage.commit([
    { kind: "put", collection: readers, key: operator_id, value: kept as JsonObject },
  ]);
  await first[Symbol.asyncDispose]();
  await using second = await start();
  const { notifications } = second.orchestrator;
  expect(await addAnn(second, public_key)).toMatchObject({ operator_id });
  expect(await notifications.preferences(callerOf(operator_id))).toEqual({
    muted_events: [],
    min_severity: "info",
  });
  expect(await notifications.preferences(callerOf(staying))).toMatchObject({ min_severity: "critical" });
  expect(await notifications.preferences(systemCaller)).toEqual(muted);
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

it("leaves the count of what is unread right, whatever comes and goes in whichever order", async () => {
  const { storage } = test;
  const kinds = [
    ["agent.offline", "warning"],
    ["agent.offline", "critical"],
    ["operator.added", "info"],
  ] as const;
  const idOf = (at: number): string => `0199d3a0-5f3c-7c1e-9a55-${String(at).padStart(12, "0")}`;
  const step = fc.record({
    at: fc.nat(9),
    goes: fc.boolean(),
    muted: fc.boolean(),
    kind: fc.constantFrom(...kinds),
    reads: fc.option(fc.nat(9)),
  });
  const clear = async (): Promise<void> => {
    for (const collection of ["notifications", "notification_reads"])
      for await (const { key } of eachDocument(storage, collection))
        await storage.commit([{ kind: "delete", collection, key }]);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await clear();
      for (const { at, goes, muted, kind, reads } of steps) {
        const key = idOf(at);
        const [event_type, severity] = kind;
        const value = { id: key, event_type, severity, title: "x", body: "", count: 1, muted };
        const [subject, created_at] = [{ type: "agent", id: "a", name: "a" }, "2030-01-01T00:00:00.000Z"];
        const put = {
          kind: "put",
          collection: "notifications",
          key,
          value: { ...value, subject, created_at },
        } as const;
        const isThere = (await storage.get("notifications", key)) !== null;
        // A notification never changes: it comes and goes.
        if (goes) await storage.commit([{ kind: "delete", collection: "notifications", key }]);
        else if (!isThere) await storage.commit([put]);
        const id = idOf(reads ?? 0);
        if (reads !== null && (await storage.get("notifications", id)))
          await test.orchestrator.notifications.read(mine, { id });
        await unread(mine);
        await unread(others);
      }
    }),
    { numRuns: 60 },
  );
});

it("is refused for what no event is called", async () => {
  const { notifications } = test.orchestrator;
  for (const [input, place] of [
    [{ muted_events: ["agent.gone"] }, ["muted_events", 0]],
    [{ muted_events: ["*"] }, ["muted_events", 0]],
    [{ muted_events: Array<string>(101).fill("agent.*") }, ["muted_events"]],
    [{ min_severity: "loud" }, ["min_severity"]],
    [{ muted: [] }, ["muted"]],
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
