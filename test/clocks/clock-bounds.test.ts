/** Up to where a clock is believed, and what of the fleet time is written and told. */
import { expect, it, vi } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { ClockWatch } from "../../lib/clock-watch.ts";
import { Epochs } from "../../lib/epochs.ts";
import { FleetTime, fleetTimeCollections } from "../../lib/fleet-time.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const hour = 3_600_000;

it.each([
  [60_000, 0],
  [60_001, 60_001],
  [-60_000, 0],
  [-60_001, -60_001],
])(
  "a clock that is set by %i ms is told to be wrong by %i, for an hour and no longer",
  async (jumpMs, told) => {
    const clock = new FakeClock();
    const watch = new ClockWatch(clock, clock.now());
    clock.jump(jumpMs);
    expect(watch.look()).toBe(told);
    await clock.advance(hour - 1);
    expect(watch.look()).toBe(told);
    await clock.advance(1);
    expect(watch.look()).toBe(0);
  },
);

it("small corrections after a clock was set don't begin the hour anew", async () => {
  const clock = new FakeClock();
  const watch = new ClockWatch(clock, clock.now());
  clock.jump(hour);
  expect(watch.look()).toBe(hour);
  await clock.advance(hour / 2);
  clock.jump(10);
  expect(watch.look()).toBe(hour + 10);
  await clock.advance(hour / 2);
  expect(watch.look()).toBe(0);
});

async function begin(toldAheadMs: number) {
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const storage = new MemoryStorage({ clock });
  await storage.open({ collections: fleetTimeCollections, logs: {}, version: 1 });
  const value = { told_ms: clock.now() + toldAheadMs };
  await storage.commit([{ kind: "put", collection: "fleet_time", key: "now", value }]);
  const time = new FleetTime({ storage, clock, logger });
  const stop = await time.start();
  const written = async () => (await storage.get<{ told_ms: number }>("fleet_time", "now"))?.value.told_ms;
  return { clock, logger, storage, time, stop, written };
}

it.each([
  [0, 0],
  [60_000, 0],
  [60_001, 1],
  [hour, 1],
])("a start %i ms behind what was told warns %i times", async (aheadMs, count) => {
  const { logger, time, stop } = await begin(aheadMs);
  expect(logger.of("warn")).toHaveLength(count);
  expect(time.wallAheadMs()).toBe(aheadMs > 60_000 ? -aheadMs : 0);
  await stop();
});

it("a clock that was set is warned of once, until it is set again", async () => {
  const { clock, logger, time, stop } = await begin(0);
  for (const jumpMs of [hour, -hour, hour]) {
    clock.jump(jumpMs);
    for (let look = 0; look < 3; look += 1) time.wallAheadMs();
  }
  expect(logger.of("warn")).toHaveLength(2);
  await stop();
});

it("what was told last is written at the stop, and nothing after it", async () => {
  const { clock, storage, time, stop, written } = await begin(0);
  await clock.advance(30_000);
  const told = time.now();
  await stop();
  expect(await written()).toBe(told);
  const commit = vi.spyOn(storage, "commit");
  await clock.advance(2 * hour);
  time.now();
  await settleAll();
  expect(commit).not.toHaveBeenCalled();
});

it("of the newer servers that agents follow the newest is told, in whatever order they come", () => {
  for (const order of [
    [5, 7, 6],
    [7, 6, 5],
    [6, 5, 7],
  ]) {
    const epochs = new Epochs({ feed: { follow: () => {} } } as never);
    for (const number of order) epochs.noteSuperseded(`agent-${number}`, { number, id: "x" });
    expect(epochs.supersededBy).toEqual({ number: 7, id: "x", nodeId: "agent-7" });
    epochs.forgetSuperseded("agent-7");
    expect(epochs.supersededBy?.number).toBe(6);
  }
});

it("who waits for the word after a restore hears it once, and of no other change", () => {
  let follow: (change: unknown) => void = vi.fn<(change: unknown) => void>();
  const epochs = new Epochs({
    feed: { follow: (_: string, follower: typeof follow) => void (follow = follower) },
  } as never);
  const heard = vi.fn<() => void>();
  epochs.onResume(heard);
  const restore = { restore_id: "r", restored_at: "t", backup_at: null };
  const document = (value: object) => ({ document: { value: { number: 1, id: "a", ...value } } });
  for (const value of [{}, { restore }, { restore }]) follow(document(value));
  expect([epochs.isPaused, heard.mock.calls.length]).toEqual([true, 0]);
  for (let time = 0; time < 3; time += 1) follow(document({ restore: { ...restore, resumed_at: "t" } }));
  expect([epochs.isPaused, heard.mock.calls.length]).toEqual([false, 1]);
});
