/** A process that is killed while it makes a backup, or a blob: what was there for that alone is gone after the next start. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { copyAsKilled } from "../support/live-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 64 * 1_024, minJournalBytes: 128 * 1_024, logSegmentBytes: 4_096 };

test("blobs that were deleted and log entries that were trimmed meanwhile are in no file, and in no later backup", async () => {
  const folder = temporaryFolder();
  const storage = await openStorage({ folder, ...sizes });
  for (let n = 1; n <= 100; n++) await storage.commit(change("a", n, "x".repeat(200)));
  for (const id of ["kept", "gone", "anew"]) await storage.appendBlob(id, Buffer.from(`${id} before`));
  const killed = temporaryFolder();
  let pieces = 0;
  for await (const _ of storage.backup.archive(backupSigner)) {
    // The first one is the head alone.
    if (++pieces < 2) continue;
    await storage.trimLog("audit", 101);
    await storage.commit([
      { kind: "dropBlob", id: "gone" },
      { kind: "dropBlob", id: "anew" },
    ]);
    await storage.appendBlob("anew", Buffer.from("anew after"));
    await storage.readBlob("gone");
    copyAsKilled(folder, killed);
    break;
  }
  expect(readdirSync(join(killed, "blobs"))).toHaveLength(4);

  const next = await openStorage({ folder: killed, ...sizes });
  expect(readdirSync(join(killed, "blobs")).sort()).toEqual(["anew.blob", "kept.blob"]);
  expect(readdirSync(join(killed, "logs", "audit")).length).toBeLessThan(2);
  const names = new Set<string>();
  let archive = "";
  for await (const piece of next.backup.archive(backupSigner)) archive += Buffer.from(piece).toString();
  for (const [, name = ""] of archive.matchAll(/"file":"blobs\/([^"]+)"/g)) names.add(name);
  expect([...names].sort()).toEqual(["anew.blob", "kept.blob"]);
  expect(archive).toContain("anew after");
  expect(archive).not.toContain("gone before");
  expect(Buffer.from((await next.readBlob("anew")) ?? []).toString()).toBe("anew after");
});

test("a blob that was being made is in no file after the next start", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder, disk, ...sizes });
  await storage.appendBlob("whole", Buffer.from("whole"));
  const release = disk.hold(/blobs/);
  const making = storage.appendBlob("half", Buffer.from("half"));
  await expect.poll(() => disk.held).toBe(1);
  const killed = temporaryFolder();
  copyAsKilled(folder, killed);
  release();
  await making;
  expect(readdirSync(join(killed, "blobs"))).toHaveLength(2);
  const next = await openStorage({ folder: killed, ...sizes });
  expect(readdirSync(join(killed, "blobs"))).toEqual(["whole.blob"]);
  expect(await next.readBlob("half")).toBeNull();
});
