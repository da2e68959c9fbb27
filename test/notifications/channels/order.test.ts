/** A channel gets its messages in the order of the events, whatever the clock was, and again what somebody wants to be sent again. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver, type Received } from "../../support/receiver.ts";

const day = 86_400_000;

it.each([3 * day, -3 * day, 0])(
  "what was told while the clock was %i ms ahead comes before what is told after a restart",
  async (aheadMs) => {
    let status = 503;
    const { url, received } = await startReceiver((response) => void response.writeHead(status).end());
    const clock = new FakeClock();
    const data = new MemoryData();
    const start = () => createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    const first = await start();
    const { id } = await webhook(first, url, { events: ["operator.*"] });
    await pass({ clock }, 3_000);
    clock.jump(aheadMs);
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await addOperator(first, name);
    await pass({ clock }, 5_000);
    await first[Symbol.asyncDispose]();
    clock.jump(-aheadMs);
    const second = await start();
    onTestFinished(() => second[Symbol.asyncDispose]());
    await addOperator(second, "later");
    await pass({ clock }, 10_000);
    status = 200;
    received.length = 0;
    await pass({ clock }, 40 * 60_000, 20_000);
    await deliveriesOf(second, id, Array(6).fill("delivered") as "delivered"[]);
    // An attempt that takes long by this clock is made again.
    expect([...new Set(received.map(titleOf))]).toEqual(
      [...names, "later"].map((name) => expect.stringContaining(` ${name} `)),
    );
  },
);

/** Says once that a commit of an attempt failed, which is on disk: the answer was lost. */
class Lossy extends MemoryStorage {
  isLosing = false;
  override async commit(...args: Parameters<MemoryStorage["commit"]>) {
    const result = await super.commit(...args);
    const isAttempt = args[0].some((write) => write.kind === "put" && write.collection === "channel_states");
    if (!this.isLosing || !isAttempt) return result;
    this.isLosing = false;
    throw new OrchestratorError("UNAVAILABLE");
  }
}

it("what is sent again by somebody's word is sent, although an earlier attempt could not be told to be written", async () => {
  const { url, received } = await startReceiver((response) => void response.writeHead(410).end());
  const clock = new FakeClock();
  const storage = new Lossy({ clock, data: new MemoryData() });
  const test = await createNotifying({ clock, storage });
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { id } = await webhook(test, url, { events: ["operator.*"] });
  await pass({ clock }, 3_000);
  storage.isLosing = true;
  await addOperator(test, "ada");
  await pass({ clock }, 30_000);
  const [dead] = await deliveriesOf(test, id, ["dead"]);
  await pass({ clock }, 120_000);
  expect([received.length, storage.isLosing]).toEqual([1, false]);
  await test.orchestrator.channels.redeliver(systemCaller, { id, delivery_id: dead!.id });
  await pass({ clock }, 10_000);
  await expect.poll(() => received.length).toBe(2);
});

function titleOf({ body }: Received): string {
  return (JSON.parse(body) as { data: { title: string } }).data.title;
}
