/** Series that a start found, and of which nothing new comes: what is due is done all the same. */
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const minute = 60_000;
const hour = 60 * minute;
const all = { from: 0, to: 1e15 };

test("samples of an agent that never comes again are thinned and let go by the timer alone", async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const options = { folder, clock, rawMs: hour, pointsMs: 24 * hour };
  const first = await openSeries(options);
  for (let n = 0; n < 3; n++) await first.append("a", [{ at: clock.now() + n, values: { cpu: n } }]);
  await first.close();

  const series = await openSeries(options);
  const tiers = async (): Promise<Set<string | undefined>> =>
    new Set((await readdir(folder)).map((name) => name.split("-")[0]));
  const pass = async (until: () => Promise<boolean>, mostMs: number): Promise<void> => {
    const end = clock.now() + mostMs;
    while (!(await until()) && clock.now() < end) {
      await clock.advance(5 * minute);
      await series.sync();
    }
    expect(await until()).toBe(true);
  };
  await pass(async () => (await tiers()).has("recent"), 20 * minute);
  await pass(async () => (await tiers()).has("raw"), 5 * hour);
  await pass(async () => (await tiers()).has("coarse"), 24 * hour);
  expect((await series.query("a", all))["cpu"]).toHaveLength(1);
  await pass(async () => Object.keys(await series.query("a", all)).length === 0, 40 * hour);
  await pass(async () => (await tiers()).size === 1, 10 * minute);
  expect((await readdir(folder)).filter((name) => !name.startsWith("heads-"))).toEqual([]);
  await series.close();
});
