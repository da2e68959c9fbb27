/** What an operator has read goes with the operator, and of nobody else. */
import { expect, it } from "vitest";
import { nodeCrypto, OrchestratorError, systemCaller, toHex, type Caller } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { eachDocument } from "../../../lib/storage/each-document.ts";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, pass } from "../../support/channel-scene.ts";

const newKey = (): string =>
  toHex(nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey).publicKey);

const callerOf = (operator_id: string): Caller => ({
  kind: "operator",
  session_id: "s",
  operator_id,
  username: "ann",
  role: "Viewer",
});

/** Adds an operator with a key. */
async function addAnn({ orchestrator }: TestOrchestrator, public_key: string): Promise<string> {
  const added = { username: "ann", role: "Viewer", public_key } as const;
  return (await orchestrator.operators.add(systemCaller, added)).operator_id;
}

/** How many marks of what an operator read are stored. */
async function marksOf({ storage }: TestOrchestrator, operatorId: string): Promise<number> {
  let count = 0;
  for await (const { key } of eachDocument(storage, "notification_reads"))
    if (key.startsWith(`${operatorId}:`)) count += 1;
  return count;
}

/** Has somebody read every notification one by one. */
async function readEach({ orchestrator }: TestOrchestrator, caller: Caller): Promise<number> {
  const { items } = await orchestrator.notifications.list(caller, { limit: 200 });
  for (const { id } of items) await orchestrator.notifications.read(caller, { id });
  return items.length;
}

function begin(): { start: () => Promise<TestOrchestrator> } {
  const data = new MemoryData();
  const clock = new FakeClock();
  const start = async (): Promise<TestOrchestrator> => ({
    ...(await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) })),
    clock,
  });
  return { start };
}

it("with a removal, in pages, so that who comes again with the same key has read nothing", async () => {
  const { start } = begin();
  await using test = await start();
  const key = newKey();
  const ann = await addAnn(test, key);
  for (let each = 0; each < 120; each += 1) await addOperator(test, `op-${each}`);
  await pass(test, 40_000);
  const count = await readEach(test, callerOf(ann));
  expect(count).toBeGreaterThan(110);
  await readEach(test, systemCaller);
  expect(await marksOf(test, ann)).toBe(count);
  await test.orchestrator.operators.remove(systemCaller, { operator_id: ann });
  await pass(test, 5_000);
  expect(await marksOf(test, ann)).toBe(0);
  expect(await marksOf(test, "system")).toBe(count);
  expect(await addAnn(test, key)).toBe(ann);
  const { items, unread } = await test.orchestrator.notifications.list(callerOf(ann), { limit: 200 });
  expect(unread).toBe(items.length);
  expect(items.every(({ read_at }) => read_at === null)).toBe(true);
  expect(test.loggedErrors).toEqual([]);
}, 60_000);

it("where the process was killed right after the removal, with the next start", async () => {
  const { start } = begin();
  const first = await start();
  const ann = await addAnn(first, newKey());
  const bob = await addOperator(first, "bob");
  await pass(first, 4_000);
  const count = await readEach(first, callerOf(ann));
  await readEach(first, callerOf(bob));
  expect(count).toBeGreaterThan(0);
  const kept = (await first.storage.list("notification_reads", { limit: 500 })).items;
  await first.orchestrator.operators.remove(systemCaller, { operator_id: ann });
  await pass(first, 4_000);
  await first.storage.commit(
    kept
      .filter(({ key }) => key.startsWith(ann))
      .map(({ key, value }) => ({ kind: "put", collection: "notification_reads", key, value: { ...value } })),
  );
  await first.orchestrator.stop();
  await using second = await start();
  await pass(second, 1_000);
  expect(await marksOf(second, ann)).toBe(0);
  expect(await marksOf(second, bob)).toBe(count);
});

it("where what is removed could be written only after who was removed had come again", async () => {
  const { start } = begin();
  await using test = await start();
  const key = newKey();
  const ann = await addAnn(test, key);
  const { notifications, operators } = test.orchestrator;
  const mute = (muted_events: string[]) => notifications.updatePreferences(callerOf(ann), { muted_events });
  await mute(["operator.*"]);
  const { storage } = test;
  const commit = storage.commit.bind(storage);
  storage.commit = (writes, options) =>
    writes.some((write) => write.kind === "delete" && write.collection === "notification_readers")
      ? Promise.reject(new OrchestratorError("STORAGE_FULL"))
      : commit(writes, options);
  await operators.remove(systemCaller, { operator_id: ann });
  expect(await addAnn(test, key)).toBe(ann);
  await mute(["operator.added"]);
  storage.commit = commit;
  await pass(test, 10_000);
  expect((await notifications.preferences(callerOf(ann))).muted_events).toEqual(["operator.added"]);
});

it("but not what was read anew, where the removal of marks comes once more than they were made", async () => {
  const { start } = begin();
  await using test = await start();
  const key = newKey();
  const ann = await addAnn(test, key);
  for (const name of ["bob", "cid"]) await addOperator(test, name);
  await pass(test, 4_000);
  const { notifications, operators } = test.orchestrator;
  const before = await readEach(test, callerOf(ann));
  expect(before).toBeGreaterThanOrEqual(2);
  const { items } = await notifications.list(callerOf(ann), { limit: 200 });
  const { storage } = test;
  const commit = storage.commit.bind(storage);
  let removals = 0;
  storage.commit = (writes, options) =>
    writes.some((write) => write.kind === "delete" && write.collection === "notification_reads") &&
    (removals -= 1) < 0
      ? Promise.reject(new OrchestratorError("STORAGE_FULL"))
      : commit(writes, options);
  for (let times = 0; times < 2; times += 1) {
    await operators.remove(systemCaller, { operator_id: ann });
    await pass(test, 1_000);
    expect(await addAnn(test, key)).toBe(ann);
  }
  expect(await marksOf(test, ann)).toBe(before);
  removals = 1;
  for (let tries = 0; tries < 600 && (await marksOf(test, ann)) > 0; tries += 1) await pass(test, 1_000);
  expect(await marksOf(test, ann)).toBe(0);
  const read = items[0]!.id;
  await notifications.read(callerOf(ann), { id: read });
  storage.commit = commit;
  await pass(test, 600_000);
  expect(await marksOf(test, ann)).toBe(1);
  const list = await notifications.list(callerOf(ann), { limit: 200 });
  expect(list.items.filter(({ read_at }) => read_at !== null).map(({ id }) => id)).toEqual([read]);
});

it("and stays of the process that embeds the orchestrator, which is no operator, through any number of starts", async () => {
  const { start } = begin();
  const first = await start();
  await addAnn(first, newKey());
  await pass(first, 4_000);
  const count = await readEach(first, systemCaller);
  expect(count).toBeGreaterThan(0);
  const muted_events = ["drift.*"];
  await first.orchestrator.notifications.updatePreferences(systemCaller, { muted_events });
  await first.orchestrator.stop();
  for (let starts = 0; starts < 2; starts += 1) {
    const again = await start();
    await pass(again, 4_000);
    expect(await marksOf(again, "system")).toBe(count);
    expect(await again.orchestrator.notifications.preferences(systemCaller)).toMatchObject({ muted_events });
    await again.orchestrator.stop();
  }
});
