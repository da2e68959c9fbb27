/** Chunks that a full disk took in part: those of them that are whole are no second ones at the next start. */
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const owners = ["a", "b", "c", "d", "e", "f"];
const all = { from: 0, to: 1e12 };

/** So many that the index of a file is shorter than a chunk. */
const manyValues = (at: number) =>
  Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`cpu${n}`, at / (n + 1)]));

/** Series of which the chunks of all owners found space for about half of them, and a way to give time to what has space again. */
async function halfWritten(fullTurns: number) {
  const folder = temporaryFolder();
  const disk = Object.assign(new LimitedDisk(), { only: /\.chunks$/ });
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock });
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) {
      await clock.advance(600_000);
      await series.upkeep();
    }
  };
  // The first chunks begin the file: the second ones stand behind them.
  for (const at of [1_000, 2_000]) {
    for (const owner of owners) await series.append(owner, [{ at, values: manyValues(at) }]);
    disk.full = at === 2_000;
    await turns(disk.full ? fullTurns : 2);
  }
  expect(series.fault()).toContain("there is no space");
  disk.full = false;
  return { folder, series, turns };
}

test.each([
  ["soon", 2],
  ["when the file takes no more", 5],
])("samples are there once where there is space again %s", async (_, fullTurns) => {
  const { folder, series, turns } = await halfWritten(fullTurns);
  await turns(2);
  // As after a kill: the first one was not closed.
  const logger = new RecordingLogger();
  const again = await openSeries({ folder, logger });
  for (const owner of owners) {
    const points = (await again.query(owner, all))["cpu0"];
    expect(points?.map(({ at }) => at)).toEqual([1_000, 2_000]);
  }
  expect([...logger.of("warn"), ...logger.of("error")]).toEqual([]);
  await again.close();
  await series.close();
});

test("files that can't be removed for want of space are removed later, in the same life", async () => {
  const folder = temporaryFolder();
  const disk = Object.assign(new LimitedDisk(), { only: /\.chunks$/ });
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock });
  await series.append("a", [{ at: 1_000, values: { cpu: 1 } }]);
  await clock.advance(600_000);
  await series.upkeep();
  const chunks = async () => (await readdir(folder)).filter((name) => name.endsWith(".chunks"));
  expect(await chunks()).toHaveLength(1);

  disk.removalFails = "ENOSPC";
  await series.trim("a");
  for (let turn = 0; turn < 3; turn++) {
    await clock.advance(60_000);
    await series.upkeep();
  }
  expect(await chunks()).toHaveLength(1);
  disk.removalFails = null;
  await clock.advance(60_000);
  await series.upkeep();
  expect(await chunks()).toEqual([]);
  expect(disk.openFiles).toBe(1);
  await series.close();
  expect(disk.openFiles).toBe(0);
});
