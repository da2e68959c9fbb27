/** The fleet time over stops and kills, while the wall clock is set. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { FleetTime, fleetTimeCollections, fleetTimeStepMs } from "../../lib/fleet-time.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const day = 86_400_000;

/** A process that is killed unless it is stopped. */
async function startProcess(clock: FakeClock, data: MemoryData) {
  const storage = new MemoryStorage({ clock, data });
  await storage.open({ collections: fleetTimeCollections, logs: {}, version: 1 });
  const time = new FleetTime({ storage, clock, logger: new RecordingLogger() });
  const end = await time.start();
  return { time, storage, end };
}

describe("the fleet time", () => {
  it.each([
    ["a moment", 1],
    ["a minute", fleetTimeStepMs + 1],
    ["an hour", 3_600_000],
  ])(
    "goes on where it was after a clock was set back and the process was killed %s later",
    async (_, passed) => {
      const [clock, data] = [new FakeClock(), new MemoryData()];
      const { time, storage, end } = await startProcess(clock, data);
      clock.jump(-4 * day);
      await clock.advance(passed);
      const told = time.now();
      await settle();
      await storage.close();
      // What is written after the kill gets nowhere.
      await end();
      const next = await startProcess(clock, data);
      expect(next.time.now()).toBeGreaterThanOrEqual(told - fleetTimeStepMs);
      await next.end();
      await next.storage.close();
    },
  );
});
