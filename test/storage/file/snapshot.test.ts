/** A snapshot whose writing fails at each call of the disk: the old one stays, and nothing else takes space. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeDisk } from "../../../lib/storage/file/disk.ts";
import { emptySnapshot, SnapshotFile } from "../../../lib/storage/file/snapshot.ts";
import { FailingDisk } from "../../support/failing-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const snapshotOf = (sequence: number) => ({ ...emptySnapshot(), schema_version: 1, sequence });

const calls = ["open", "write", "sync", "close", "rename", "syncFolder"];

test.each(["ENOSPC", "EIO"] as const)(
  "is the old or the new one, with no draft beside it, whichever call fails with %s",
  async (failure) => {
    const failed: string[] = [];
    for (let failing = 0; ; failing++) {
      const folder = temporaryFolder();
      const path = join(folder, "db.json");
      await new SnapshotFile(nodeDisk, path).write(snapshotOf(1));
      const disk = new FailingDisk(failing, failure);
      const file = new SnapshotFile(disk, path);
      const outcome = await file.write(snapshotOf(2)).then(
        () => "written",
        (error: unknown) => String(error),
      );
      if (disk.failed === null) {
        expect(outcome).toBe("written");
        break;
      }
      const call = disk.failed.split(" ")[0]!;
      failed.push(call);
      expect(outcome).toContain(`${failure}: injected`);
      expect(await readdir(folder)).toEqual(["db.json"]);
      expect(disk.openFiles).toEqual([]);
      const isRenamed = call === "syncFolder";
      expect((await new SnapshotFile(nodeDisk, path).read())?.sequence).toBe(isRenamed ? 2 : 1);
      await file.write(snapshotOf(3));
      expect(file.bytes).toBe((await readFile(path)).length);
      expect((await file.read())?.sequence).toBe(3);
    }
    expect([...new Set(failed)]).toEqual(calls);
  },
);
