/**
 * The process that delivers is not sure for a moment that it is the one, because its lease is renewed late: what came in that moment waited
 * until something else came.
 */
import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import type { Lease } from "../../../lib/storage/storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { deferred, type Deferred } from "../../support/deferred.ts";
import { startReceiver } from "../../support/receiver.ts";

/** Leases go by a clock of its own, as those of a database do, and are renewed when the test lets them be. */
class SlowLeases extends MemoryStorage {
  until: Deferred | null = null;
  /** Until then only the answer waits that a lease was renewed. */
  answeredAt: Deferred | null = null;

  override async lease(name: string, ttlMs: number): Promise<Lease | null> {
    const lease = await super.lease(name, ttlMs);
    if (!lease) return null;
    const renew = async (): Promise<boolean> => {
      await this.until?.promise;
      const isRenewed = await lease.renew();
      await this.answeredAt?.promise;
      return isRenewed;
    };
    return { renew, release: () => lease.release() };
  }
}

it.each([["notifications"], ["audit"]] as const)(
  "what comes while a lease is renewed late is told, of %s",
  async (source) => {
    const { url, received } = await startReceiver((response) => response.end());
    const clock = new FakeClock();
    const storage = new SlowLeases({ clock: new FakeClock() });
    const test = { ...(await createNotifying({ clock, storage })), clock };
    onTestFinished(() => test[Symbol.asyncDispose]());
    const { id } = await webhook(test, url, { source, events: ["operator.*"] });
    await pass(test, 6_000);
    const before = received.length;
    storage.until = deferred();
    await pass(test, 20_000);
    await addOperator(test, "ada");
    await pass(test, 5_000);
    expect(received).toHaveLength(before);
    storage.until.resolve();
    storage.until = null;
    await pass(test, 8_000);
    await expect.poll(() => received.length).toBe(before + 1);
    if (source === "notifications") await deliveriesOf(test, id, ["delivered"]);
  },
);

it("nothing is told once the lease has run out, however late it was answered that it was renewed", async () => {
  const { url, received } = await startReceiver((response) => response.end());
  const clock = new FakeClock();
  const storage = new SlowLeases({ clock: new FakeClock() });
  const test = { ...(await createNotifying({ clock, storage })), clock };
  onTestFinished(() => test[Symbol.asyncDispose]());
  await webhook(test, url, { source: "audit", events: ["operator.*"] });
  await pass(test, 6_000);
  storage.answeredAt = deferred();
  // Asked for after ten seconds, and so good for twenty-five.
  await pass(test, 16_000);
  storage.answeredAt.resolve();
  storage.answeredAt = null;
  await pass(test, 3_500, 500);
  await addOperator(test, "ada");
  await pass(test, 1_000);
  expect(received).toEqual([]);
  await pass(test, 2_000);
  await expect.poll(() => received.length).toBe(1);
});
