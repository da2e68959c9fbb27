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

  it("never calls back before its own time has moved on by the delay", async () => {
    const shortMs: number[] = [];
    const waits = Array.from({ length: 1_000 }, async (_, index) => {
      const delayMs = 1 + index / 37;
      const fromMs = systemClock.monotonic();
      await new Promise<void>((resolve) => void systemClock.setTimer(delayMs, resolve));
      const passedMs = systemClock.monotonic() - fromMs;
      if (passedMs < delayMs) shortMs.push(delayMs - passedMs);
    });
    await Promise.all(waits);
    expect(shortMs).toEqual([]);
  });

  it.each([2 ** 31, 2 ** 32 + 20, 1e15, Infinity])(
    "waits for %d ms, and does not call back at once",
    async (delayMs) => {
      const called: number[] = [];
      const timer = systemClock.setTimer(delayMs, () => called.push(delayMs));
      await new Promise((resolve) => setTimeout(resolve, 50));
      timer.cancel();
      expect(called).toEqual([]);
    },
  );

  it("calls nobody back whose timer was stopped", async () => {
    const called: string[] = [];
    const timer = systemClock.setTimer(5, () => called.push("stopped"));
    // Holds the thread over the moment at which it is due.
    for (const endMs = performance.now() + 20; performance.now() < endMs;);
    timer.cancel();
    const other = systemClock.setTimer(-1, () => called.push("past"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    other.cancel();
    expect(called).toEqual(["past"]);
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
