/**
 * A chunk whose checksum is right and that can't be decoded, as a fault of a writer or of memory leaves behind: every history of its owner
 * failed for want of one series, and so did each later merge of what was taken before and after it.
 */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeDisk } from "../../../../lib/storage/file/disk.ts";
import { encodeFrame, scanFrames } from "../../../../lib/storage/file/series/frames.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const all = { from: 0, to: 1e15 };
const minute = 60_000;

/** Three chunks with two rows each, in a file without an index; the body of the second is changed, with a checksum that fits. */
async function damaged(change: (body: Uint8Array) => Uint8Array) {
  const folder = temporaryFolder();
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  for (let n = 1; n <= 6; n += 1) {
    await series.append("a", [{ at: n, values: { cpu: n + 0.5, load: n, memory: 10 * n } }]);
    await series.upkeep();
    if (n % 2 === 0) await clock.advance(10 * minute);
  }
  await series.close();
  const [name] = (await readdir(folder)).filter((each) => each.endsWith(".chunks"));
  const path = join(folder, name!);
  const frames: Buffer[] = [];
  const places: number[] = [];
  const file = await nodeDisk.open(path, "update");
  for await (const frame of scanFrames(file)) {
    if ("isInside" in frame || frame.head.length === 0) continue;
    places.push(frames.reduce((sum, { length }) => sum + length, 0));
    frames.push(encodeFrame(frame.head, frames.length === 1 ? change(frame.body) : frame.body));
  }
  await file.close();
  expect(frames).toHaveLength(3);
  await writeFile(path, Buffer.concat(frames));
  const logger = new RecordingLogger();
  return { clock, logger, path, offset: places[1]!, series: await openSeries({ folder, clock, logger }) };
}

/** Behind the name of a series stands how long the rest of it is. */
const behind = (body: Uint8Array, name: string): number => Buffer.from(body).indexOf(name) + name.length;

const withByte = (body: Uint8Array, at: number, value: number): Uint8Array => {
  const changed = new Uint8Array(body);
  changed[at] = value;
  return changed;
};

it.each<[string, (body: Uint8Array) => Uint8Array, Record<string, number>, string | undefined]>([
  // Its presence: more runs than there are bytes.
  [
    "a series",
    (body) => withByte(body, behind(body, "load") + 1, 100),
    { cpu: 6, load: 4, memory: 6 },
    "load",
  ],
  // Its scale: one that would make a value of none.
  [
    "the scale of a series",
    (body) => withByte(body, behind(body, "load") + 2, 30),
    { cpu: 6, load: 4, memory: 6 },
    "load",
  ],
  ["the end", (body) => body.slice(0, behind(body, "load")), { cpu: 6, load: 4, memory: 4 }, undefined],
  ["the times", () => new Uint8Array([200]), { cpu: 4, load: 4, memory: 4 }, undefined],
])("tells where %s can't be decoded, and goes on with the rest", async (_what, change, counts, told) => {
  const { clock, logger, path, offset, series } = await damaged(change);
  const read = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(await series.query("a", all)).map(([name, points]) => [name, points.length]),
    );
  expect(await read()).toEqual(counts);
  const place = { owner: "a", file: path, offset, ...(told !== undefined && { series: told }) };
  expect(logger.lines.filter(({ level }) => level === "error")).toMatchObject([
    { fields: { ...place, error: { code: "STORAGE_CORRUPT", details: place } } },
  ]);
  expect(await read()).toEqual(counts);
  expect(logger.of("error")).toHaveLength(1);
  // What is merged has what was read.
  await clock.advance(3 * 60 * minute);
  await series.upkeep();
  expect(await read()).toEqual(counts);
  expect(logger.of("error")).toHaveLength(1);
  await series.close();
});
