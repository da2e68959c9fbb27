/** A message that is on its way while the server stops. */
import { expect, it } from "vitest";
import { z } from "zod";
import { systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import type { Attempt, ChannelType } from "../../../lib/notifications/senders/sender.ts";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass } from "../../support/channel-scene.ts";
import { deferred } from "../../support/deferred.ts";

const taken: Attempt = { delivered: true, duration_ms: 1 };

function typeOf(send: ChannelType["send"]): ChannelType {
  return { config: z.strictObject({}) as never, secretFields: [], send };
}

/** Two lives of a server; the first stops while a message is on its way, which the receiver takes so many turns after the stop began. */
async function takenAfter(turns: number): Promise<{ sent: number; wasInTime: boolean }> {
  const [data, clock, answer] = [new MemoryData(), new FakeClock(), deferred<Attempt>()];
  const seen = { sent: 0, wasInTime: false };
  let sending: AbortSignal | null = null;
  const pager = typeOf((_message, _config, { signal }) => {
    seen.sent += 1;
    sending = signal;
    return answer.promise;
  });
  // Channels of the audit log are ended before others: that tells when the stop has come to them.
  const log = typeOf((_message, _config, { signal }) => {
    const takeLater = async (): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      answer.resolve(taken);
      // One turn more, in which the attempt hears of it.
      await Promise.resolve();
      seen.wasInTime = !sending!.aborted;
    };
    signal.addEventListener("abort", () => void takeLater());
    return new Promise(() => {});
  });
  const start = (types: Record<string, ChannelType>) =>
    createNotifying({ storage: new MemoryStorage({ data, clock }), clock, channelTypes: types });
  const before = await start({ pager, log });
  const { channels } = before.orchestrator;
  const { id } = await channels.create(systemCaller, {
    name: "pager",
    type: "pager",
    config: {},
    events: ["operator.*"],
  });
  await channels.create(systemCaller, { name: "log", type: "log", config: {}, source: "audit" });
  await pass({ clock }, 1_000);
  await addOperator(before, "ada");
  await pass({ clock }, 3_000);
  await expect.poll(() => seen.sent).toBe(1);
  await before[Symbol.asyncDispose]();
  await using after = await start({ pager, log: typeOf(() => Promise.resolve(taken)) });
  await pass({ clock }, 3_000);
  const [delivery] = await deliveriesOf(after, id, ["delivered"]);
  // What the stop cut off was no attempt that failed.
  expect(delivery).toMatchObject({ attempts: 1 });
  expect(delivery).not.toHaveProperty("error");
  return seen;
}

it("is not sent again where it was taken before the stop cut it off, however shortly, and else once more", async () => {
  const inTime = new Set<boolean>();
  for (let turns = 0; turns <= 40; turns += 2) {
    const { sent, wasInTime } = await takenAfter(turns);
    expect(sent, `taken ${turns} turns after the stop began`).toBe(wasInTime ? 1 : 2);
    inTime.add(wasInTime);
  }
  expect([...inTime]).toEqual([true, false]);
});
