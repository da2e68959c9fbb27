import { describe, expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { createSystemClock, systemClock, toTimestamp } from "../lib/clock.ts";

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("the clock of the process", () => {
  it("keeps the process alive by its timers only where it is told to", () => {
    const before = timers();
    const quiet = systemClock.setTimer(60_000, () => {});
    expect(timers()).toBe(before);
    const lively = createSystemClock({ keepsAlive: true }).setTimer(60_000, () => {});
    expect(timers()).toBe(before + 1);
    quiet.cancel();
    lively.cancel();
    expect(timers()).toBe(before);
  });

  it("writes instants with milliseconds, in UTC", () => {
    expect(toTimestamp(0)).toBe("1970-01-01T00:00:00.000Z");
  });
});

describe("the clock of tests", () => {
  it("tells whole milliseconds of the day, also where a timer fell due between two", async () => {
    const clock = new FakeClock(1000);
    const seen: number[] = [];
    clock.setTimer(2.5, () => seen.push(clock.now(), clock.monotonic()));
    await clock.advance(10);
    expect(seen).toEqual([1002, 2.5]);
    expect(clock.now()).toBe(1010);
  });
});
