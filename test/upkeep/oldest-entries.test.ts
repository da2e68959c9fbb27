/** Where the entries of a log before an instant end, whatever the clock did while they were written and since. */
import { expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import type { Write } from "../../lib/storage/storage.ts";
import { OldestEntries } from "../../lib/upkeep/oldest-entries.ts";

const log = "events";

/** A log whose entries were written at such minutes, in this order. */
async function logOf(minutes: readonly number[]) {
  const startMs = 1_893_456_000_000;
  const storage = new MemoryStorage({ clock: new FakeClock() });
  await storage.open({ version: 1, collections: {}, logs: { [log]: { chained: false } } });
  await storage.commit(
    minutes.map((minute): Write => ({ kind: "append", log, at: startMs + minute * 60_000, value: {} })),
  );
  let nowMs = startMs + 1_000_000 * 60_000;
  const clock = { now: () => nowMs };
  const oldest = new OldestEntries(
    { storage, fleetTime: clock, retentionClock: { now: () => Promise.resolve(startMs) } },
    log,
  );
  return {
    storage,
    before: (minute: number, first = 1, now = 1_000_000) => {
      nowMs = startMs + now * 60_000;
      return oldest.lastBefore(startMs + minute * 60_000, first);
    },
  };
}

/** 2,500 entries, one a minute, of which the first block has one that is late and the second one that is early. */
const minutes = Array.from({ length: 2_500 }, (_, at) => (at === 500 ? 1_200 : at === 1_500 ? 100 : at));

it.each<[string, number[]]>([
  ["which goes on", [400, 1_200, 1_201, 2_400, 3_000]],
  ["which comes back", [3_000, 2_400, 1_201, 1_200, 400]],
  ["which jumps", [1_201, 400, 3_000, 1_000, 2_000, 1_100]],
])("is the entry before the first that is not older than an instant %s", async (_, instants) => {
  const { storage, before } = await logOf(minutes);
  const expected = instants.map((instant) => {
    const first = minutes.findIndex((minute) => minute >= instant);
    return first === -1 ? minutes.length : first;
  });
  const found: number[] = [];
  for (const instant of instants) found.push(await before(instant));
  expect(found).toEqual(expected);
  await storage.close();
});

it("is the one before the first that is asked about, where that is not older", async () => {
  const { storage, before } = await logOf(minutes);
  expect(await before(900, 1_000)).toBe(999);
  expect(await before(900, 1_001)).toBe(1_000);
  expect(await before(900)).toBe(500);
  await storage.close();
});

/** The same, with 1,300 entries of a clock that was ten years ahead. */
const tenYears = 5_256_000;
const ahead = minutes.map((minute, at) => (at >= 700 && at < 2_000 ? at + tenYears : minute));

it("goes past what is dated later than now where old entries follow, and never ends with it", async () => {
  const { storage, before } = await logOf(ahead);
  const found: number[] = [];
  for (const [minute, now] of [
    [1_201, 2_400],
    [2_100, 2_600],
    [2_300, 2_600],
    [2_500, 2_600],
    [2_300, tenYears + 3_000],
    [2_300, 2_600],
  ])
    found.push(await before(minute!, 1, now));
  expect(found).toEqual([700, 2_100, 2_300, 2_500, 700, 2_300]);
  const dated = await logOf([0, tenYears, tenYears + 1]);
  expect(await dated.before(10, 1, 100)).toBe(1);
  await Promise.all([storage.close(), dated.storage.close()]);
});
