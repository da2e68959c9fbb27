import { describe, expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import {
  follow,
  RetentionClock,
  retentionClockCollections,
  type RetentionTime,
} from "../../lib/upkeep/retention-clock.ts";
import { evilSteps } from "../support/evil.ts";
import { CountedCalls, countingStorage, endCounting } from "../support/failing-storage.ts";
import { seededRandom } from "../support/random.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const hour = 3_600_000;
const day = 24 * hour;
const start = 1_893_456_000_000;
const year = 365 * day;

/** Where the time stands after looks, each so long after the one before, with the wall clock that far ahead of the truth. */
function after(looks: readonly [elapsedMs: number, aheadMs: number, restarted?: "restarted"][]) {
  let truth = start;
  let time = follow(null, { wallMs: truth, elapsedMs: null });
  for (const [elapsedMs, aheadMs, restarted] of looks) {
    truth += elapsedMs;
    time = follow(time, { wallMs: truth + aheadMs, elapsedMs: restarted ? null : elapsedMs });
  }
  return { ahead: time.believed_ms - truth };
}

const hours = (count: number, aheadMs: number) =>
  Array.from({ length: count }, (): [number, number] => [hour, aheadMs]);

describe("the time by which what is old is removed", () => {
  it.each<[string, readonly [number, number, "restarted"?][], number]>([
    ["follows a clock that is right", hours(50, 0), 0],
    [
      "follows small steps",
      [
        [hour, 5_000],
        [hour, -hour],
        [hour, 20 * hour],
      ],
      20 * hour,
    ],
    ["follows a clock that goes back", [[hour, -year]], -year],
    ["holds at a jump", [[hour, year]], 0],
    ["holds for less than a day of running", [[hour, year], ...hours(23, year)], 0],
    ["follows after a day", [[hour, year], ...hours(24, year)], year],
    ["holds a day from each further jump", [[hour, year], ...hours(20, year), ...hours(20, 2 * year)], 0],
    ["goes on where the clock comes back", [[hour, year], ...hours(20, year), [hour, 0]], 0],
    ["believes no more than a day of a time away", [[day, 0, "restarted"]], 0],
    ["holds after a longer time away", [[9 * day, 0, "restarted"]], -9 * day],
    ["follows a day after it", [[9 * day, 0, "restarted"], ...hours(24, 0)], 0],
    [
      "counts on after a restart",
      [[hour, year], ...hours(20, year), [hour, year, "restarted"], ...hours(4, year)],
      year,
    ],
    [
      "does not count the time away",
      [
        [hour, year],
        [23 * hour, year, "restarted"],
      ],
      -23 * hour,
    ],
  ])("%s", (_name, looks, ahead) => {
    expect(after(looks)).toEqual({ ahead });
  });

  it("is never a day ahead of the time that passed, whatever a clock says that never stands for a day", () => {
    // A larger one that comes twice would stand.
    const small = evilSteps.filter((step) => Math.abs(step) <= hour);
    for (let seed = 0; seed < 200; seed++) {
      const random = seededRandom(seed);
      let truth = start;
      let time: RetentionTime = follow(null, { wallMs: truth, elapsedMs: null });
      let ahead = 0;
      let stoodMs = 0;
      for (let look = 0; look < 200; look++) {
        const elapsedMs = random() < 0.2 ? 0 : Math.floor(random() * 6 * hour);
        truth += elapsedMs;
        stoodMs += elapsedMs;
        if (stoodMs > 17 * hour || random() < 0.2) {
          ahead =
            random() < 0.5 ? small[Math.floor(random() * small.length)]! : Math.floor(random() * 3 * year);
          stoodMs = 0;
        }
        time = follow(time, { wallMs: truth + ahead, elapsedMs: random() < 0.1 ? null : elapsedMs });
        expect(time.believed_ms - truth).toBeLessThanOrEqual(day);
      }
    }
  });

  it.each([
    ["before the first look", 0],
    ["at the first write", 1],
    ["hours later", 2],
  ])("goes on where the storage could not be reached once, %s", async (_when, failing) => {
    const [clock, logger, calls] = [new FakeClock(), new RecordingLogger(), new CountedCalls()];
    const storage = countingStorage(new MemoryStorage({ clock }), calls);
    await storage.open({ version: 1, collections: retentionClockCollections, logs: {} });
    const time = new RetentionClock({ storage, clock, logger });
    calls.failing = failing;
    const told = await calls.during(async () => {
      const looks: unknown[] = [];
      for (let look = 0; look < 4; look += 1) {
        await clock.advance(hour);
        looks.push(await time.now().catch((error: Error) => error.message));
      }
      return looks;
    });
    endCounting();
    expect(calls.hasFailed).toBe(true);
    expect(told.filter((each) => each === "It fails once.")).toHaveLength(1);
    expect(told.at(-1)).toBe(clock.now());
    await storage.close();
  });

  it("tells the log of each jump once, and writes at once that it holds and that it follows again", async () => {
    const [clock, logger] = [new FakeClock(), new RecordingLogger()];
    const storage = new MemoryStorage({ clock });
    await storage.open({ version: 1, collections: retentionClockCollections, logs: {} });
    const time = new RetentionClock({ storage, clock, logger });
    const written: number[] = [];
    const look = async (jumpMs: number): Promise<void> => {
      clock.jump(jumpMs);
      await clock.advance(1_000);
      await time.now();
      const { wall_ms } = (await storage.get<RetentionTime>("retention_clock", "now"))!.value;
      written.push(clock.now() - wall_ms);
    };
    for (const jumpMs of [0, year, 0, 0, -year, 0, year, 0]) await look(jumpMs);
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(2);
    expect(written).toEqual([0, 0, 1_000, 2_000, 0, 1_000, 0, 1_000]);
    await storage.close();
  });
});
