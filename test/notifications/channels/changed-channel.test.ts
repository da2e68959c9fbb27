/** A channel that was changed goes its new way at once: what became of the one before says nothing of it. */
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { toJsonObject } from "../../../lib/json.ts";
import type { ChannelDocument } from "../../../lib/notifications/documents.ts";
import { storageSchema } from "../../../lib/storage-schema.ts";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { deferred } from "../../support/deferred.ts";
import { startReceiver } from "../../support/receiver.ts";

type Change = Parameters<TestOrchestrator["orchestrator"]["channels"]["update"]>[1];

const resting = () => startReceiver((response) => response.writeHead(503, { "retry-after": "3600" }).end());

/** Something is told to a receiver that wants a rest of an hour, and the channel waits for that. */
async function startResting(source: "notifications" | "audit") {
  const down = await resting();
  const up = await startReceiver((response) => response.end());
  const test = await createNotifying();
  const { id } = await webhook(test, down.url, { source, events: ["operator.*"] });
  const update = (change: Omit<Change, "id">) =>
    test.orchestrator.channels.update(systemCaller, { id, ...change });
  await addOperator(test, "ada");
  await vi.waitFor(
    async () => {
      await pass(test, 1_000);
      const { last_delivery } = await test.orchestrator.channels.get(systemCaller, { id });
      expect(last_delivery?.status_code).toBe(503);
    },
    { timeout: 30_000, interval: 10 },
  );
  return { test, id, down, up, update };
}

describe.each(["notifications", "audit"] as const)(
  "a channel of %s whose receiver wants a rest",
  (source) => {
    it("sends what waits at once where another receiver is named", async () => {
      const { test, up, update } = await startResting(source);
      await using _ = test;
      await update({ config: { url: up.url } });
      await expect.poll(() => up.received.length, { timeout: 10_000 }).toBe(1);
    });

    it("sends what waits at once where it was disabled and is enabled again", async () => {
      const { test, down, update } = await startResting(source);
      await using _ = test;
      await update({ enabled: false });
      await pass(test, 1_000);
      expect(down.received).toHaveLength(1);
      await update({ enabled: true });
      await expect.poll(() => down.received.length, { timeout: 10_000 }).toBe(2);
    });

    it("lets it rest where it only gets another name", async () => {
      const { test, down, update } = await startResting(source);
      await using _ = test;
      await update({ name: "other" });
      await pass(test, 60_000);
      expect(down.received).toHaveLength(1);
      await pass(test, 3_600_000, 60_000);
      await expect.poll(() => down.received.length, { timeout: 10_000 }).toBe(2);
    });
  },
);

it("a refusal for good by a receiver that is not that of the channel any more is none of the message", async () => {
  const asked = deferred<undefined>();
  const changed = deferred<undefined>();
  const before = await startReceiver((response) => {
    asked.resolve(undefined);
    void changed.promise.then(() => response.writeHead(404).end());
  });
  const after = await startReceiver((response) => response.end());
  await using test = await createNotifying();
  const { id } = await webhook(test, before.url, { events: ["operator.*"] });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await asked.promise;
  await test.orchestrator.channels.update(systemCaller, { id, config: { url: after.url } });
  changed.resolve(undefined);
  const [delivery] = await deliveriesOf(test, id, ["delivered"]);
  expect(delivery!.attempts).toBe(2);
  expect(after.received).toHaveLength(1);
});

it("nor is it one of the channel where that forwards the audit log", async () => {
  const asked = deferred<undefined>();
  const changed = deferred<undefined>();
  const before = await startReceiver((response) => {
    asked.resolve(undefined);
    void changed.promise.then(() => response.writeHead(404).end());
  });
  const after = await startReceiver((response) => response.end());
  await using test = await createNotifying();
  const { id } = await webhook(test, before.url, { source: "audit", events: ["operator.*"] });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await asked.promise;
  await test.orchestrator.channels.update(systemCaller, { id, config: { url: after.url } });
  changed.resolve(undefined);
  await vi.waitFor(
    async () => {
      await pass(test, 1_000);
      expect(after.received).toHaveLength(1);
    },
    { timeout: 30_000, interval: 10 },
  );
  expect(test.events.map(({ event_type }) => event_type)).not.toContain("channel.failed");
});

describe.each([
  ["before the change", true],
  ["after the change, before it is seen", false],
])("where the process was started anew %s", (_, isBefore) => {
  it("sends what waits at once all the same", async () => {
    const down = await resting();
    const up = await startReceiver((response) => response.end());
    const clock = new FakeClock();
    const data = new MemoryData();
    const start = () => createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    const first = { ...(await start()), clock };
    const { id } = await webhook(first, down.url, { events: ["operator.*"] });
    await addOperator(first, "ada");
    await pass(first, 3_000);
    const [waiting] = await deliveriesOf(first, id, ["pending"]);
    expect(waiting).toMatchObject({ attempts: 1, status_code: 503 });
    await first.orchestrator.stop();
    if (!isBefore) {
      const storage = new MemoryStorage({ clock, data });
      await storage.open(storageSchema);
      const { value, revision } = (await storage.get<ChannelDocument>("channels", id))!;
      const changed = { ...value, config: { ...value.config, url: up.url } };
      await storage.commit([
        { kind: "put", collection: "channels", key: id, value: toJsonObject(changed), expected: revision },
      ]);
      await storage.close();
    }
    await using second = { ...(await start()), clock };
    await pass(second, 60_000);
    if (isBefore) {
      expect(down.received).toHaveLength(1);
      await second.orchestrator.channels.update(systemCaller, { id, config: { url: up.url } });
      await pass(second, 60_000);
    }
    await expect.poll(() => up.received.length, { timeout: 10_000 }).toBe(1);
    expect(down.received).toHaveLength(1);
  });
});
