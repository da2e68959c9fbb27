import { expect, test } from "vitest";
import { rangeOf, stepOf, toPoints, unitOf } from "../../lib/metrics/points.ts";

const hour = 3_600_000;
const now = 1_893_456_000_000;
const at = { intervalMs: 15_000, nowMs: now };
const point = (n: number, value = n) => ({ at: n * 15_000, mean: value, min: value, max: value });

test.each<[what: string, lengthMs: number, asked: number | undefined, expected: number]>([
  ["an hour", hour, undefined, 15_000],
  ["a day", 24 * hour, undefined, 180_000],
  ["a week", 7 * 24 * hour, undefined, 1_800_000],
  ["a month", 30 * 24 * hour, undefined, 7_200_000],
  ["a minute", 60_000, undefined, 15_000],
  ["an hour by the second", hour, 1_000, 2_000],
  ["a day by 15 seconds", 24 * hour, 15_000, 60_000],
  ["a day by 50 seconds", 24 * hour, 50_000, 50_000],
  ["a day of which samples are thinned", 25 * hour, 60_000, 300_000],
  ["a thousand years", 8_766_000 * hour, 1_000, 15_778_800_000],
])("the step of %s", (_what, lengthMs, asked, expected) => {
  const step = stepOf({ from: now - lengthMs, to: now }, { ...at, stepMs: asked });
  expect(step).toBe(expected);
  expect(lengthMs / step).toBeLessThanOrEqual(2_000);
});

test("a course without an end ends behind this moment, and one without a begin is an hour long", () => {
  const inRange = ({ from, to }: { from: number; to: number }, each: number): boolean =>
    each >= from && each < to;
  const open = rangeOf({}, at);
  expect([now + 1, now, now - hour + 1, now - 2 * hour].map((each) => inRange(open, each))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  const until = rangeOf({ to: new Date(now).toISOString() }, at);
  expect([now, now - 1].map((each) => inRange(until, each))).toEqual([false, true]);
});

test.each([
  [{ from_seconds_ago: 7_200 }, now - 2 * hour, now + 1],
  [{ from_seconds_ago: 7_200, to_seconds_ago: 3_600 }, now - 2 * hour, now - hour],
  [{ to_seconds_ago: 3_600 }, now - 2 * hour, now - hour],
  [{ from: new Date(now - 3 * hour).toISOString(), to_seconds_ago: 3_600 }, now - 3 * hour, now - hour],
  [{ from_seconds_ago: 7_200, to: new Date(now - hour).toISOString() }, now - 2 * hour, now - hour],
  [{ from_seconds_ago: 0 }, now, now + 1],
])("what is so many seconds ago is that by the time that is given: %j", (asked, from, to) => {
  expect(rangeOf({ ...asked, step_seconds: 1 }, at)).toMatchObject({ from: from - (from % 5_000), to });
});

test.each([
  [{ from: "2030-01-01T00:00:00Z", from_seconds_ago: 60 }, "from_seconds_ago"],
  [{ to: "2030-01-01T00:00:00Z", to_seconds_ago: 60 }, "to_seconds_ago"],
  [{ from_seconds_ago: 60, to_seconds_ago: 60 }, "to_seconds_ago"],
  [{ from_seconds_ago: 60, to_seconds_ago: 61 }, "to_seconds_ago"],
  [{ from: new Date(now).toISOString(), to: new Date(now).toISOString() }, "to"],
])("an end that is given twice, and one before the begin, are refused: %j", (asked, path) => {
  expect(() => rangeOf(asked, at)).toThrow(
    expect.objectContaining({
      code: "VALIDATION_FAILED",
      issues: [expect.objectContaining({ path: [path] })],
    }),
  );
});

test.each([
  ["two thousand steps from the middle of one", 2_000 * 15_000, 7_000, 15, 20_000],
  ["two thousand steps from the begin of one", 2_000 * 15_000, 0, 15, 15_000],
  ["a step less from the middle of one", 1_999 * 15_000, 7_000, 15, 15_000],
  ["years from the middle of a step", 40_000 * hour, 1_800_000, 7_200, 75_600_000],
  ["a range whose every step is too short", 2_000 * hour, 1_000, 3_600, 7_200_000],
] as const)("has no more than 2,000 points: %s", (_what, lengthMs, before, step_seconds, stepMs) => {
  const end = now - before;
  const given = {
    from: new Date(end - lengthMs).toISOString(),
    to: new Date(end).toISOString(),
    step_seconds,
  };
  const range = rangeOf(given, { intervalMs: 15_000, nowMs: end - lengthMs });
  expect(range.stepMs).toBe(stepMs);
  expect(Math.ceil((range.to - range.from) / range.stepMs)).toBeLessThanOrEqual(2_000);
});

test("a gap is a null at its begin, and neighbours that a step separates are none", () => {
  expect(
    toPoints(
      [1, 2, 4, 7, 8].map((n) => point(n)),
      15_000,
      15_000,
    ),
  ).toEqual([
    [15_000, 1],
    [30_000, 2],
    [60_000, 4],
    [75_000, null],
    [105_000, 7],
    [120_000, 8],
  ]);
});

test("where the step is longer than the interval, an empty step is a gap", () => {
  expect(
    toPoints(
      [0, 4, 12].map((n) => point(n)),
      60_000,
      15_000,
    ).map(([time]) => time),
  ).toEqual([0, 60_000, 120_000, 180_000]);
});

test("the least and the greatest are told where they differ", () => {
  expect(toPoints([{ at: 0, mean: 2, min: 1, max: 3 }, point(1, 5)], 15_000, 15_000)).toEqual([
    [0, 2, 1, 3],
    [15_000, 5],
  ]);
});

test.each([
  ["cpu.percent{state=user}", "percent"],
  ["memory.used_bytes", "bytes"],
  ["mount.used_bytes{path=/a_per_second}", "bytes"],
  ["disk.read_bytes_per_second{device=sda}", "bytes_per_second"],
  ["network.receive_errors_per_second{interface=eth0}", "per_second"],
  ["uptime.seconds", "seconds"],
  ["load.1", "count"],
])("%s is measured in %s", (name, unit) => expect(unitOf(name)).toBe(unit));
