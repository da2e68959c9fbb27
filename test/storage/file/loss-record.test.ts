/** What was accepted as lost, where it can't be put down at once: what an earlier start accepted is still told. */
import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { nodeDisk } from "../../../lib/storage/file/disk.ts";
import { LossRecord } from "../../../lib/storage/file/loss-record.ts";
import { FailingDisk } from "../../support/failing-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const lossAt = (offset: number) => ({ file: "/data/a", offset, what: "changes 1 to 2 are missing" });
const calls = ["open", "write", "sync", "close", "rename", "syncFolder"];

test.each(["ENOSPC", "EIO"] as const)(
  "the losses of before stay, with no draft beside them, whichever call fails with %s",
  async (failure) => {
    const failed: string[] = [];
    for (let failing = 1; ; failing++) {
      const folder = temporaryFolder();
      await (await LossRecord.open(nodeDisk, folder)).add([lossAt(1)]);
      const disk = new FailingDisk(failing, failure);
      const record = await LossRecord.open(disk, folder);
      const outcome = await record.add([lossAt(2)]).then(
        () => "added",
        (error: unknown) => String(error),
      );
      expect(disk.openFiles).toEqual([]);
      const later = await LossRecord.open(nodeDisk, folder);
      if (disk.failed === null) {
        expect(outcome).toBe("added");
        expect(later.list()).toEqual([lossAt(1), lossAt(2)]);
        break;
      }
      const call = disk.failed.split(" ")[0]!;
      failed.push(call);
      expect(outcome).toContain(`${failure}: injected`);
      expect(await readdir(folder)).toEqual(["losses.json"]);
      expect(later.list()).toEqual(call === "syncFolder" ? [lossAt(1), lossAt(2)] : [lossAt(1)]);
      await later.add([lossAt(3)]);
      expect((await LossRecord.open(nodeDisk, folder)).list().at(-1)).toEqual(lossAt(3));
    }
    expect(failed).toEqual(calls);
  },
);
