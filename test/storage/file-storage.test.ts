import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Snapshot } from "../../lib/storage/file/snapshot-text.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const journals = (folder: string): string[] =>
  readdirSync(folder).filter((name) => name.startsWith("journal-"));

test("folders are for their owner alone, and so are files", async () => {
  const folder = join(temporaryFolder(), "new", "data");
  const storage = await openStorage({ folder });
  await storage.commit(change("a", 1));
  await storage.appendBlob("transcript", new Uint8Array(3));
  const modes = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    return entry.isDirectory() ? mode === 0o700 : mode === 0o600;
  });
  expect(modes.length).toBeGreaterThan(5);
  expect(modes).not.toContain(false);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test("commits that arrive together share one write", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, minJournalBytes: 1 << 20 });
  await storage.commit(change("warm", 0));
  const before = disk.writes;
  await Promise.all(Array.from({ length: 64 }, (_, n) => storage.commit(change(`a${n}`, n))));
  // One record, and the note of how far the journal goes.
  expect(disk.writes - before).toBe(2);
});

test("a commit writes what it changes, however much is stored", async () => {
  const disk = new LimitedDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk, minJournalBytes: 1 << 20 });
  await storage.commit(change("a", 1, "x".repeat(200)));
  const small = disk.bytesWritten;
  await storage.commit(change("a", 2, "x".repeat(200)));
  const cost = disk.bytesWritten - small;
  for (let n = 0; n < 50; n++) await storage.commit(change(`b${n}`, n, "y".repeat(500)));
  const large = disk.bytesWritten;
  await storage.commit(change("a", 3, "x".repeat(200)));
  // The sequence has a digit more by now.
  expect(disk.bytesWritten - large).toBeLessThanOrEqual(cost + 2);
  expect(cost).toBeLessThan(700);
});

test("the journal is dropped when a snapshot holds what was in it", async () => {
  const folder = temporaryFolder();
  const sizes = { segmentBytes: 8_192, minJournalBytes: 16_384, logSegmentBytes: 4_096 };
  const storage = await openStorage({ folder, ...sizes });
  for (let n = 1; n <= 400; n++) await storage.commit(change(`a${n % 20}`, n, "x".repeat(200)));
  await storage.close();
  // 400 commits of about 400 bytes are some twenty segments.
  expect(journals(folder).length).toBeLessThan(8);
  const again = await openStorage({ folder, ...sizes });
  expect((await again.get("agents", "a0"))?.value).toEqual({ n: 400, pad: "x".repeat(200) });
  const { entries, head } = await again.readLog("audit", { limit: 1_000 });
  expect(entries.map((entry) => entry.value["n"])).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
  expect(head.sequence).toBe(400);
});

test("commits go on while a snapshot is written", async () => {
  const disk = new LimitedDisk();
  const sizes = { segmentBytes: 8_192, minJournalBytes: 16_384 };
  const storage = await openStorage({ folder: temporaryFolder(), disk, ...sizes });
  const release = disk.hold(/db\.json\.tmp$/);
  for (let n = 1; n <= 200; n++) await storage.commit(change("a", n, "x".repeat(200)));
  expect(disk.held).toBe(1);
  expect((await storage.get("agents", "a"))?.revision).toBe(200);
  release();
});

test("the newest page of a log is read from its last file alone", async () => {
  const folder = temporaryFolder();
  const disk = new LimitedDisk();
  const sizes = { segmentBytes: 8_192, minJournalBytes: 16_384, logSegmentBytes: 4_096 };
  const first = await openStorage({ folder, ...sizes });
  for (let n = 1; n <= 2_000; n += 100) {
    await first.commit(Array.from({ length: 100 }, (_, index) => change("a", n + index)[1] ?? neverWrite()));
  }
  await first.close();
  expect(readdirSync(join(folder, "logs", "audit")).length).toBeGreaterThan(20);
  const storage = await openStorage({ folder, disk, ...sizes });
  disk.filesRead.clear();
  const { entries } = await storage.readLog("audit", { reverse: true, limit: 20 });
  expect(entries.map((entry) => entry.sequence)).toEqual(Array.from({ length: 20 }, (_, n) => 2_000 - n));
  expect(disk.filesRead.size).toBeLessThanOrEqual(2);
});

test("a trim removes whole files of the log", async () => {
  const folder = temporaryFolder();
  const sizes = { segmentBytes: 8_192, minJournalBytes: 16_384, logSegmentBytes: 4_096 };
  const storage = await openStorage({ folder, ...sizes });
  for (let n = 1; n <= 300; n++) await storage.commit(change("a", n));
  const files = (): number => readdirSync(join(folder, "logs", "audit")).length;
  const before = files();
  expect(await storage.trimLog("audit", 150)).toBe(149);
  expect(files()).toBeLessThan(before);
  expect((await storage.readLog("audit", { limit: 1 })).entries[0]?.sequence).toBe(150);
});

test("data of an older version is backed up before it is used", async () => {
  const folder = temporaryFolder();
  const older = await openStorage({ folder }, 1);
  await older.commit(change("a", 1));
  await older.close();
  const newer = await openStorage({ folder }, 2);
  await newer.commit(change("a", 2));
  await newer.close();
  const backup = JSON.parse(readFileSync(join(folder, "db.version-1.json"), "utf8")) as Snapshot;
  expect(backup.schema_version).toBe(1);
  expect(backup.collections["agents"]).toEqual([{ key: "a", revision: 1, value: { n: 1, pad: "" } }]);
});

function neverWrite(): never {
  throw new Error("A change has two writes.");
}
