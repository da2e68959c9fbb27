/**
 * Which segments of a log stay when it is trimmed: at each entry of three segments, at once, behind a hold, and at a start; and
 * entries that find no space in the background.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../../lib/logger.ts";
import { nodeDisk } from "../../../lib/storage/file/disk.ts";
import { LogFile, type LogPlaces } from "../../../lib/storage/file/log-file.ts";
import { LossRecord } from "../../../lib/storage/file/loss-record.ts";
import { Losses } from "../../../lib/storage/file/losses.ts";
import { LimitedDisk } from "../../support/limited-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Entries of a log that fill a segment each three or so. */
const last = 9;
const entryAt = (sequence: number) => ({
  sequence,
  at: sequence,
  hash: null,
  value: { pad: "x".repeat(100) },
});

async function opened(folder: string, places: LogPlaces): Promise<LogFile> {
  const onError = (error: unknown): void => {
    throw error;
  };
  const log = new LogFile({ disk: nodeDisk, folder, segmentBytes: 450, onError });
  const losses = new Losses(
    { acceptLoss: false, logger: silentLogger },
    await LossRecord.open(nodeDisk, folder),
  );
  expect(await log.open(places, losses)).toEqual({ isLost: false });
  return log;
}

/** A log of which all entries are in segments. */
async function filled(folder: string): Promise<LogFile> {
  const log = await opened(folder, { persisted: 0, base: 0, head: 0 });
  for (let sequence = 1; sequence <= last; sequence++) log.append(entryAt(sequence));
  await log.persist();
  return log;
}

const firstsIn = (folder: string): number[] => readdirSync(folder).map((name) => parseInt(name, 10));

async function sequencesBehind(log: LogFile, base: number): Promise<number[]> {
  const found: number[] = [];
  for (let next = base + 1; next <= last; next = (found.at(-1) ?? Infinity) + 1)
    for (const { sequence } of await log.blockAt(next)) if (sequence >= next) found.push(sequence);
  return found;
}

test.each(Array.from({ length: last + 1 }, (_, base) => base))(
  "trimmed up to entry %i it keeps the segments that hold what is behind it",
  async (base) => {
    const folder = temporaryFolder();
    const log = await filled(folder);
    const all = firstsIn(folder);
    expect(all.length).toBeGreaterThan(2);
    // The last one is written to: it stays, whatever it holds.
    const kept = all.filter((_, index) => (all[index + 1] ?? Infinity) > base + 1);
    const behind = Array.from({ length: last - base }, (_, index) => base + 1 + index);

    const release = log.hold();
    await log.trim(base);
    expect(firstsIn(folder)).toEqual(all);
    await release();
    expect(firstsIn(folder)).toEqual(kept);
    expect(await sequencesBehind(log, base)).toEqual(behind);
    await log.close();

    const other = temporaryFolder();
    await (await filled(other)).close();
    const started = await opened(other, { persisted: last, base, head: last });
    expect(firstsIn(other)).toEqual(base === last ? [] : kept);
    expect(await sequencesBehind(started, base)).toEqual(behind);
    await started.trim(base);
    started.append(entryAt(last + 1));
    await started.persist();
    expect((await started.blockAt(last + 1)).at(-1)?.sequence).toBe(last + 1);
    await started.close();
  },
);

test("entries that found no space in the background are written there when as many more have come", async () => {
  const folder = temporaryFolder();
  const disk = Object.assign(new LimitedDisk(), { full: true });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const log = new LogFile({ disk, folder, segmentBytes: 1_000_000, onError });
  const losses = new Losses(
    { acceptLoss: false, logger: silentLogger },
    await LossRecord.open(nodeDisk, folder),
  );
  await log.open({ persisted: 0, base: 0, head: 0 }, losses);
  let sequence = 0;
  const append = (): void => {
    for (let n = 0; n < 512; n++) log.append(entryAt(++sequence));
  };
  append();
  await expect.poll(() => errors).toHaveLength(1);
  append();
  await expect.poll(() => errors).toHaveLength(2);
  disk.full = false;
  append();
  const written = (): number =>
    readFileSync(join(folder, "000000000001.jsonl"), "utf8").split("\n").length - 1;
  await expect.poll(written).toBe(sequence);
  expect(errors).toHaveLength(2);
  await log.close();
});
