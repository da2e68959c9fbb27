/** Blobs that commits drop, and what a replay of the journal makes of them. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { FileStorage } from "../../lib/storage/file-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { copyAsKilled } from "../support/live-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const small = { minJournalBytes: 4_096, segmentBytes: 4_096 };
const drop: Write = { kind: "dropBlob", id: "b" };
const text = async (storage: FileStorage): Promise<string | null> => {
  const bytes = await storage.readBlob("b");
  return bytes === null ? null : Buffer.from(bytes).toString();
};
const blobsIn = (folder: string): string[] => readdirSync(join(folder, "blobs"));

/** Writes until a snapshot stands for all that came before. */
async function checkpoint(folder: string, storage: FileStorage): Promise<void> {
  const before = statSync(join(folder, "db.json")).ino;
  let n = 0;
  await expect
    .poll(async () => {
      await storage.commit(change("filler", n++, "x".repeat(3_000)));
      return statSync(join(folder, "db.json")).ino;
    })
    .not.toBe(before);
}

/** A logger, and the errors that it was told. */
function errorsOf() {
  const errors: string[] = [];
  const error = (message: string): void => void errors.push(message);
  return { errors, logger: { debug() {}, info() {}, warn() {}, error } };
}

/** The folder as a process leaves it that is killed now. */
function killed(folder: string): string {
  const copy = temporaryFolder();
  copyAsKilled(folder, copy);
  return copy;
}

test("a process that was killed between the commit and the removal of the file leaves nothing", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  disk.only = /blobs/;
  const storage = await openStorage({ folder, disk });
  await storage.appendBlob("b", Buffer.from("old"));
  disk.removalFails = "ENOSPC";
  await storage.commit([drop]);
  const copy = killed(folder);
  expect(blobsIn(copy)).toEqual(["b.blob"]);
  const next = await openStorage({ folder: copy });
  expect(await text(next)).toBeNull();
  expect(blobsIn(copy)).toEqual([]);
});

test("what was made anew stays, whenever the process is killed, and is gone where it was dropped again", async () => {
  const folder = temporaryFolder();
  const storage = await openStorage({ folder });
  await storage.appendBlob("b", Buffer.from("old"));
  const moments: [string, string | null][] = [];
  const note = async (): Promise<void> => void moments.push([killed(folder), await text(storage)]);
  for (let round = 0; round < 3; round++) {
    await storage.commit([drop]);
    await note();
    await storage.appendBlob("b", Buffer.from(`${round}`), 0);
    await note();
    await storage.appendBlob("b", Buffer.from("+"));
    await note();
  }
  expect(moments.map(([, read]) => read)).toEqual([null, "0", "0+", null, "1", "1+", null, "2", "2+"]);
  for (const [copy, read] of moments) expect(await text(await openStorage({ folder: copy }))).toBe(read);
});

test("a snapshot stands for what was dropped before it: what is made anew after it needs no word in the journal", async () => {
  const folder = temporaryFolder();
  const storage = await openStorage({ folder, ...small });
  await storage.appendBlob("b", Buffer.from("old"));
  await storage.commit([drop]);
  await checkpoint(folder, storage);
  await checkpoint(folder, storage);
  const { head } = await storage.readLog("audit");
  const told: unknown[] = [];
  storage.follow((changes) => told.push(...changes));
  await storage.appendBlob("b", Buffer.from("new"), 0);
  expect(told).toEqual([]);
  expect((await storage.readLog("audit")).head).toEqual(head);
  const next = await openStorage({ folder: killed(folder), ...small });
  expect(await text(next)).toBe("new");
});

test("a file that can't be removed keeps the journal that says so, until it can", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const { errors, logger } = errorsOf();
  const storage = await openStorage({ folder, disk, logger, ...small });
  await storage.appendBlob("b", Buffer.from("old"));
  disk.only = /blobs/;
  disk.removalFails = "ENOSPC";
  await storage.commit([drop]);
  await expect.poll(() => errors).toContain("A blob that was dropped could not be removed.");
  for (let n = 0; n < 20; n++) await storage.commit(change("filler", n, "x".repeat(3_000)));
  await expect.poll(() => errors).toContain("The snapshot could not be written.");
  await expect(storage.appendBlob("b", Buffer.from("new"), 0)).rejects.toThrow();
  const next = await openStorage({ folder: killed(folder), ...small });
  expect(await text(next)).toBeNull();
  disk.removalFails = null;
  expect(await storage.appendBlob("b", Buffer.from("new"), 0)).toBe(3);
  await checkpoint(folder, storage);
  expect(await text(await openStorage({ folder: killed(folder), ...small }))).toBe("new");
});

test("what is made anew while no snapshot can be written says so once", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const { errors, logger } = errorsOf();
  const storage = await openStorage({ folder, disk, logger, ...small });
  await storage.appendBlob("b", Buffer.from("old"));
  await storage.commit([drop]);
  disk.only = /db\.json/;
  disk.full = true;
  for (let n = 0; n < 20; n++) await storage.commit(change("filler", n, "x".repeat(3_000)));
  await expect.poll(() => errors).toContain("The snapshot could not be written.");
  const before = disk.writes;
  expect(await storage.appendBlob("b", Buffer.from("new"), 0)).toBe(3);
  await storage.appendBlob("b", Buffer.from("er"));
  expect(disk.writes - before).toBeLessThan(20);
  expect(await text(await openStorage({ folder: killed(folder), ...small }))).toBe("newer");
  disk.full = false;
  await checkpoint(folder, storage);
  expect(await text(await openStorage({ folder: killed(folder), ...small }))).toBe("newer");
});

test("drops and appends at once end in one order, which a restart keeps", async () => {
  const folder = temporaryFolder();
  const storage = await openStorage({ folder, ...small });
  for (let round = 0; round < 20; round++) {
    await Promise.all([
      storage.appendBlob("b", Buffer.from("a")),
      storage.commit([drop]),
      storage.appendBlob("b", Buffer.from("b")),
      storage.commit([drop, ...change("filler", round, "x".repeat(500))]),
      storage.appendBlob("b", Buffer.from("c")),
    ]);
    const now = await text(storage);
    expect(await text(await openStorage({ folder: killed(folder), ...small })), `round ${round}`).toBe(now);
  }
});
