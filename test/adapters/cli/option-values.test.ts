/** Values of options, as they are read. */
import { describe, expect, it } from "vitest";
import { toRelativeTime } from "../../../adapters/cli/cells.ts";
import {
  decimal,
  duration,
  gather,
  gatherParam,
  gatherTag,
  integer,
  moment,
} from "../../../adapters/cli/options.ts";
import { describeStrategy, toStrategy } from "../../../adapters/cli/rollout-options.ts";

const units = [
  ["s", 1],
  ["m", 60],
  ["h", 3_600],
  ["d", 86_400],
] as const;

describe.each(units)("a unit of time: %s", (unit, seconds) => {
  it("is so many seconds of a duration", () => expect(duration(`3${unit}`)).toBe(3 * seconds));

  it("is so long ago as a moment", () => expect(moment(`3${unit}`)).toEqual({ secondsAgo: 3 * seconds }));
});

it.each([
  [59, "59 s"],
  [60, "1 min"],
  [3_599, "59 min"],
  [3_600, "1 h"],
  [86_399, "23 h"],
  [86_400, "1 d"],
  [30 * 86_400, "30 d"],
])("%d seconds are told as %s", (seconds, told) => {
  const now = Date.parse("2026-03-01T12:00:00.000Z");
  expect(toRelativeTime(new Date(now - seconds * 1_000).toISOString(), now)).toBe(`${told} ago`);
  expect(toRelativeTime(new Date(now + seconds * 1_000).toISOString(), now)).toBe(`in ${told}`);
});

describe("numbers", () => {
  it("that are whole are within both bounds", () => {
    const read = integer(2, 9);
    expect(["2", "9"].map(read)).toEqual([2, 9]);
    for (const text of ["1", "10", "-3", "3.5", "3e0", "", " 3", "0x3", "many"])
      expect(() => read(text), text).toThrow("Not a whole number from 2 to 9.");
  });

  it("may have a sign and a fraction", () => {
    expect(["-1", "0.5", "90"].map(decimal)).toEqual([-1, 0.5, 90]);
    for (const text of ["", "1.", ".5", "1e3", "much", "+1"])
      expect(() => decimal(text), text).toThrow("number");
  });
});

it("durations of nothing, and of more than there is time for, are none", () => {
  expect(duration("1s")).toBe(1);
  for (const text of ["0s", "0d", "", "3", "1.5h", "-1h", "3w", "1h30m"])
    expect(() => duration(text), text).toThrow("30m, 6h or 2d");
  expect(duration("92592592d")).toBe(92_592_592 * 86_400);
  expect(() => duration("92592593d")).toThrow("no time that can be told");
});

describe("options that are given more than once", () => {
  it("are taken together, with commas or without", () => {
    expect(gather("c", gather("a, b"))).toEqual(["a", "b", "c"]);
  });

  it("of params are JSON where they can be, and the last of one name counts", () => {
    const read = (...texts: string[]) => texts.reduce((before, text) => gatherParam(text, before), {});
    expect(read("a=1", 'b=["x"]', "c=x=y", "d=", 'e="1"', "f=true", "a=2")).toEqual({
      a: 2,
      b: ["x"],
      c: "x=y",
      d: "",
      e: "1",
      f: true,
    });
    for (const text of ["a", "=1"]) expect(() => gatherParam(text)).toThrow("name=value");
  });

  it("of tags are texts", () => {
    expect(gatherTag("b=x=y", gatherTag("a=1"))).toEqual({ a: "1", b: "x=y" });
    for (const text of ["a", "=1"]) expect(() => gatherTag(text)).toThrow("key=value");
  });
});

it("a strategy that says nothing is none, and zero says something", () => {
  expect(toStrategy({})).toBeUndefined();
  expect(toStrategy({ maxFailures: 0, pause: 0, maxRemovals: 0 })).toEqual({
    max_failures: 0,
    pause_seconds: 0,
    max_removals: 0,
  });
  expect(describeStrategy({})).toBe("all at once");
  expect(describeStrategy({ batch: "10%", group_by: "rack" })).toBe("batch 10%, group by rack");
});
