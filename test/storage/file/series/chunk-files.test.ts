/** Files of chunks where a process is killed before they are durable, and the machine loses power after that. */
import { expect, test } from "vitest";
import { silentLogger } from "../../../../lib/logger.ts";
import { ChunkFiles } from "../../../../lib/storage/file/series/chunk-files.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { VolatileDisk } from "../../../support/volatile-disk.ts";

/** What is not synced is lost with the power. */
const unlucky = (): number => 0.99;

/** The files on a disk, and the owners of the chunks that were there. */
async function opened(disk: VolatileDisk): Promise<{ files: ChunkFiles; owners: string[] }> {
  const owners: string[] = [];
  const files = new ChunkFiles({
    disk,
    folder: "/data",
    clock: new FakeClock(),
    logger: silentLogger,
    tier: "recent",
    fileMs: 1_000,
  });
  await files.open((owner) => void owners.push(owner));
  return { files, owners };
}

function chunkOf(owner: string, id: number) {
  return {
    head: { owner, first: id, last: id, from: 0, to: 1, sealedAt: 2 },
    body: new Uint8Array(100).fill(id),
  };
}

test("what a killed process left there is durable once the next one has synced, and what that one wrote as well", async () => {
  const disk = new VolatileDisk(unlucky, Infinity);
  await (await opened(disk)).files.append([chunkOf("a", 1)]);
  const next = disk.afterKill(Infinity);
  const { files, owners } = await opened(next);
  expect(owners).toEqual(["a"]);
  await files.sync();
  const third = next.afterPowerLoss(Infinity);
  expect((await opened(third)).owners).toEqual(["a"]);

  const more = await opened(third);
  await more.files.append([chunkOf("b", 2)]);
  await more.files.sync();
  await more.files.append([chunkOf("c", 3)]);
  await more.files.sync();
  expect((await opened(third.afterPowerLoss(Infinity))).owners).toEqual(["a", "b", "c"]);
});

test("a sync that found no open file for the folder leaves its names to the next", async () => {
  class Short extends VolatileDisk {
    failures = 1;

    override async syncFolder(folder: string): Promise<void> {
      if (this.failures-- > 0) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      await super.syncFolder(folder);
    }
  }
  const disk = new Short(unlucky, Infinity);
  const { files } = await opened(disk);
  await files.append([chunkOf("a", 1)]);
  await expect(files.sync()).rejects.toThrow("too many open files");
  await files.sync();
  expect((await opened(disk.afterPowerLoss(Infinity))).owners).toEqual(["a"]);
});
