/** What a kill leaves of the newest samples when the journal is between two steps: written and not synced, or written in part. */
import { expect, test } from "vitest";
import type { DiskFile, OpenMode } from "../../../../lib/storage/file/disk.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { copyAsKilled } from "../../../support/live-folder.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/** A disk with something done around each write and each sync of a journal of heads. */
class SteppedDisk extends LimitedDisk {
  beforeWrite: () => Promise<void> = async () => {};
  beforeSync: () => Promise<void> = async () => {};

  override async open(path: string, mode: OpenMode): Promise<DiskFile> {
    const file = await super.open(path, mode);
    if (!path.includes("heads-")) return file;
    return {
      ...file,
      write: (bytes, position) => this.beforeWrite().then(() => file.write(bytes, position)),
      sync: () => this.beforeSync().then(() => file.sync()),
    };
  }
}

const noSpace = (): Error => Object.assign(new Error("ENOSPC: injected"), { code: "ENOSPC" });
const rowAt = (at: number) => ({ at, values: { cpu: at * 1.1 } });

/** The times of the rows that a process finds which starts on the folder as it is now. */
async function timesAfterKill(folder: string, owner = "a"): Promise<number[] | undefined> {
  const copy = temporaryFolder();
  copyAsKilled(folder, copy);
  const series = await openSeries({ folder: copy });
  const points = (await series.query(owner, { from: 0, to: 1e12 }))["cpu"];
  await series.close();
  return points?.map(({ at }) => at);
}

test.each(["beforeWrite", "beforeSync"] as const)(
  "rows that come in the step %s are in the journal after the next one",
  async (step) => {
    const folder = temporaryFolder();
    const disk = new SteppedDisk();
    const series = await openSeries({ folder, disk });
    await series.append("a", [rowAt(1)]);
    await series.sync();
    for (let at = 2; at < 8; at += 2) {
      disk[step] = async () => {
        disk[step] = async () => {};
        await series.append("a", [rowAt(at + 1)]);
      };
      await series.append("a", [rowAt(at)]);
      await series.sync();
      await series.sync();
      const times = Array.from({ length: at + 1 }, (_, n) => n + 1);
      expect(await timesAfterKill(folder)).toEqual(times);
    }
    await series.close();
  },
);

test("rows whose sync found no space are in the journal after the next one", async () => {
  const folder = temporaryFolder();
  const disk = new SteppedDisk();
  const series = await openSeries({ folder, disk });
  for (let at = 1; at < 10; at += 3) {
    await series.append("a", [rowAt(at)]);
    await series.sync();
    disk.beforeSync = () => Promise.reject(noSpace());
    await series.append("a", [rowAt(at + 1)]);
    await expect(series.sync()).rejects.toMatchObject({ code: "STORAGE_FULL" });
    disk.beforeSync = async () => {};
    await series.append("a", [rowAt(at + 2)]);
    await series.sync();
    expect(await timesAfterKill(folder)).toEqual(Array.from({ length: at + 2 }, (_, n) => n + 1));
  }
  await series.close();
});

test("a trim and the rows that it leaves come together, however much else is written with them", async () => {
  const folder = temporaryFolder();
  const disk = new SteppedDisk();
  const series = await openSeries({ folder, disk });
  await series.append("a", [1, 2, 3, 4].map(rowAt));
  await series.sync();
  const many = Array.from({ length: 3_000 }, (_, n) => ({ at: n, values: { cpu: Math.sin(n) } }));
  for (let owner = 0; owner < 60; owner++) await series.append(`owner-${owner}`, many);
  let writes = 0;
  const found: (number[] | undefined)[] = [];
  const look = async (): Promise<void> => void found.push(await timesAfterKill(folder));
  disk.beforeWrite = async () => {
    writes++;
    await look();
  };
  disk.beforeSync = look;
  await series.trim("a", 3);
  await look();
  expect(disk.bytesWritten).toBeGreaterThan(1_024 * 1_024);
  expect(writes).toBeGreaterThan(0);
  for (const times of found.slice(0, writes)) expect(times).toEqual([1, 2, 3, 4]);
  for (const times of found.slice(writes)) expect(times).toEqual([3, 4]);
  await series.close();
});
