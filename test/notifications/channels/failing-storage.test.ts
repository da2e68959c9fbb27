/** Messages whose outcome can't be written, or is written slowly: nothing is sent twice for that, and nothing is missed. */
import { describe, expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../../lib/json.ts";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../../lib/storage/storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { deferred, type Deferred } from "../../support/deferred.ts";
import { startReceiver } from "../../support/receiver.ts";

/** Refuses commits that touch some collections, or has them wait. */
class FailingStorage extends MemoryStorage {
  refused = new Set<string>();
  refusals = 0;
  held: { collection: string; until: Deferred } | null = null;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const collections = writes.flatMap((write) => ("collection" in write ? [write.collection] : []));
    if (collections.some((collection) => this.refused.has(collection))) {
      this.refusals += 1;
      throw new OrchestratorError("STORAGE_FULL");
    }
    if (this.held && collections.includes(this.held.collection)) await this.held.until.promise;
    return super.commit(writes, options);
  }
}

async function start(): Promise<{ test: TestOrchestrator; storage: FailingStorage; clock: FakeClock }> {
  const clock = new FakeClock();
  const storage = new FailingStorage({ clock, data: new MemoryData() });
  const test = { ...(await createNotifying({ clock, storage })), clock };
  onTestFinished(() => test[Symbol.asyncDispose]());
  return { test, storage, clock };
}

const idsOf = (received: { body: string }[]): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id);

describe("a message whose outcome can't be written", () => {
  it("is not sent again until it can, and not then", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const { test, storage } = await start();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    storage.refused = new Set(["channel_states"]);
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(1);
    await pass(test, 120_000);
    await expect.poll(() => storage.refusals).toBeGreaterThan(3);
    expect(received).toHaveLength(1);
    storage.refused.clear();
    await pass(test, 120_000);
    await deliveriesOf(test, id, ["delivered"]);
    await addOperator(test, "grace");
    await pass(test, 3_000);
    const told = await deliveriesOf(test, id, ["delivered", "delivered"]);
    expect(idsOf(received)).toEqual(told.map((delivery) => delivery.id));
  });

  it("of the audit log is not sent again either, and the next one is", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const { test, storage } = await start();
    const { id } = await webhook(test, url, { source: "audit" });
    await pass(test, 3_000);
    const before = received.length;
    storage.refused = new Set(["audit_places"]);
    await addOperator(test, "ada");
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(before + 1);
    await pass(test, 120_000);
    expect(storage.refusals).toBeGreaterThan(3);
    storage.refused.clear();
    await addOperator(test, "grace");
    await pass(test, 120_000);
    const { items } = await test.orchestrator.audit.list(systemCaller, { order: "asc", limit: 100 });
    const events = items.map((event) => event.id);
    await expect.poll(() => idsOf(received).at(-1)).toBe(events.at(-1));
    expect(idsOf(received)).toEqual(events.slice(-received.length));
    // It is written once the receiver has answered.
    const place = async (): Promise<unknown> =>
      (await test.orchestrator.channels.get(systemCaller, { id })).forwarded_sequence;
    await expect.poll(place).toBe(items.at(-1)!.sequence);
  });
});

it("an event that comes while notifications are written is told after them", async () => {
  const { test, storage } = await start();
  const until = deferred();
  storage.held = { collection: "notifications", until };
  await addOperator(test, "ada");
  await pass(test, 3_000);
  // What is written now was read before this one came; it is due before that is done.
  await addOperator(test, "grace");
  await pass(test, 10_000);
  storage.held = null;
  until.resolve();
  await pass(test, 1_000);
  const { items } = await test.orchestrator.notifications.list(systemCaller);
  expect(items.map(({ subject }) => subject.name)).toEqual(["grace", "ada"]);
});

it("a message that comes while the queue is found to be empty is sent all the same", async () => {
  const { url, received } = await startReceiver((response) => response.end());
  const { test, storage } = await start();
  await webhook(test, url, { events: ["operator.*"] });
  const gate = deferred();
  const list = storage.list.bind(storage);
  let emptyLooks = 0;
  storage.list = async (collection, query) => {
    const page = await list(collection, query);
    const isQueue = collection === "deliveries" && query?.index === "by_queue";
    if (isQueue && page.items.length === 0 && received.length === 1) {
      emptyLooks += 1;
      await gate.promise;
    }
    return page as never;
  };
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await expect.poll(() => emptyLooks).toBe(1);
  await addOperator(test, "grace");
  await pass(test, 3_000);
  expect(received).toHaveLength(1);
  gate.resolve();
  await pass(test, 3_000);
  await expect.poll(() => received.length).toBe(2);
});

describe("a message that is over", () => {
  const dayMs = 86_400_000;

  it("is kept for seven days from its end, not from its making", async () => {
    const { url } = await startReceiver((response) => response.socket?.destroy());
    const { test } = await start();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, dayMs + 7_200_000, 600_000);
    const [dead] = await deliveriesOf(test, id, ["dead"]);
    await pass(test, 6.5 * dayMs, 3_600_000);
    expect(await deliveriesOf(test, id, ["dead"])).toMatchObject([{ id: dead!.id }]);
    await pass(test, dayMs, 3_600_000);
    expect(await deliveriesOf(test, id, [])).toEqual([]);
  }, 60_000);

  it("goes after a week where its channel is gone, whatever became of it", async () => {
    const { url } = await startReceiver((response) => response.socket?.destroy());
    const { test } = await start();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const [made] = (await test.storage.list<JsonObject>("deliveries")).items;
    const orphan = {
      ...made!.value,
      id: "01b8dac5-b400-7000-8000-000000000000",
      channel_id: "01b8dac5-b400-7000-8000-000000000001",
    };
    await test.storage.commit([{ kind: "put", collection: "deliveries", key: orphan.id, value: orphan }]);
    await pass(test, 6 * dayMs, 3_600_000);
    const channelsOf = async (): Promise<unknown[]> =>
      (await test.storage.list<JsonObject>("deliveries")).items.map((each) => each.value["channel_id"]);
    expect(await channelsOf()).toContain(orphan.channel_id);
    await pass(test, 1.5 * dayMs, 3_600_000);
    expect(await channelsOf()).toEqual([id]);
  }, 60_000);

  it("and is sent once more is tried as often as a new one", async () => {
    let status = 404;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      response.end();
    });
    const { test } = await start();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const [dead] = await deliveriesOf(test, id, ["dead"]);
    status = 503;
    await test.orchestrator.channels.redeliver(systemCaller, { id, delivery_id: dead!.id });
    await expect.poll(() => received.length).toBe(2);
    expect(await deliveriesOf(test, id, ["pending"])).toMatchObject([{ attempts: 1 }]);
    // The second attempt comes after 5 s, a quarter more or less, as with a new one.
    await pass(test, 8_000);
    await expect.poll(() => received.length).toBe(3);
  });

  it("is removed from a disk that is full", async () => {
    const { url } = await startReceiver((response) => response.end());
    const clock = new FakeClock();
    const data = new MemoryData();
    const test = {
      ...(await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) })),
      clock,
    };
    onTestFinished(() => test[Symbol.asyncDispose]());
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    await deliveriesOf(test, id, ["delivered"]);
    await pass(test, 6.9 * dayMs, 3_600_000);
    data.freeBytes = 0;
    await deliveriesOf(test, id, ["delivered"]);
    await pass(test, 0.3 * dayMs, 3_600_000);
    expect(await deliveriesOf(test, id, [])).toEqual([]);
    // What else is removed for its age was looked at, too, and none of that failed.
    expect(test.loggedErrors).toEqual([]);
  }, 60_000);
});
