/** The segment of the journal that comes next: while it can't be made, and where the disk fails as it is made. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { deferred } from "../support/deferred.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test.each(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"])(
  "a process that can't open the next segment of the journal (%s) refuses a change, and takes the next",
  async (code) => {
    const disk = new LimitedDisk();
    const folder = temporaryFolder();
    const storage = await openStorage({ folder, disk, segmentBytes: 4_096 });
    disk.only = /journal/;
    disk.openFails = code;
    let kept = 0;
    const commit = (): Promise<unknown> => storage.commit(change(`a${kept + 1}`, 1, "x".repeat(300)));
    const commitUntilRefused = async (): Promise<void> => {
      for (;;) {
        await commit();
        kept += 1;
      }
    };
    for (const _ of [1, 2]) {
      await expect(commitUntilRefused()).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        message: expect.stringContaining(`can't be used now (${code})`),
      });
    }
    await storage.check();
    disk.openFails = null;
    await commit();
    await storage.close();
    const again = await openStorage({ folder });
    expect(await again.count("agents")).toBe(kept + 1);
  },
);

test("nothing is written to the next segment of the journal that was being opened as the disk failed", async () => {
  const disk = new LimitedDisk();
  const folder = temporaryFolder();
  const opened = deferred();
  const open = disk.open.bind(disk);
  let isOpening = false;
  disk.open = async (path, mode) => {
    const file = await open(path, mode);
    if (!path.endsWith("journal-00000002.jsonl")) return file;
    isOpening = true;
    await opened.promise;
    return file;
  };
  const storage = await openStorage({ folder, disk });
  for (let n = 1; !isOpening; n++) await storage.commit(change(`a${n}`, n, "x".repeat(3_000)));
  disk.broken = true;
  await expect(storage.commit(change("b", 1))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  const { writes } = disk;
  opened.resolve();
  await storage.close();
  expect(disk.writes).toBe(writes);
  expect(readdirSync(folder)).not.toContain("journal-00000002.jsonl");
});
