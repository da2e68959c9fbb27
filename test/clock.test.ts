import { describe, expect, it } from "vitest";
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
