/**
 * A storage that dies again and again, by kill -9 and by power loss, on a disk that loses, reorders and tears what was not
 * synced, runs out of space and fails to sync. FLEETWRIGHT_SEEDS="<first>-<last>" runs other seeds.
 */
import { describe, expect, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import type { StorageSchema } from "../../lib/storage/storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { ledgerSchema, Promised } from "../support/promised.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak, seedsFor } from "../support/soak.ts";
import { VolatileDisk, type Trouble } from "../support/volatile-disk.ts";

// Small, so that a life of a few hundred changes sees many segments and snapshots.
const sizes = { segmentBytes: 3_000, minJournalBytes: 4_000, logSegmentBytes: 1_500 };
const lives = 5;
const groups = 20;
const seeds = seedsFor({ usual: 500, soak: 20_000 });

/** Lives through one seed. Gives the number of promises that were made. */
async function survive(seed: number): Promise<number> {
  const random = seededRandom(seed);
  const promised = new Promised(random);
  let version = ledgerSchema.version;
  let disk = new VolatileDisk(random, Math.floor(random() * 150));
  for (let life = 0; life < lives; life++) {
    if (random() < 0.15) version++;
    const storage = new FileStorage({ folder: "/data", clock: new FakeClock(), disk, ...sizes });
    const trouble = troubleOf(random);
    const isTroubledAtStart = random() < 0.3;
    if (isTroubledAtStart) disk.trouble = trouble;
    const work = (async () => {
      if (!(await hasOpened(storage, { ...ledgerSchema, version }))) return;
      await promised.check(storage);
      disk.trouble = trouble;
      await promised.work(storage);
    })();
    await Promise.race([disk.lost, work]);
    const changes = Math.floor(random() * 250);
    disk = random() < 0.4 ? disk.afterKill(changes) : disk.afterPowerLoss(changes);
  }
  const last = new FileStorage({
    folder: "/data",
    clock: new FakeClock(),
    disk: disk.afterPowerLoss(Infinity),
    ...sizes,
  });
  await last.open({ ...ledgerSchema, version });
  await promised.check(last);
  await last.close();
  return promised.acknowledged;
}

/** A disk in trouble may refuse the start; anything else that does is a fault of the storage. */
async function hasOpened(storage: FileStorage, schema: StorageSchema): Promise<boolean> {
  try {
    await storage.open(schema);
    return true;
  } catch (error) {
    if (isOrchestratorError(error, "STORAGE_FULL") || isOrchestratorError(error, "STORAGE_FAILED"))
      return false;
    throw error;
  }
}

function troubleOf(random: () => number): Trouble {
  const kind = random();
  if (kind >= 0.4) return {};
  const trouble = kind < 0.25 ? { full: 0.08 } : { brokenSync: Math.floor(random() * 60) };
  return random() < 0.3 ? { ...trouble, diesAfter: Math.floor(random() * 3) } : trouble;
}

describe(`nothing that was promised is lost or half there, whatever kills the process: ${seeds.length} seeds`, () => {
  const size = Math.ceil(seeds.length / groups);
  const parts = Array.from({ length: groups }, (_, part) => seeds.slice(part * size, (part + 1) * size));
  test.each(
    parts.filter((part) => part.length > 0).map((part) => ({ first: part[0], last: part.at(-1), part })),
  )("seeds $first to $last", { timeout: isSoak ? 3_600_000 : 60_000 }, async ({ part }) => {
    let promises = 0;
    for (const seed of part) {
      promises += await survive(seed).catch((cause: unknown) => {
        throw new Error(
          `Seed ${seed}: ${String(cause)} Run it alone with FLEETWRIGHT_SEEDS=${seed}-${seed}.`,
          { cause },
        );
      });
    }
    expect(promises).toBeGreaterThan(part.length);
  });
});
