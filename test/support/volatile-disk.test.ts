import { expect, test } from "vitest";
import { VolatileDisk } from "./volatile-disk.ts";

test("nothing arrives any more of a process that was killed while it wrote", async () => {
  const disk = new VolatileDisk(() => 0, Infinity);
  const file = await disk.open("/f", "write");
  await file.write(Buffer.from("before"), 0);
  const late = file.write(Buffer.from("behind"), 0);
  const next = disk.afterKill(Infinity);
  expect(await Promise.race([late.then(() => "written"), disk.lost.then(() => "died")])).toBe("died");
  expect((await next.readWhole("/f"))?.toString()).toBe("before");
});

test("after a sync that failed bytes can be read, no sync writes them, and a loss of power takes them", async () => {
  const disk = new VolatileDisk(() => 0.99, Infinity);
  await disk.syncFolder("/");
  const file = await disk.open("/f", "write");
  await disk.syncFolder("/");
  await file.write(Buffer.from("lost"), 0);
  disk.trouble = { brokenSync: 0 };
  await expect(file.sync()).rejects.toThrow("EIO");
  await file.sync();
  expect((await file.read(0, 4)).toString()).toBe("lost");
  expect((await disk.afterPowerLoss(Infinity).readWhole("/f"))?.length).toBe(0);
});
