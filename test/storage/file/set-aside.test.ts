import { expect, test } from "vitest";
import { BlobFiles } from "../../../lib/storage/file/blobs.ts";
import { LossRecord } from "../../../lib/storage/file/loss-record.ts";
import { setAside } from "../../../lib/storage/file/set-aside.ts";
import { VolatileDisk } from "../../support/volatile-disk.ts";

const forgetful = (): VolatileDisk => new VolatileDisk(() => 0.99, Infinity);

test("what is set aside outlives a loss of power, as a copy and by its name", async () => {
  const disk = forgetful();
  const file = await disk.open("/data/a", "replace");
  await file.write(Buffer.from("old"), 0);
  await file.sync();
  await disk.syncFolder("/data");
  await setAside(disk, "/data/a", Buffer.from("copy"));
  const copied = disk.afterPowerLoss(Infinity);
  expect(String(await copied.readWhole("/data/a.lost"))).toBe("copy");
  await setAside(copied, "/data/a");
  const moved = copied.afterPowerLoss(Infinity);
  expect(await moved.readWhole("/data/a")).toBeNull();
  expect(String(await moved.readWhole("/data/a.lost"))).toBe("old");
});

test("what was accepted as lost is told by a later start, until it was told", async () => {
  const disk = forgetful();
  const loss = { file: "/data/a", offset: 3, what: "changes 1 to 2 are missing" };
  await (await LossRecord.open(disk, "/data")).add([loss]);
  const later = await LossRecord.open(disk.afterPowerLoss(Infinity), "/data");
  expect(later.list()).toEqual([loss]);
  await later.add([{ ...loss, offset: 4 }]);
  expect(later.list()).toHaveLength(2);
  await later.told();
  expect(later.list()).toEqual([]);
});

test("a blob that was accepted as lost is so after a loss of power", async () => {
  const disk = forgetful();
  await new BlobFiles(disk, "/data").acceptLoss("thing-1");
  const isKnown = await new BlobFiles(disk.afterPowerLoss(Infinity), "/data").known();
  expect([isKnown("thing-1"), isKnown("thing-2")]).toEqual([true, false]);
});
