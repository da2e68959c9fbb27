import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { openSeries } from "../../../support/file-series.ts";
import { seededRandom } from "../../../support/random.ts";
import { RecordingLogger } from "../../../support/recording-logger.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const owners = ["a", "b", "c", "d"];
const all = { from: 0, to: 1e15 };

/** A folder with chunks of some owners and rows in the journal: sample n has the value n. */
async function filled(folder: string): Promise<void> {
  const clock = new FakeClock();
  const series = await openSeries({ folder, clock });
  for (let n = 1; n <= 20; n++) {
    for (const owner of owners) await series.append(owner, [{ at: n, values: { cpu: n } }]);
    await series.upkeep();
    if (n % 6 === 0) await clock.advance(600_000);
  }
  await series.close();
}

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  "a flipped bit or a cut costs what it hit, is reported, and stops nothing, seed %i",
  async (seed) => {
    const random = seededRandom(seed);
    const folder = temporaryFolder();
    await filled(folder);
    const names = await readdir(folder);
    const path = join(folder, names[Math.floor(random() * names.length)] as string);
    const bytes = await readFile(path);
    const at = Math.floor(random() * bytes.length);
    if (random() < 0.7) bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
    await writeFile(path, random() < 0.7 ? bytes : bytes.subarray(0, at));

    const logger = new RecordingLogger();
    const series = await openSeries({ folder, logger });
    let found = 0;
    for (const owner of owners) {
      const points = (await series.query(owner, all))["cpu"] ?? [];
      // What is there is what was given, each at most once.
      for (const { at, mean } of points) expect(mean).toBe(at);
      expect(new Set(points.map(({ at }) => at)).size).toBe(points.length);
      found += points.length;
    }
    const complaints = [...logger.of("error"), ...logger.of("warn")];
    if (found < owners.length * 20 && at > 0) expect(complaints.length).toBeGreaterThan(0);
    await series.append("a", [{ at: 21, values: { cpu: 21 } }]);
    await series.close();
    const again = await openSeries({ folder });
    expect((await again.query("a", all))["cpu"]?.at(-1)?.mean).toBe(21);
    await again.close();
  },
);
