/** The journal of the newest samples where there is no space again and again, also in the moment in which a new one begins. */
import { copyFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../../../lib/logger.ts";
import type { DiskFile, OpenMode } from "../../../../lib/storage/file/disk.ts";
import { HeadJournal } from "../../../../lib/storage/file/series/head-journal.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

test("a journal that was replaced and can't be closed is in no backup, and goes", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock, journalBytes: 200 });
  const journals = async () => (await readdir(folder)).filter((name) => name.startsWith("heads-"));
  disk.only = /heads-/;
  disk.closeFailsWith = "ENOSPC";
  for (let n = 1; n <= 100; n++) {
    disk.brokenClose = n % 3 === 0;
    await series.append("a", [{ at: n * 1_000, values: { cpu: n * 1.1 } }]);
    await series.upkeep();
    expect(await journals()).toHaveLength(1);
  }
  disk.brokenClose = false;
  expect(await journals()).not.toEqual(["heads-00000001.journal"]);
  const held = await series.hold();
  const copy = temporaryFolder();
  for (const { name, size, read, release } of held) {
    await writeFile(join(copy, name), await read(0, size));
    await release();
  }
  const restored = await openSeries({ folder: copy });
  expect((await restored.query("a", { from: 0, to: 1e12 }))["cpu"]).toHaveLength(100);
  await series.close();
  await restored.close();
});

test.each([
  ["", false],
  [" and can't be closed", true],
])("a journal that finds no space%s leaves no file, and the one before as it was", async (_, brokenClose) => {
  const folder = temporaryFolder();
  const disk = Object.assign(new LimitedDisk(), { closeFailsWith: "ENOSPC" });
  const clock = new FakeClock();
  const series = await openSeries({ folder, disk, clock, journalBytes: 200 });
  const journals = async () => (await readdir(folder)).filter((name) => name.startsWith("heads-"));
  const begun = new Set<string>();
  let at = 0;
  const turn = async (): Promise<void> => {
    at += 1;
    await series.append("a", [{ at: at * 1_000, values: { cpu: at * 1.1 } }]);
    await series.upkeep();
  };
  for (let turns = 0; turns < 100; turns++) {
    Object.assign(disk, { full: true, brokenClose });
    await turn();
    Object.assign(disk, { full: false, brokenClose: false });
    expect((await journals()).length).toBeLessThan(2);
    await turn();
    for (const name of await journals()) begun.add(name);
  }
  expect(begun.size).toBeGreaterThan(2);
  // As after a kill: the first one was not closed.
  const again = await openSeries({ folder });
  expect((await again.query("a", { from: 0, to: 1e12 }))["cpu"]).toHaveLength(200);
  await series.close();
  await again.close();
});

test("a journal is begun anew the less often the more it has to begin with", async () => {
  const folder = temporaryFolder();
  const series = await openSeries({ folder, journalBytes: 200 });
  for (let owner = 0; owner < 50; owner++)
    await series.append(`owner-${owner}`, [{ at: 1_000, values: { cpu: 1 } }]);
  await series.upkeep();
  const journals = async () => (await readdir(folder)).filter((name) => name.startsWith("heads-"));
  const before = await journals();
  for (let at = 2; at < 12; at++) {
    await series.append("owner-0", [{ at: at * 1_000, values: { cpu: at } }]);
    await series.upkeep();
  }
  expect(await journals()).toEqual(before);
  await series.close();
});

test("chunks of which the system finds only at their sync that there is no space are synced again", async () => {
  class LateDisk extends LimitedDisk {
    failures = 1;
    readonly synced: string[] = [];

    override async open(path: string, mode: OpenMode): Promise<DiskFile> {
      const file = await super.open(path, mode);
      if (!path.endsWith(".chunks")) return file;
      const sync = async (): Promise<void> => {
        if (this.failures-- > 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
        await file.sync();
        this.synced.push(path);
      };
      return { ...file, sync };
    }
  }
  const disk = new LateDisk();
  const clock = new FakeClock();
  const series = await openSeries({ folder: temporaryFolder(), disk, clock });
  await series.append("a", [{ at: 1_000, values: { cpu: 1 } }]);
  for (let turns = 0; turns < 12; turns++) {
    await clock.advance(600_000);
    await series.upkeep();
  }
  expect(disk.failures).toBeLessThan(1);
  expect(series.fault()).toBeNull();
  expect(disk.synced.length).toBeGreaterThan(0);
  await series.close();
});

test("of a journal that is held, nothing is read that was only begun to be written", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const series = await openSeries({ folder, disk });
  const add = async (at: number): Promise<void> => {
    await series.append("a", [{ at: at * 1_000, values: { cpu: at } }]);
    await series.upkeep();
  };
  await add(1);
  const sizeOf = async (): Promise<number> => {
    const held = await series.hold();
    for (const file of held) await file.release();
    return held.find(({ name }) => name.startsWith("heads-"))?.size ?? 0;
  };
  const before = await sizeOf();
  disk.full = true;
  await add(2);
  const [name = ""] = (await readdir(folder)).filter((each) => each.startsWith("heads-"));
  expect((await stat(join(folder, name))).size).toBeGreaterThan(before);
  expect(await sizeOf()).toBe(before);
  await series.close();
});

test("journals that can't all be held are all let go", async () => {
  const folder = temporaryFolder();
  const series = await openSeries({ folder });
  await series.append("a", [{ at: 1_000, values: { cpu: 1 } }]);
  await series.close();
  // As a process leaves it that is killed when the new one is there and the old one not gone.
  await copyFile(join(folder, "heads-00000001.journal"), join(folder, "heads-00000002.journal"));
  const disk = new LimitedDisk();
  const logger = silentLogger;
  const journal = new HeadJournal({ disk, folder, logger, journalBytes: 4_096 });
  await journal.read();
  const held = await journal.hold();
  expect(held).toHaveLength(2);
  for (const file of held) await file.release();
  const before = disk.openFiles;
  Object.assign(disk, { openFails: "EMFILE", only: /00000002/ });
  await expect(journal.hold()).rejects.toThrow("EMFILE");
  expect(disk.openFiles).toBe(before);
});
