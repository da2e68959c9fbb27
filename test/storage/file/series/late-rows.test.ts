/** Samples that come after a trim and are older than what it hides: a clock that was set back, or a machine that sends late. */
import { expect, test } from "vitest";
import type { FileSeries } from "../../../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { copyAsKilled } from "../../../support/live-folder.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const minute = 60_000;
const rowAt = (at: number) => ({ at, values: { cpu: at } });

/** Has the journal begun anew, with what still counts alone. */
async function renewJournal(series: FileSeries): Promise<void> {
  for (let n = 0; n < 4; n++) {
    const values = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`name${i}`, Math.sin(n + i)]));
    await series.append("other", [{ at: n, values }]);
    await series.sync();
  }
}

async function timesOf(series: FileSeries): Promise<number[] | undefined> {
  return (await series.query("a", { from: 0, to: 1e15 }))["cpu"]?.map(({ at }) => at);
}

test.each([
  ["in a head", 0],
  ["in chunks", 20],
  ["in a merged chunk", 150],
])("a trim hides what was there before it alone, where that was %s", async (_, minutes) => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock, journalBytes: 200 });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10 * minute) {
      await clock.advance(10 * minute);
      await series.upkeep();
    }
  };
  await series.append("a", [1, 4, 5, 9, 10, 11].map(rowAt));
  await pass(minutes * minute);
  await series.trim("a", 10);
  await series.append("a", [3, 5, 9].map(rowAt));
  const left = [3, 5, 9, 10, 11];

  for (const wait of [0, 20, 20, 150]) {
    await pass(wait * minute);
    await renewJournal(series);
    expect(await timesOf(series)).toEqual(left);
    const copy = temporaryFolder();
    copyAsKilled(folder, copy);
    for (const life of ["the next life", "the one after it"]) {
      const again = await openSeries({ folder: copy, clock: new FakeClock() });
      expect(await timesOf(again), `${life}, ${wait} minutes later`).toEqual(left);
      await again.close();
    }
  }
  await series.close();
});

test("a later trim of an earlier time brings nothing back that the one before it hides", async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  // One chunk, of which each trim leaves something.
  await series.append("a", [1, 4, 5, 9, 10, 11].map(rowAt));
  await clock.advance(20 * minute);
  await series.upkeep();
  for (const before of [5, 10, 7, 1]) {
    await series.trim("a", before);
    const left = before === 5 ? [5, 9, 10, 11] : [10, 11];
    expect(await timesOf(series)).toEqual(left);
    const copy = temporaryFolder();
    copyAsKilled(folder, copy);
    const again = await openSeries({ folder: copy });
    expect(await timesOf(again)).toEqual(left);
    await again.close();
  }
  await series.close();
});

test("an owner of whom all was trimmed stays so while a file has the samples of others, too", async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock, journalBytes: 200 });
  for (const owner of ["a", "b"]) await series.append(owner, [1, 2, 3].map(rowAt));
  await clock.advance(20 * minute);
  await series.upkeep();
  await series.trim("a");
  for (let turn = 0; turn < 15; turn++) {
    await clock.advance(minute);
    await series.upkeep();
    await renewJournal(series);
    const copy = temporaryFolder();
    copyAsKilled(folder, copy);
    const again = await openSeries({ folder: copy });
    expect(await timesOf(again)).toBeUndefined();
    await again.close();
  }
  await series.close();
});
