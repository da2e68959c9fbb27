import { describe, expect, test } from "vitest";
import { FileStorage } from "../../../lib/storage/file-storage.ts";
import { HeadFile, readHead } from "../../../lib/storage/file/head-file.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { settle } from "../../support/deferred.ts";
import { ledgerSchema } from "../../support/promised.ts";
import { seededRandom } from "../../support/random.ts";
import { VolatileDisk } from "../../support/volatile-disk.ts";

const folder = "/data";
/** A disk of which nothing outlives a loss of power that was not synced. */
const forgetful = (): VolatileDisk => new VolatileDisk(() => 0.99, Infinity);

describe("the head file", () => {
  test("is there after a loss of power from the beginning, and what was synced", async () => {
    const disk = forgetful();
    expect(await readHead(disk, folder)).toBeNull();
    const file = await HeadFile.open(disk, folder, { sequence: 7, journal: 1 });
    const first = disk.afterPowerLoss(Infinity);
    expect(await readHead(first, folder)).toEqual({ sequence: 7, journal: 1 });
    expect(file).toBeDefined();

    const again = await HeadFile.open(first, folder, { sequence: 8, journal: 1 });
    await again.note({ sequence: 9, journal: 2 });
    await again.settle();
    await again.note({ sequence: 10, journal: 2 });
    expect(await readHead(first, folder)).toEqual({ sequence: 10, journal: 2 });
    expect(await readHead(first.afterPowerLoss(Infinity), folder)).toEqual({ sequence: 9, journal: 2 });
  });

  test("says less after it was opened with less: what is behind was accepted as lost", async () => {
    const disk = forgetful();
    const file = await HeadFile.open(disk, folder, { sequence: 7, journal: 3 });
    for (const sequence of [8, 9]) await file.note({ sequence, journal: 3 });
    await HeadFile.open(disk, folder, { sequence: 4, journal: 2 });
    expect(await readHead(disk, folder)).toEqual({ sequence: 4, journal: 2 });
  });

  test("never says more than was noted, whatever a loss of power leaves of it: 300 seeds", async () => {
    for (let seed = 0; seed < 300; seed++) {
      const random = seededRandom(seed);
      const disk = new VolatileDisk(random, Infinity);
      const file = await HeadFile.open(disk, folder, { sequence: 1, journal: 1 });
      for (let sequence = 2; sequence < 9; sequence++) {
        await file.note({ sequence, journal: sequence });
        if (random() < 0.2) await file.settle();
      }
      const head = await readHead(disk.afterPowerLoss(Infinity), folder);
      expect(head?.sequence).toBeGreaterThanOrEqual(1);
      expect(head?.sequence).toBeLessThanOrEqual(8);
      expect(head?.journal).toBe(head?.sequence);
    }
  });
});

describe("how far a journal goes", () => {
  /** A forgetful disk that calls back when it is told to. */
  class TickingDisk extends VolatileDisk {
    tick: () => void = () => {};

    override repeat(_everyMs?: number, callback: () => void = () => {}): () => void {
      this.tick = callback;
      return () => (this.tick = () => {});
    }
  }

  async function started() {
    const disk = new TickingDisk(() => 0.99, Infinity);
    const storage = new FileStorage({ folder, clock: new FakeClock(), disk });
    await storage.open(ledgerSchema);
    const collection = Object.keys(ledgerSchema.collections)[0]!;
    const put = (key: string) => storage.commit([{ kind: "put", collection, key, value: { key } }]);
    const noted = async () => (await readHead(disk, folder))?.sequence ?? 0;
    const certain = async () => (await readHead(disk.afterPowerLoss(Infinity), folder))?.sequence;
    return { disk, storage, put, noted, certain, first: await noted() };
  }

  test("is noted with each commit, which makes it certain by itself not yet", async () => {
    const { put, noted, certain, first } = await started();
    await put("a");
    await put("b");
    expect(await noted()).toBe(first + 2);
    expect(await certain()).toBe(first);
  });

  test("is certain from the next look at the folder on", async () => {
    const { disk, put, certain, first } = await started();
    await put("a");
    disk.tick();
    for (let turn = 0; turn < 10; turn += 1) await settle();
    expect(await certain()).toBe(first + 1);
  });

  test("is certain once the storage is closed", async () => {
    const { storage, put, certain, first } = await started();
    await put("a");
    await storage.close();
    expect(await certain()).toBe(first + 1);
  });
});
