import { expect, test } from "vitest";
import type { FileSeries } from "../../../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { seededRandom } from "../../../support/random.ts";
import { seedsFor } from "../../../support/soak.ts";
import { VolatileDisk } from "../../../support/volatile-disk.ts";

const owners = ["a", "b", "c"];
const folder = "/data/series";
const everything = { from: 0, to: 1e12 };

/** What each owner was given and promised over all lives of one disk. Sample n is of second n and has the value n. */
class Promised {
  given = new Map<string, number>();
  durable = new Map<string, number>();
  trimmed = new Map<string, number>();
  trimTried = new Map<string, number>();
}

interface Life {
  series: FileSeries;
  clock: FakeClock;
  promised: Promised;
  random: () => number;
}

async function work({ series, clock, promised, random }: Life, trims: boolean): Promise<void> {
  for (;;) {
    for (const owner of owners) {
      const given = promised.given.get(owner) ?? 0;
      const rows = Array.from({ length: Math.floor(random() * 8) }, (_, index) => given + index + 1);
      await series.append(
        owner,
        rows.map((n) => ({ at: n * 1_000, values: { cpu: n } })),
      );
      promised.given.set(owner, given + rows.length);
    }
    const owner = owners[Math.floor(random() * owners.length)] as string;
    if (trims && random() < 0.2) {
      const until = Math.floor((promised.given.get(owner) ?? 0) * random());
      promised.trimTried.set(owner, Math.max(until, promised.trimTried.get(owner) ?? 0));
      await series.trim(owner, (until + 1) * 1_000);
      promised.trimmed.set(owner, Math.max(until, promised.trimmed.get(owner) ?? 0));
    } else {
      const given = new Map(promised.given);
      await clock.advance([600_000, 40_000, 1_000][Math.floor(random() * 3)] ?? 0);
      await series.upkeep();
      promised.durable = given;
    }
  }
}

/** What is there is one run of samples, with all that was promised. */
async function check(series: FileSeries, promised: Promised): Promise<void> {
  for (const owner of owners) {
    const found = (await series.query(owner, everything))["cpu"]?.map(({ mean }) => mean) ?? [];
    const first = found[0] ?? (promised.given.get(owner) ?? 0) + 1;
    const last = found.at(-1) ?? 0;
    expect(found).toEqual(found.map((_, index) => first + index));
    expect(first).toBeGreaterThan(promised.trimmed.get(owner) ?? 0);
    if (found.length > 0) expect(first).toBeLessThanOrEqual((promised.trimTried.get(owner) ?? 0) + 1);
    const durable = promised.durable.get(owner) ?? 0;
    if (durable > (promised.trimTried.get(owner) ?? 0)) expect(last).toBeGreaterThanOrEqual(durable);
    expect(last).toBeLessThanOrEqual(promised.given.get(owner) ?? 0);
    // A trim that was cut off may not have happened: the next sample is the one after the last that is there.
    promised.given.set(owner, found.length > 0 ? last : (promised.trimTried.get(owner) ?? 0));
  }
}

/** The same where old samples became points: their mean tells whether one is missing or there twice. */
async function checkSum(series: FileSeries, promised: Promised): Promise<void> {
  for (const owner of owners) {
    const point = (await series.query(owner, { ...everything, stepMs: 1e12 }))["cpu"]?.[0];
    const durable = promised.durable.get(owner) ?? 0;
    expect(point?.max ?? 0).toBeGreaterThanOrEqual(durable);
    if (point !== undefined) {
      expect(point.min).toBe(1);
      expect(point.mean).toBeCloseTo((1 + point.max) / 2, 6);
    }
    promised.given.set(owner, point?.max ?? 0);
  }
}

/** Here a start that did not sync the names of the files it found lost samples: it removed the files that these replace. */
const namesOfTheKilled = [1_523, 2_359, 2_414];
const seeds = [...seedsFor({ usual: 150, soak: 2_000 }), ...namesOfTheKilled];
const kinds = [
  { trims: true, rawMs: 1e9, check },
  { trims: false, rawMs: 1_800_000, check: checkSum },
];

for (const { trims, rawMs, check } of kinds) {
  const name = trims ? "samples and trims" : "samples that are thinned";
  test.each(seeds)(
    `${name} outlive kill -9 and a loss of power but for the last second, seed %i`,
    async (seed) => {
      const random = seededRandom(seed);
      const promised = new Promised();
      let disk = new VolatileDisk(random, Math.floor(random() * 100));
      let clock = new FakeClock();
      for (let life = 0; life < 8; life++) {
        const start = clock.now();
        const current = new FakeClock(start);
        clock = current;
        const lived = (async () => {
          const series = await openSeries({ folder, disk, clock: current, rawMs, journalBytes: 200 });
          await check(series, promised);
          await work({ series, clock: current, promised, random }, trims);
        })();
        await Promise.race([disk.lost, lived]);
        const changes = Math.floor(random() * 300);
        disk = random() < 0.4 ? disk.afterKill(changes) : disk.afterPowerLoss(changes);
      }
      const last = await openSeries({ folder, disk: disk.afterPowerLoss(Infinity), clock, rawMs });
      await check(last, promised);
      await expect(last.close()).resolves.toBeUndefined();
    },
  );
}
