/** Segments of the journal that a snapshot stands for, on a file system that finds no space for their removal. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { copyAsKilled } from "../support/live-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const small = { minJournalBytes: 4_096, segmentBytes: 4_096 };

test("segments that can't be removed now are removed with those of a later snapshot, and none is read twice", async () => {
  const folder = temporaryFolder();
  const disk = Object.assign(new LimitedDisk(), { only: /journal-/ });
  const errors: string[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const storage = await openStorage({ folder, disk, logger, ...small });
  const snapshot = (): number => statSync(join(folder, "db.json")).ino;
  const segments = (): string[] => readdirSync(folder).filter((name) => name.startsWith("journal-"));
  let n = 0;
  const commit = async (): Promise<void> => {
    n++;
    await storage.commit(change(`a${n}`, n, "x".repeat(1_000)));
  };
  await commit();
  const [first] = segments();
  disk.removalFails = "ENOSPC";
  await expect.poll(() => commit().then(() => errors)).toContain("The snapshot could not be written.");
  expect(segments()).toContain(first);
  disk.removalFails = null;
  const before = snapshot();
  await expect.poll(() => commit().then(snapshot)).not.toBe(before);
  await expect.poll(segments).not.toContain(first);
  const numbers = segments().map((name) => parseInt(name.slice("journal-".length), 10));
  expect(Math.max(...numbers) - Math.min(...numbers)).toBe(numbers.length - 1);
  const copy = temporaryFolder();
  copyAsKilled(folder, copy);
  const again = await openStorage({ folder: copy, ...small });
  expect(await again.count("agents")).toBe(n);
  expect((await again.readLog("audit")).head.sequence).toBe(n);
});
