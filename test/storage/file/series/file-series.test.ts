import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import type { FileSeries } from "../../../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { heldArrayBytes } from "../../../support/memory.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const minute = 60_000;
const hour = 60 * minute;
const all = { from: 0, to: 1e15 };

/** Samples n of second n with the value n. */
const rows = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    at: (from + index) * 1_000,
    values: { cpu: from + index },
  }));

async function valuesOf(series: FileSeries, owner = "a"): Promise<number[]> {
  return ((await series.query(owner, all))["cpu"] ?? []).map(({ mean }) => mean);
}

/** Lets time pass in turns of ten minutes. */
async function pass(series: FileSeries, clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10 * minute) {
    await clock.advance(10 * minute);
    await series.upkeep();
  }
}

test("samples of all owners are durable after a second, by one write", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock });
  await series.append("first", rows(1, 1));
  await series.upkeep();
  const before = disk.writes;
  for (let owner = 0; owner < 100; owner++) await series.append(`owner-${owner}`, rows(1, 3));
  await clock.advance(1_000);
  await series.upkeep();
  expect(disk.writes).toBe(before + 1);
  // As after a kill: the first one was not closed.
  const again = await openSeries({ folder });
  expect(await valuesOf(again, "owner-99")).toEqual([1, 2, 3]);
  await series.close();
  await again.close();
});

test("what a sync waited for is there after a kill, by one write, and nothing more is written where nothing came", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const series = await openSeries({ folder, disk });
  for (let owner = 0; owner < 100; owner++) await series.append(`owner-${owner}`, rows(1, 3));
  await series.sync();
  const before = disk.writes;
  await series.sync();
  expect(disk.writes).toBe(before);
  await series.append("owner-99", rows(4, 4));
  await Promise.all([series.sync(), series.sync()]);
  expect(disk.writes).toBe(before + 1);
  const again = await openSeries({ folder });
  expect(await valuesOf(again, "owner-99")).toEqual([1, 2, 3, 4]);
  await series.close();
  await again.close();
});

test("a sync on a full disk is refused, loses nothing, and succeeds when there is space", async () => {
  const disk = new LimitedDisk();
  const series = await openSeries({ folder: temporaryFolder(), disk });
  await series.append("a", rows(1, 1));
  await series.sync();
  disk.full = true;
  await series.append("a", rows(2, 2));
  await expect(series.sync()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  await series.sync();
  expect(await valuesOf(series)).toEqual([1, 2]);
  await series.close();
});

test("samples are found wherever they are: as points, in chunks and in the head", async () => {
  const clock = new FakeClock();
  const folder = temporaryFolder();
  const series = await openSeries({ folder, clock, rawMs: 4 * hour });
  let last = 0;
  for (let turn = 0; turn < 200; turn++) {
    await series.append("a", rows(last + 1, last + 7));
    last += 7;
    await pass(series, clock, 10 * minute);
  }
  await series.append("a", rows(last + 1, last + 7));
  const tiers = (await readdir(folder)).map((name) => name.replace(/-.*/, ""));
  expect(new Set(tiers)).toEqual(new Set(["coarse", "raw", "recent", "heads"]));
  const points = (await series.query("a", all))["cpu"] ?? [];
  // Seconds 0 to 299 are one point of five minutes: samples 1 to 299.
  expect(points[0]).toEqual({ at: 0, mean: 150, min: 1, max: 299 });
  expect(points.at(-1)?.mean).toBe(last + 7);
  expect(points.map(({ at }) => at)).toEqual(points.map(({ at }) => at).toSorted((a, b) => a - b));
  const whole = (await series.query("a", { ...all, stepMs: 1e15 }))["cpu"]?.[0];
  expect(whole).toMatchObject({ min: 1, max: last + 7 });
  expect(whole?.mean).toBeCloseTo((last + 8) / 2, 8);
  await series.close();
});

test("a limit counts series that have a sample in the range, over all tiers", async () => {
  const clock = new FakeClock();
  const series = await openSeries({ folder: temporaryFolder(), clock, rawMs: 4 * hour });
  for (let turn = 0; turn < 100; turn++) {
    const name = `n_${String((turn * 37) % 100).padStart(2, "0")}`;
    await series.append("a", [{ at: turn * 1_000, values: { [name]: turn, a: turn } }]);
    await pass(series, clock, 10 * minute);
  }
  const everything = await series.query("a", { ...all, stepMs: 1_000 });
  const names = Object.keys(everything).sort();
  for (const [after, limit] of [
    ["", 3],
    ["a", 10],
    ["n_17", 1],
    ["n_95", 10],
  ] as const) {
    const wanted = names.filter((name) => name > after).slice(0, limit);
    const expected = Object.fromEntries(wanted.map((name) => [name, everything[name]]));
    expect(await series.query("a", { ...all, stepMs: 1_000, after, limit })).toEqual(expected);
  }
  const late = { from: 90_000, to: 1e15 };
  const lateNames = Object.keys(await series.query("a", late)).sort();
  expect(Object.keys(await series.query("a", { ...late, limit: 4 })).sort()).toEqual(lateNames.slice(0, 4));
  await series.close();
});

test("of an owner whose names never come again, a query reads a few megabytes at once", async () => {
  const clock = new FakeClock();
  const disk = new LimitedDisk();
  const series = await openSeries({ folder: temporaryFolder(), disk, clock });
  const namesOf = (turn: number) =>
    Array.from({ length: 5_000 }, (_, n) => `n_${turn}_${n + 10_000}_${"x".repeat(580)}`);
  for (let turn = 0; turn < 3; turn++) {
    const values = Object.fromEntries(namesOf(turn).map((name) => [name, turn]));
    await series.append("a", [{ at: turn * 1_000, values }]);
    await pass(series, clock, 20 * minute);
  }
  disk.mostReadingBytes = 0;
  const found = await series.query("a", { ...all, stepMs: 1_000, limit: 2 });
  expect(Object.keys(found)).toEqual(namesOf(0).slice(0, 2));
  expect(disk.mostReadingBytes).toBeGreaterThan(2_500_000);
  expect(disk.mostReadingBytes).toBeLessThan(4_500_000);
  await series.close();
});

test("points are let go at the end of their time, and their files removed", async () => {
  const clock = new FakeClock();
  const folder = temporaryFolder();
  const series = await openSeries({ folder, clock, rawMs: hour, pointsMs: 24 * hour });
  await series.append("a", rows(1, 50));
  await pass(series, clock, 20 * hour);
  expect((await series.query("a", all))["cpu"]).toEqual([{ at: 0, mean: 25.5, min: 1, max: 50 }]);
  await pass(series, clock, 6 * hour);
  expect(await series.query("a", all)).toEqual({});
  expect((await readdir(folder)).filter((name) => name.endsWith(".chunks"))).toEqual([]);
  await series.close();
});

test("a sample is there as it was taken, and then as a point, for as long as either is to be kept", async () => {
  const clock = new FakeClock();
  const [rawMs, pointsMs] = [4 * hour, 24 * hour];
  const series = await openSeries({ folder: temporaryFolder(), clock, rawMs, pointsMs });
  const taken: number[] = [];
  for (let turn = 0; turn < 270; turn++) {
    // A point would be at the beginning of its five minutes.
    taken.push(clock.now() + 7_000);
    await series.append("a", [{ at: taken.at(-1)!, values: { cpu: turn } }]);
    await pass(series, clock, 10 * minute);
    const points = (await series.query("a", all))["cpu"] ?? [];
    const times = new Set(points.map(({ at }) => at));
    expect(taken.filter((at) => at > clock.now() - rawMs && !times.has(at))).toEqual([]);
    const kept = taken.filter((at) => at > clock.now() - pointsMs);
    expect(points.slice(-kept.length).map(({ mean }) => mean)).toEqual(
      kept.map((_, index) => turn + 1 - kept.length + index),
    );
  }
  await series.close();
});

test("what was trimmed does not come back, whatever it was in", async () => {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  await series.append("a", rows(1, 10));
  await series.append("gone", rows(1, 10));
  await pass(series, clock, 10 * minute);
  await series.append("a", rows(11, 20));
  await series.trim("a", 5_000);
  await series.trim("gone");
  // A sample of an old time that came after the trim is kept.
  await series.append("gone", rows(2, 2));
  await series.trim("nobody");
  const expected = Array.from({ length: 16 }, (_, index) => index + 5);
  expect(await valuesOf(series)).toEqual(expected);
  await pass(series, clock, 3 * hour);
  await series.close();
  const again = await openSeries({ folder });
  expect(await valuesOf(again)).toEqual(expected);
  expect(await valuesOf(again, "gone")).toEqual([2]);
  await again.close();
});

test("without space samples stay in memory, and are written when there is", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const series = await openSeries({ folder, disk, clock, logger });
  disk.full = true;
  for (let turn = 0; turn < 5; turn++) {
    await series.append("a", rows(turn * 10 + 1, turn * 10 + 10));
    await pass(series, clock, 10 * minute);
  }
  expect(logger.of("error")).toHaveLength(1);
  const expected = Array.from({ length: 50 }, (_, index) => index + 1);
  expect(await valuesOf(series)).toEqual(expected);
  await expect(series.trim("a", 1)).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  await series.upkeep();
  expect(logger.of("info")).toHaveLength(1);
  const again = await openSeries({ folder });
  expect(await valuesOf(again)).toEqual(expected);
  await series.close();
  await again.close();
});

test("while the process has too many files open samples stay in memory, and are written when it has not", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock });
  await series.append("a", rows(1, 10));
  await series.upkeep();
  disk.openFails = "EMFILE";
  for (let turn = 1; turn < 5; turn++) {
    await series.append("a", rows(turn * 10 + 1, turn * 10 + 10));
    await pass(series, clock, 10 * minute);
  }
  expect(series.fault()).toMatch("EMFILE");
  disk.openFails = null;
  await pass(series, clock, 10 * minute);
  expect(series.fault()).toBeNull();
  await series.close();
  const again = await openSeries({ folder });
  expect(await valuesOf(again)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  await again.close();
});

test.each([
  ["and then killed", (series: FileSeries) => series.upkeep()],
  ["and then closed", (series: FileSeries) => series.close()],
])(
  "what a full disk kept from being trimmed durably does not come back once there was space, %s",
  async (_, end) => {
    const folder = temporaryFolder();
    const disk = new LimitedDisk();
    const series = await openSeries({ folder, disk });
    for (const owner of ["a", "b", "c"]) await series.append(owner, rows(1, 10));
    await series.upkeep();
    disk.full = true;
    const refused = { code: "STORAGE_FULL" };
    await expect(series.trim("a", 5_000)).rejects.toMatchObject(refused);
    await expect(series.trim("b")).rejects.toMatchObject(refused);
    await expect(series.trim("a", 3_000)).rejects.toMatchObject(refused);
    await series.append("b", rows(2, 2));
    await series.upkeep();
    disk.full = false;
    await end(series);
    const again = await openSeries({ folder });
    expect(await valuesOf(again)).toEqual([5, 6, 7, 8, 9, 10]);
    expect(await valuesOf(again, "b")).toEqual([2]);
    expect(await valuesOf(again, "c")).toHaveLength(10);
    await again.close();
    await series.close();
  },
);

test("a chunk that finds no space stays a head, with what came meanwhile", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  disk.only = /\.chunks$/;
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock });
  await series.append("a", rows(1, 3));
  await series.upkeep();
  disk.full = true;
  const release = disk.hold(/\.chunks$/);
  await clock.advance(10 * minute);
  const sealing = series.upkeep();
  while (disk.held === 0) await new Promise((resolve) => setImmediate(resolve));
  await series.append("a", rows(4, 5));
  expect(await valuesOf(series)).toEqual([1, 2, 3, 4, 5]);
  release();
  await sealing;
  expect(await valuesOf(series)).toEqual([1, 2, 3, 4, 5]);
  disk.full = false;
  await pass(series, clock, 20 * minute);
  await series.close();
  const again = await openSeries({ folder });
  expect(await valuesOf(again)).toEqual([1, 2, 3, 4, 5]);
  await again.close();
});

test("without space memory is bounded: the newest samples are kept", async () => {
  const disk = new LimitedDisk();
  const series = await openSeries({ folder: temporaryFolder(), disk });
  disk.full = true;
  await series.append("a", rows(1, 1));
  await series.upkeep();
  await series.append("a", rows(2, 40_000));
  const kept = await valuesOf(series);
  expect(kept.length).toBeLessThan(20_000);
  expect(kept.at(-1)).toBe(40_000);
  disk.full = false;
  await series.close();
});

test("a failed sync ends the writing with one line in the log, and appending goes on", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const logger = new RecordingLogger();
  const series = await openSeries({ folder, disk, logger });
  await series.append("a", rows(1, 2));
  await series.upkeep();
  disk.broken = true;
  await series.append("a", rows(3, 3));
  await series.upkeep();
  disk.broken = false;
  await series.append("a", rows(4, 4));
  await series.upkeep();
  expect(await valuesOf(series)).toEqual([1, 2, 3, 4]);
  expect(logger.of("error")).toHaveLength(1);
  await expect(series.trim("a")).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await series.close();
  const again = await openSeries({ folder });
  expect((await valuesOf(again)).slice(0, 2)).toEqual([1, 2]);
  await again.close();
});

test("of an owner whose names never come again, half a day is merged and thinned in a few megabytes", async () => {
  const clock = new FakeClock();
  const disk = new LimitedDisk();
  const series = await openSeries({ folder: temporaryFolder(), disk, clock, rawMs: 4 * hour });
  const before = heldArrayBytes();
  let most = 0;
  disk.onWrite = () => {
    if (process.memoryUsage().arrayBuffers > most) most = Math.max(most, heldArrayBytes());
  };
  for (let second = 0; second < 18 * 3_600; second += 600) {
    const taken = Array.from({ length: 300 }, (_, n) => second + 2 * n);
    await series.append(
      "a",
      taken.map((at) => ({ at: at * 1_000, values: { [`n_${at}`]: at, cpu: 1 } })),
    );
    await pass(series, clock, 10 * minute);
  }
  const thinned = await series.query("a", { from: 0, to: 1_800_000, after: "n_", limit: 1 });
  expect(Object.values(thinned)).toEqual([[expect.objectContaining({ max: 0, min: 0 })]]);
  expect(most - before).toBeLessThan(30e6);
  await series.close();
});
