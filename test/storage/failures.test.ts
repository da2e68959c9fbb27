import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { FileSeries } from "../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { change, openStorage, schema } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a commit that finds no space is taken back whole, and the next one works", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  await storage.commit(change("a", 1));
  disk.full = true;
  for (let n = 0; n < 5; n++) {
    await expect(storage.commit(change("a", 2, "x".repeat(3_000)))).rejects.toMatchObject({
      code: "STORAGE_FULL",
    });
  }
  expect((await storage.get("agents", "a"))?.value["n"]).toBe(1);
  disk.full = false;
  expect((await storage.commit(change("a", 3))).sequences).toEqual([0, 2]);
  await storage.close();
  const again = await openStorage({ folder });
  expect((await again.get("agents", "a"))?.value["n"]).toBe(3);
  expect((await again.readLog("audit")).entries.map((entry) => entry.value["n"])).toEqual([1, 3]);
});

test("a process that dies right after a refused commit does not find it again", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  disk.full = true;
  await expect(storage.commit(change("a", 1))).rejects.toMatchObject({ code: "STORAGE_FULL" });
  await storage.close();
  const again = await openStorage({ folder });
  expect(await again.get("agents", "a")).toBeNull();
});

test("no space for a new segment refuses commits until there is", async () => {
  const disk = new LimitedDisk();
  disk.only = /journal-0000000[2-9]/;
  const storage = await openStorage({ folder: temporaryFolder(), disk, segmentBytes: 4_096 });
  disk.full = true;
  let committed = 0;
  const commitUntilFull = async (): Promise<void> => {
    for (;;) {
      await storage.commit(change("a", committed, "x".repeat(300)));
      committed++;
    }
  };
  await expect(commitUntilFull()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  // All of the segment that was allocated ahead was used, but for the reserve.
  expect(committed).toBe(5);
  expect((await storage.get("agents", "a"))?.revision).toBe(committed);
  disk.full = false;
  expect((await storage.commit(change("a", -1))).revisions).toEqual([committed + 1, 0]);
});

test("a snapshot that finds no space loses nothing and is tried again", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const sizes = { segmentBytes: 8_192, minJournalBytes: 16_384 };
  const storage = await openStorage({ folder, disk, ...sizes });
  disk.only = /db\.json|logs/;
  disk.full = true;
  for (let n = 1; n <= 200; n++) await storage.commit(change("a", n, "x".repeat(300)));
  disk.full = false;
  for (let n = 201; n <= 400; n++) await storage.commit(change("a", n, "x".repeat(300)));
  await storage.close();
  const again = await openStorage({ folder, ...sizes });
  expect((await again.get("agents", "a"))?.value["n"]).toBe(400);
  const { entries } = await again.readLog("audit", { limit: 1_000 });
  expect(entries.map((entry) => entry.value["n"])).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
});

test("an input/output error while syncing ends writing for good, and reads go on", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  await storage.commit(change("a", 1));
  disk.broken = true;
  await expect(storage.commit(change("a", 2))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  disk.broken = false;
  await expect(storage.commit(change("a", 3))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  await expect(storage.trimLog("audit", 2)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect((await storage.get("agents", "a"))?.value["n"]).toBe(1);
  await storage.close();
  const again = await openStorage({ folder });
  expect((await again.get("agents", "a"))?.value["n"]).toBe(1);
  await again.commit(change("a", 4));
});

test("a write that fails rejects every commit of its batch and leaves memory as it was", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.full = true;
  const outcomes = await Promise.allSettled([1, 2, 3].map((n) => storage.commit(change(`a${n}`, n))));
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["rejected", "rejected", "rejected"]);
  disk.full = false;
  expect((await storage.list("agents")).items).toEqual([]);
  expect((await storage.commit(change("a1", 1))).sequences).toEqual([0, 1]);
});

test("a blob that could not be made is not there", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.full = true;
  await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  expect(await storage.readBlob("b")).toBeNull();
  expect(await storage.appendBlob("c", new Uint8Array(5), 0)).toBe(5);
  disk.broken = true;
  await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject({
    code: "STORAGE_FAILED",
  });
  expect(await storage.readBlob("b")).toBeNull();
});

test("a blob whose name could not be made durable is not there either, now or after a start", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  disk.only = /blobs$/;
  disk.broken = true;
  await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject({
    code: "STORAGE_FAILED",
  });
  expect(await storage.readBlob("b")).toBeNull();
  await storage.close();
  const again = await openStorage({ folder });
  expect(await again.readBlob("b")).toBeNull();
  expect(await again.appendBlob("b", new Uint8Array(5), 0)).toBe(5);
});

const small = { segmentBytes: 4_096, minJournalBytes: 4_096 };

/** What may meet an error of the disk, and the files that it works on. */
const failing: [what: string, only: RegExp, work: (storage: FileStorage) => Promise<unknown>][] = [
  ["a commit", /journal/, (storage) => storage.commit(change("a", 2))],
  ["a new blob", /blobs/, (storage) => storage.appendBlob("new", new Uint8Array(9))],
  ["an addition to a blob", /blobs/, (storage) => storage.appendBlob("b", new Uint8Array(9))],
  ["a snapshot", /db\.json/, commitMuch],
  ["a log", /logs/, commitMuch],
];

async function commitMuch(storage: FileStorage): Promise<void> {
  for (let n = 2; n <= 400; n++) await storage.commit(change("a", n, "x".repeat(300)));
}

test.each(failing)(
  "after an error of the disk at %s nothing is written any more, and the check says why",
  async (_, only, work) => {
    const folder = temporaryFolder();
    const disk = new LimitedDisk();
    const storage = await openStorage({ folder, disk, ...small });
    await storage.commit(change("a", 1));
    await storage.appendBlob("b", Buffer.from("before"));
    disk.only = only;
    disk.broken = true;
    await work(storage).catch((error: unknown) => expect(error).toMatchObject({ code: "STORAGE_FAILED" }));
    const failed = { code: "STORAGE_FAILED", message: expect.stringContaining("(EIO)") };
    await expect.poll(() => storage.check().catch((error: unknown) => error)).toMatchObject(failed);
    disk.broken = false;
    const written = disk.writes;
    for (const refused of [
      () => storage.commit(change("a", 9)),
      () => storage.commit(change("a", 9), { reserve: true }),
      () => storage.appendBlob("b", Buffer.from("after")),
      () => storage.appendBlob("c", Buffer.from("after")),
      () => storage.commit([{ kind: "dropBlob", id: "b" }]),
      () => storage.trimLog("audit", 2),
    ])
      await expect(refused()).rejects.toMatchObject(failed);
    await storage.series.append("x", [{ at: 1, values: { cpu: 1 } }]);
    await (storage.series as FileSeries).upkeep();
    expect(storage.series.fault?.()).toContain("(EIO)");
    expect(disk.writes).toBe(written);
    expect(Buffer.from((await storage.readBlob("b")) ?? []).toString()).toBe("before");
    await storage.close();
    const again = await openStorage({ folder, ...small });
    await again.commit(change("a", 10));
    expect(await again.appendBlob("b", Buffer.from(" and after"), 6)).toBe(16);
  },
);

test("a blob that waits for one whose write fails is not written any more", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  await storage.appendBlob("b", Buffer.from("before"));
  disk.broken = true;
  const before = disk.bytesWritten;
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => storage.appendBlob("b", Buffer.from("x"))));
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(disk.bytesWritten).toBe(before + 1);
  expect(Buffer.from((await storage.readBlob("b")) ?? []).toString()).toBe("before");
});

test("the check says that blobs find no space, although changes still do, and until they do", async () => {
  const disk = new LimitedDisk();
  const clock = new FakeClock();
  const storage = await openStorage({ folder: temporaryFolder(), disk, clock });
  await storage.check();
  // As with a quota: the file system tells of free space.
  disk.only = /blobs|space/;
  disk.full = true;
  await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject({ code: "STORAGE_FULL" });
  await storage.commit(change("a", 1));
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  await clock.advance(1_000);
  await storage.check();
});

test("the check tells of a full disk before a change is refused, with figures", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.freeBytes = 1_000;
  await expect(storage.check()).rejects.toMatchObject({
    code: "STORAGE_FULL",
    message: expect.stringContaining("1000 bytes are free, and 65536 are needed"),
  });
  disk.freeBytes = Infinity;
  await storage.check();
});

test("the check tells of inodes where no file can be made, for `df` shows free bytes then", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.freeBytes = 0;
  await expect(storage.check()).rejects.toMatchObject({ message: expect.stringContaining("df -i") });
});

test("the check tells of a snapshot that found no space, and it is made when there is", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk, ...small });
  disk.only = /db\.json/;
  disk.full = true;
  await commitMuch(storage);
  disk.freeBytes = 10_000;
  await expect(storage.check()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  disk.freeBytes = Infinity;
  const before = statSync(join(folder, "db.json")).size;
  const size = async (): Promise<number> => {
    // A snapshot of before may still be failing: as when a server is watched, the check is asked again.
    await storage.check();
    await storage.commit(change("b", 1));
    return statSync(join(folder, "db.json")).size;
  };
  await expect.poll(size).toBeGreaterThan(before);
});

test("bytes that could not be added to a blob are not in it", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  await storage.appendBlob("b", Buffer.from("before"));
  for (const trouble of ["full", "broken"] as const) {
    disk[trouble] = true;
    await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toThrow(OrchestratorError);
    disk[trouble] = false;
    expect(await storage.readBlob("b")).toEqual(new Uint8Array(Buffer.from("before")));
  }
  await storage.close();
  const again = await openStorage({ folder });
  expect(await again.appendBlob("b", Buffer.from(" and after"), 6)).toBe(16);
  expect(Buffer.from((await again.readBlob("b")) ?? []).toString()).toBe("before and after");
});

test.each([/logs/, /journal/])("a close that fails at files of %s lets go of the folder", async (only) => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const sizes = { segmentBytes: 4_096, minJournalBytes: 4_096 };
  const storage = new FileStorage({ folder, disk, ...sizes });
  await storage.open(schema);
  for (let n = 1; n <= 40; n++) await storage.commit(change("a", n, "x".repeat(300)));
  disk.only = only;
  disk.brokenClose = true;
  await expect(storage.close()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  disk.brokenClose = false;
  expect(readdirSync(folder)).not.toContain("lock");
  expect((await (await openStorage({ folder, ...sizes })).get("agents", "a"))?.value["n"]).toBe(40);
});

test("a process with too many open files refuses what needs one more, does not say that it must be restarted, and goes on", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  disk.only = /blobs/;
  disk.openFails = "EMFILE";
  await expect(storage.appendBlob("b", new Uint8Array(100))).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: expect.stringMatching(/^The data folder can't be used now \(EMFILE\): .*lacks/),
  });
  await storage.commit(change("a", 1));
  disk.openFails = null;
  await storage.appendBlob("b", new Uint8Array(100));
  await storage.check();
});

test("a read that the system refuses says so, and not that nothing can be written", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  await storage.appendBlob("b", new Uint8Array(100));
  disk.openFails = "EACCES";
  await expect(storage.readBlob("b")).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: "The data folder can't be used (EACCES).",
  });
  disk.openFails = null;
  await storage.check();
});

test("a start that the system refuses names the folder and the reason", async () => {
  const folder = join(temporaryFolder(), "file");
  writeFileSync(folder, "");
  const disk = new LimitedDisk();
  await expect(new FileStorage({ folder, disk }).open(schema)).rejects.toMatchObject({
    code: "STORAGE_FAILED",
    message: `The data folder ${folder} can't be used: ENOTDIR.`,
    details: { folder, errno: "ENOTDIR" },
  });
  disk.full = true;
  const other = temporaryFolder();
  await expect(new FileStorage({ folder: other, disk }).open(schema)).rejects.toMatchObject({
    code: "STORAGE_FULL",
    message: `The data folder ${other} can't be used: ENOSPC.`,
  });
});

test("a commit of nothing is refused while the last write failed and one now would fail too", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk });
  await storage.commit([]);
  disk.full = true;
  await expect(storage.commit(change("a", 1))).rejects.toMatchObject({ code: "STORAGE_FULL" });
  await expect(storage.commit([])).rejects.toMatchObject({ code: "STORAGE_FULL" });
  disk.full = false;
  await storage.commit([]);
  await storage.commit(change("a", 2));
  await storage.close();
  expect((await (await openStorage({ folder })).get("agents", "a"))?.value["n"]).toBe(2);
});
