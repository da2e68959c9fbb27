import { cp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileSeries } from "../../../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const minute = 60_000;
const all = { from: 0, to: 1e15 };
const owners = ["a", "b", "c", "d"];

/** Time series of five hours with some samples every ten minutes. */
async function fill(folder: string, samplesATurn: number): Promise<FileSeries> {
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  for (let turn = 0; turn < 31; turn++) {
    for (const owner of owners) {
      const rows = Array.from({ length: samplesATurn }, (_, n) => {
        return { at: turn * 1_000 + n, values: { odd: Math.sqrt(turn * 1_000 + n) } };
      });
      await series.append(owner, rows);
    }
    await clock.advance(10 * minute);
    await series.upkeep();
  }
  return series;
}

/** Bytes of chunk files that a start reads, and bytes that there are. */
async function startOn(folder: string): Promise<{ read: number; stored: number; series: FileSeries }> {
  const disk = new LimitedDisk();
  const series = await openSeries({ folder, disk });
  const names = (await readdir(folder)).filter((name) => name.endsWith(".chunks"));
  let stored = 0;
  let read = 0;
  for (const path of names.map((name) => join(folder, name))) {
    stored += (await stat(path)).size;
    read += disk.bytesRead.get(path) ?? 0;
  }
  return { read, stored, series };
}

async function countOf(series: FileSeries, owner: string): Promise<number> {
  return (await series.query(owner, all))["odd"]?.length ?? 0;
}

test("a start reads the same however many samples are stored", async () => {
  const reads: number[] = [];
  for (const samplesATurn of [10, 500]) {
    const folder = temporaryFolder();
    await (await fill(folder, samplesATurn)).close();
    const { read, stored, series } = await startOn(folder);
    expect(read).toBeGreaterThan(0);
    if (samplesATurn === 500) expect(stored).toBeGreaterThan(100 * read);
    for (const owner of owners) expect(await countOf(series, owner)).toBe(31 * samplesATurn);
    reads.push(read);
    await series.close();
  }
  // Places of chunks in larger files take a byte more each.
  expect(reads[1]).toBeLessThan((reads[0] ?? 0) * 1.1);
});

/** The folder as a process leaves it that is killed now. */
async function killed(folder: string): Promise<string> {
  const copy = join(temporaryFolder(), "copy");
  await cp(folder, copy, { recursive: true });
  return copy;
}

test("a start after a kill reads the youngest file of each kind, and the one after it does not", async () => {
  const filled = temporaryFolder();
  const first = await fill(filled, 100);
  const folder = await killed(filled);
  await first.close();
  const { read, stored, series } = await startOn(folder);
  expect(read).toBeLessThan(stored * 0.75);
  for (const owner of owners) expect(await countOf(series, owner)).toBe(3_100);
  // The files of the life before get their index while this one goes on.
  await series.append("a", [{ at: 1e9, values: { odd: 1 } }]);
  await series.upkeep();
  const last = await startOn(await killed(folder));
  expect(last.read).toBeLessThan(last.stored * 0.05);
  expect(await countOf(last.series, "a")).toBe(3_101);
  await last.series.close();
  await series.close();
});

test("a file with a damaged index is read whole, and nothing is lost", async () => {
  const folder = temporaryFolder();
  await (await fill(folder, 20)).close();
  for (const name of (await readdir(folder)).filter((file) => file.endsWith(".chunks"))) {
    const path = join(folder, name);
    const bytes = await readFile(path);
    const at = name.startsWith("raw") ? bytes.length - 30 : bytes.length - 1;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(path, bytes);
  }
  const logger = new RecordingLogger();
  const series = await openSeries({ folder, logger });
  expect(logger.of("warn").length).toBeGreaterThan(0);
  for (const owner of owners) expect(await countOf(series, owner)).toBe(620);
  await series.close();
  const silent = new RecordingLogger();
  const again = await openSeries({ folder, logger: silent });
  for (const owner of owners) expect(await countOf(again, owner)).toBe(620);
  expect([...silent.of("warn"), ...silent.of("error")]).toEqual([]);
  await again.close();
});

test.each(owners)(
  "what is kept for %s after all of its samples were removed is there after each start",
  async (owner) => {
    const folder = temporaryFolder();
    const open = [await fill(folder, 2)];
    const clock = new FakeClock();
    await clock.advance(5 * 60 * minute);
    const next = async (): Promise<FileSeries> => {
      await open.pop()?.close();
      open.push(await openSeries({ folder, clock }));
      return open.at(-1)!;
    };
    const keep = async (series: FileSeries, name: string): Promise<void> => {
      await series.append(name, [{ at: clock.now(), values: { odd: 7 } }]);
      await series.sync();
    };
    const others = owners.filter((other) => other !== owner);
    for (const each of [...others, owner]) await keep(open[0]!, each);
    await open[0]!.trim(owner);
    // A life that begins its journal anew, with what others had begun: of the removed ones nothing is in it but that they are.
    const between = await next();
    for (const other of others) await keep(between, other);
    const series = await next();
    await keep(series, owner);
    // Long enough for what is kept to be written whole.
    for (let passed = 0; passed < 4 * 60; passed += 10) {
      await clock.advance(10 * minute);
      await series.upkeep();
    }
    const valuesIn = async (life: FileSeries): Promise<number[]> =>
      ((await life.query(owner, all))["odd"] ?? []).map(({ mean }) => mean);
    expect(await valuesIn(series)).toEqual([7]);
    for (const _ of [1, 2]) expect(await valuesIn(await next())).toEqual([7]);
    await open.pop()?.close();
  },
);

/** Up to each sample of the chunk, which stays, and up to a moment behind the last one. */
test.each([0, 1, 2, 3])(
  "what is trimmed of the newest whole chunk is told no more, also after a start: %d of three samples",
  async (gone) => {
    const folder = temporaryFolder();
    const clock = new FakeClock();
    const series = await openSeries({ folder, clock });
    const times = [1_000, 2_000, 3_000].map((ms) => clock.now() + ms);
    await series.append(
      "a",
      times.map((at) => ({ at, values: { odd: at } })),
    );
    for (let passed = 0; passed < 4 * 60; passed += 10) {
      await clock.advance(10 * minute);
      await series.upkeep();
    }
    expect((await readdir(folder)).some((name) => name.endsWith(".chunks"))).toBe(true);
    await series.trim("a", times[gone] ?? times[2]! + 1);
    const timesIn = async (life: FileSeries): Promise<number[]> =>
      ((await life.query("a", { from: 0, to: 1e15 }))["odd"] ?? []).map(({ at }) => at);
    expect(await timesIn(series)).toEqual(times.slice(gone));
    await series.close();
    const again = await openSeries({ folder, clock });
    expect(await timesIn(again)).toEqual(times.slice(gone));
    await again.close();
  },
);
