/**
 * Symptom: a channel that was removed while a message was under way left how that ended in the storage, for ever. Cause: the end was
 * written between the removal of the channel and that of its messages.
 */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, pass, webhook } from "../../support/channel-scene.ts";
import { deferred, settleAll, type Deferred } from "../../support/deferred.ts";
import { startReceiver } from "../../support/receiver.ts";

/** Reads the messages of a channel, which are to be removed, when the test lets it. */
class SlowRemovals extends MemoryStorage {
  until: Deferred | null = null;

  override async list<T>(...[collection, query]: Parameters<MemoryStorage["list"]>) {
    if (collection === "deliveries" && query?.index === "by_channel") await this.until?.promise;
    return super.list<T>(collection, query);
  }
}

async function removeUnderWay() {
  const answer = deferred();
  const { url, received } = await startReceiver((response) => void answer.promise.then(() => response.end()));
  const clock = new FakeClock();
  const storage = new SlowRemovals({ clock });
  const test = { ...(await createNotifying({ clock, storage })), clock };
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { id } = await webhook(test, url, { events: ["operator.*"] });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await expect.poll(() => received.length).toBe(1);
  storage.until = deferred();
  await test.orchestrator.channels.remove(systemCaller, { id });
  answer.resolve();
  await expect.poll(() => storage.get("channel_states", id)).not.toBeNull();
  return { id, storage };
}

it("leaves nothing behind when it is removed while a message is under way", async () => {
  const { id, storage } = await removeUnderWay();
  storage.until!.resolve();
  await settleAll();
  expect(await storage.get("channel_states", id)).toBeNull();
  expect((await storage.list("deliveries")).items).toEqual([]);
});

it("leaves nothing behind where the process ended before all of it was removed", async () => {
  const { id, storage } = await removeUnderWay();
  const left = new MemoryStorage({ clock: new FakeClock(), data: storage.restoredCopy() });
  storage.until!.resolve();
  await using next = await createNotifying({ storage: left });
  await pass(next, 3_000);
  expect(await left.get("channel_states", id)).toBeNull();
});
