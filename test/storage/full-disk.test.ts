import { expect, test } from "vitest";
import type { FileStorage } from "../../lib/storage/file-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const segmentBytes = 64 * 1_024;

/** Commits until one is refused. Resolves with how many were not. */
async function commitUntilFull(storage: FileStorage, options = {}): Promise<number> {
  for (let n = 1; ; n++) {
    try {
      await storage.commit(change("a", n, "x".repeat(500)), options);
    } catch (error) {
      expect(error).toMatchObject({ code: "STORAGE_FULL" });
      return n - 1;
    }
  }
}

test("on a full disk only commits that may use the reserve go on, and a start finds them", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk, segmentBytes });
  await storage.check();
  disk.freeBytes = 0;
  const ordinary = await commitUntilFull(storage);
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  expect((await storage.commit(change("b", 1), { reserve: true })).revisions).toEqual([1, 0]);
  await expect(storage.commit(change("c", 1))).rejects.toMatchObject({ code: "STORAGE_FULL" });
  const reserved = await commitUntilFull(storage, { reserve: true });
  expect(ordinary).toBeGreaterThan(40);
  expect(reserved).toBeGreaterThan(15);
  await storage.close();
  const again = await openStorage({ folder, disk, segmentBytes });
  expect((await again.get("agents", "a"))?.value["n"]).toBe(reserved);
  expect((await again.readLog("audit")).head.sequence).toBe(ordinary + reserved + 1);
  expect(await again.get("agents", "c")).toBeNull();
});

test("a sign-in is not refused because it waits together with other writes", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes });
  disk.freeBytes = 0;
  await commitUntilFull(storage);
  const outcomes = await Promise.allSettled([
    storage.commit(change("b", 1, "x".repeat(500))),
    storage.commit(change("c", 1), { reserve: true }),
    storage.commit(change("d", 1, "x".repeat(500))),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "rejected"]);
});

test("the check says that writing works again when there is space, a second later at most", async () => {
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes, clock });
  disk.freeBytes = 0;
  await commitUntilFull(storage);
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.freeBytes = Infinity;
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  await clock.advance(1_000);
  await storage.check();
  expect((await storage.commit(change("b", 1))).revisions).toEqual([1, 0]);
});

test("many checks of a full disk try it once", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes });
  disk.freeBytes = 0;
  await commitUntilFull(storage);
  const before = disk.writes;
  await Promise.allSettled(Array.from({ length: 50 }, () => storage.check()));
  expect(disk.writes - before).toBeLessThanOrEqual(1);
});

test("leaves no file open that found no space, however often it is tried", async () => {
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes, clock });
  const writer = await storage.openBlob("c");
  // As with a quota: the file system tells of free space.
  disk.only = /blobs|space/;
  disk.full = true;
  const before = disk.openFiles;
  const full = { code: "STORAGE_FULL" };
  for (let count = 0; count < 3; count += 1) {
    await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject(full);
    await expect(storage.check()).rejects.toMatchObject(full);
    await clock.advance(1_000);
  }
  expect(disk.openFiles).toBe(before);
  await expect(writer.append(new Uint8Array(100)).then(() => writer.sync())).rejects.toMatchObject(full);
  await writer.close();
  await storage.close();
  expect(disk.openFiles).toBe(0);
});

test("a trim goes on with the reserve: it is how space is made", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes });
  disk.freeBytes = 0;
  await commitUntilFull(storage);
  expect(await storage.trimLog("audit", 3)).toBe(2);
});

test("a write that did not fit gives the allocated space of its segment back", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes });
  disk.freeBytes = 0;
  const large = storage.commit(change("a", 1, "x".repeat(2 * segmentBytes)));
  await expect(large).rejects.toMatchObject({ code: "STORAGE_FULL" });
  expect(await commitUntilFull(storage)).toBeGreaterThan(40);
});

test("after an error of the disk the check says that nothing is written any more", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.broken = true;
  await expect(storage.commit(change("a", 1))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  disk.broken = false;
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
});
