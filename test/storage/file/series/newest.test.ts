/** The newest row of an owner, which may be in memory, in chunks of any age, or in some of both. */
import { expect, test } from "vitest";
import type { FileSeries } from "../../../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const minute = 60_000;
const hour = 60 * minute;

/** Samples n of second n with the value n. */
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    at: (from + index) * 1_000,
    values: { cpu: from + index },
  }));

/** Lets time pass in turns of ten minutes. */
async function pass(series: FileSeries, clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10 * minute) {
    await clock.advance(10 * minute);
    await series.upkeep();
  }
}

test("the newest row is found wherever it is, none that is older than what is looked for", async () => {
  const clock = new FakeClock();
  const series = await openSeries({ folder: temporaryFolder(), clock, rawMs: 4 * hour });
  // By its time, not by when it came.
  await series.append("a", [...rows(1, 50), { at: 40_000, values: { cpu: 41, late: 1 } }]);
  for (const passed of [0, 20 * minute, 3 * hour, 12 * hour]) {
    await pass(series, clock, passed);
    await series.append("busy", rows(1, 2));
    const newest = await series.newest("a");
    if (passed < 12 * hour) expect(newest).toEqual({ at: 50_000, values: { cpu: 50 } });
    else {
      const cpu = (51 * 25 + 41) / 51;
      expect(newest).toEqual({ at: 0, values: { cpu: expect.closeTo(cpu, 8) as number, late: 1 } });
    }
    expect(await series.newest("a", 50_001)).toBeNull();
  }
  await series.trim("a");
  expect(await series.newest("a")).toBeNull();
  await series.close();
});

test("of two values of one time the one that came last is the newest, wherever the other is", async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  const at = 5_000;
  for (const value of [1, 2, 3]) {
    await series.append("a", [{ at, values: { cpu: value, [`only_${value}`]: value } }]);
    const others = Array.from({ length: value }, (_, n) => [`only_${n + 1}`, n + 1] as const);
    const newest = { at, values: { cpu: value, ...Object.fromEntries(others) } };
    expect(await series.newest("a")).toEqual(newest);
    await pass(series, clock, hour);
    await series.append("busy", rows(1, 2));
    expect(await series.newest("a")).toEqual(newest);
  }
  await series.close();
});
