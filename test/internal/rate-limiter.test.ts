/** How many calls of a key there may be a minute: at once, over time, and beside many other keys. */
import { expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { RateLimiter } from "../../lib/internal/rate-limiter.ts";

/** What a call comes to: "taken", or how many seconds to wait. */
function callOf(limiter: RateLimiter, key = "a"): "taken" | number {
  try {
    limiter.take(key);
    return "taken";
  } catch (error) {
    expect(error).toMatchObject({ code: "RATE_LIMITED" });
    return (error as { details: { retry_after_seconds: number } }).details.retry_after_seconds;
  }
}

const times = (count: number, limiter: RateLimiter, key?: string): number =>
  Array.from({ length: count }, () => callOf(limiter, key)).filter((call) => call === "taken").length;

it("a key has as many calls at once as a minute has, and then one each time one has come back", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock, 4);
  expect(times(10, limiter)).toBe(4);
  await clock.advance(14_999);
  expect(callOf(limiter)).toBe(1);
  await clock.advance(1);
  expect([callOf(limiter), callOf(limiter)]).toEqual(["taken", 15]);
  await clock.advance(30_000);
  expect(times(5, limiter)).toBe(2);
  // However long nobody calls, no more come together.
  await clock.advance(86_400_000);
  expect(times(10, limiter)).toBe(4);
});

it("says how long to wait, and whoever waits so long is taken, but no second earlier", async () => {
  for (const perMinute of [1, 7, 60, 600]) {
    const clock = new FakeClock();
    const limiter = new RateLimiter(clock, perMinute);
    expect(times(perMinute, limiter)).toBe(perMinute);
    const waits = callOf(limiter) as number;
    expect(waits).toBe(Math.ceil(60 / perMinute));
    await clock.advance(Math.max(0, waits - 1) * 1_000);
    if (waits > 1) expect(callOf(limiter)).toBe(1);
    await clock.advance(1_000);
    expect(callOf(limiter)).toBe("taken");
  }
});

it("a call that is refused costs nothing, and a wall clock that jumps gives nothing", async () => {
  const clock = new FakeClock();
  const limiter = new RateLimiter(clock, 2);
  expect(times(2, limiter)).toBe(2);
  for (let second = 0; second < 29; second += 1) {
    await clock.advance(1_000);
    expect(limiter.tryTake("a")).toBe(false);
  }
  clock.jump(3_600_000);
  expect(limiter.tryTake("a")).toBe(false);
  clock.jump(-7_200_000);
  await clock.advance(1_000);
  expect(limiter.tryTake("a")).toBe(true);
});

it("a key takes nothing from another, and a flood of keys has the one forgotten that nobody used for longest", async () => {
  const limiter = new RateLimiter(new FakeClock(), 1);
  const flood = (from: number, count: number): number =>
    Array.from({ length: count }, (_, at) => limiter.tryTake(`key ${from + at}`)).filter(Boolean).length;
  expect([limiter.tryTake("first"), limiter.tryTake("second")]).toEqual([true, true]);
  expect(flood(0, 9_998)).toBe(9_998);
  // Both are known still; only one is used once more.
  expect(limiter.tryTake("first")).toBe(false);
  expect(flood(10_000, 1)).toBe(1);
  expect(limiter.tryTake("first")).toBe(false);
  expect(flood(20_000, 9_998)).toBe(9_998);
  expect(limiter.tryTake("first")).toBe(false);
  expect(limiter.tryTake("second")).toBe(true);
});
