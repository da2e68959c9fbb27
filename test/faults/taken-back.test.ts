/** What was refused for want of space is gone, also where the power is lost right behind it: on a disk that forgets what was not synced. */
import { expect, test } from "vitest";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { change, schema } from "../support/file-storages.ts";
import { seededRandom } from "../support/random.ts";
import { VolatileDisk } from "../support/volatile-disk.ts";

test("a change that was refused on a full disk is not there after a power loss", async () => {
  const found: unknown[] = [];
  for (let seed = 0; seed < 200; seed++) {
    const disk = new VolatileDisk(seededRandom(seed), Infinity);
    const open = async (on: VolatileDisk): Promise<FileStorage> => {
      const sizes = { segmentBytes: 4_096, minJournalBytes: 4_096 };
      const storage = new FileStorage({ folder: "/data", clock: new FakeClock(), disk: on, ...sizes });
      await storage.open(schema);
      return storage;
    };
    const storage = await open(disk);
    await storage.commit(change("a", 1));
    disk.trouble = { full: 1 };
    await expect(storage.commit(change("a", 2))).rejects.toMatchObject({ code: "STORAGE_FULL" });
    const again = await open(disk.afterPowerLoss(Infinity));
    found.push((await again.get("agents", "a"))?.value["n"]);
    await again.close();
  }
  expect(new Set(found)).toEqual(new Set([1]));
});
