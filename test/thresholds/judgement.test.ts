import { describe, expect, it } from "vitest";
import {
  continued,
  countedOf,
  heldSince,
  isCrossed,
  isRecovered,
  toSeriesByMetric,
  watchedOf,
  watches,
  type Course,
  type Limits,
} from "../../lib/thresholds/judgement.ts";

const limits: Limits = {
  metric: "load.5",
  condition: "above",
  value: 8,
  recovery_value: 6,
  for_seconds: 30,
  recovery_seconds: 15,
};

/** What is said at each of some samples, fifteen seconds apart unless a time is given. */
function said(
  values: readonly (number | null | [value: number | null, at: number])[],
  given: Limits = limits,
): string[] {
  let course: Course | null = null;
  let isAlarm = false;
  let next = 0;
  return values.map((each) => {
    const [value, at] = Array.isArray(each) ? each : [each, next];
    next = at + 15;
    course = continued(course, given, { at: at * 1_000, value, gapMs: 60_000 });
    if (course === null) return "";
    if (!isAlarm && isCrossed(course, given)) return ((isAlarm = true), "crossed");
    if (isAlarm && isRecovered(course, given)) return ((isAlarm = false), "recovered");
    return "";
  });
}

describe("a series and a threshold", () => {
  it("is crossed when it was beyond the limit for the whole duration, and no sample earlier", () => {
    expect(said([9, 9, 9, 9])).toEqual(["", "", "crossed", ""]);
    expect(
      said([
        [9, 0],
        [9, 29.999],
        [9, 30],
      ]),
    ).toEqual(["", "", "crossed"]);
  });

  it("is at its limit, not beyond it", () => {
    expect(said([8, 8, 8, 8, 8])).toEqual(["", "", "", "", ""]);
  });

  it("begins anew where one sample was not beyond", () => {
    expect(said([9, 9, 8, 9, 9, 9])).toEqual(["", "", "", "", "", "crossed"]);
  });

  it("recovers at the recovery value, after its own duration, and may be crossed again", () => {
    expect(said([9, 9, 9, 7, 7, 7, 6, 6, 9, 9, 9])).toEqual([
      "",
      "",
      "crossed",
      "",
      "",
      "",
      "",
      "recovered",
      "",
      "",
      "crossed",
    ]);
  });

  it("does not recover between the two values, however long it stays there, nor by a short dip", () => {
    expect(said([9, 9, 9, 5, 7, 5, 9, 5, 7, 7, 7, 7])).toEqual([
      "",
      "",
      "crossed",
      ...Array<string>(9).fill(""),
    ]);
  });

  it("proves nothing by a stretch of which nothing is known", () => {
    expect(
      said([
        [9, 0],
        [9, 600],
        [9, 615],
        [9, 630],
      ]),
    ).toEqual(["", "", "", "crossed"]);
    const gone: [number, number][] = [
      [9, 0],
      [9, 15],
      [9, 30],
      [5, 45],
      [5, 700],
      [5, 715],
    ];
    expect(said(gone)).toEqual(["", "", "crossed", "", "", "recovered"]);
  });

  it("ends an alarm of what is not measured any more after five minutes, and not by samples of both kinds", () => {
    const missing = Array<null>(21).fill(null);
    expect(said([9, 9, 9, ...missing]).indexOf("recovered")).toBe(23);
    expect(said([9, 9, 9, ...Array<null>(20).fill(null), 5])).not.toContain("recovered");
  });

  it("ends an alarm of what is not measured any more no sooner than one that came back", () => {
    const missing = (seconds: number) => Array<null>(seconds / 15 + 1).fill(null);
    const patient = { ...limits, recovery_seconds: 600 };
    expect(said([9, 9, 9, ...missing(585)], patient)).not.toContain("recovered");
    expect(said([9, 9, 9, ...missing(600)], patient).at(-1)).toBe("recovered");
  });

  it("ends no alarm by samples without it, where between them nothing is known", () => {
    const gone: [number | null, number][] = [
      [9, 0],
      [9, 15],
      [9, 30],
      [null, 45],
      [null, 600],
    ];
    const on = (from: number, to: number): [null, number][] =>
      Array.from({ length: (to - from) / 15 }, (_, index) => [null, from + 15 * (index + 1)]);
    expect(said([...gone, ...on(600, 885)])).not.toContain("recovered");
    expect(said([...gone, ...on(600, 900)]).at(-1)).toBe("recovered");
  });

  it("is not changed by what single samples do not have, and begins anew after a gap", () => {
    expect(said([9, null, 9])).toEqual(["", "", "crossed"]);
    expect(said([9, null, null, null, 9])).toEqual(["", "", "", "", "crossed"]);
    expect(said([9, null, null, null, null, 9, 9, 9])).toEqual(["", "", "", "", "", "", "", "crossed"]);
    expect(said([9, null, null])).toEqual(["", "", ""]);
    expect(said([9, 9, 9, 5, null, 5])).toEqual(["", "", "crossed", "", "", "recovered"]);
    expect(said([null, null, 9, 9, 9])).toEqual(["", "", "", "", "crossed"]);
  });

  it("is crossed by one sample where no time has to pass, and is turned around by `below`", () => {
    const below: Limits = { ...limits, condition: "below", value: 2, recovery_value: 3 };
    expect(said([1, 2, 3, 3], { ...below, for_seconds: 0, recovery_seconds: 0 })).toEqual([
      "crossed",
      "",
      "recovered",
      "",
    ]);
  });
});

describe("the series that a threshold watches", () => {
  const row = {
    at: 0,
    values: {
      "cpu.percent": 1,
      "cpu.percent{state=idle}": 99,
      "mount.used_bytes{path=/}": 90,
      "mount.used_bytes{path=/var}": 10,
      "mount.total_bytes{path=/}": 100,
      "mount.total_bytes{path=/var}": 0,
      "mount.used_bytes_more": 5,
    },
  };

  const byMetric = toSeriesByMetric(row);

  it("is the one that it names, each of a metric, or the whole where the metric is measured as one", () => {
    expect(watchedOf({ metric: "mount.used_bytes{path=/}" }, row, byMetric)).toEqual([
      "mount.used_bytes{path=/}",
    ]);
    expect(watchedOf({ metric: "mount.used_bytes" }, row, byMetric)).toEqual([
      "mount.used_bytes{path=/}",
      "mount.used_bytes{path=/var}",
    ]);
    expect(watchedOf({ metric: "cpu.percent" }, row, byMetric)).toEqual(["cpu.percent"]);
    expect(watchedOf({ metric: "mount.used" }, row, byMetric)).toEqual([]);
    expect(watchedOf({ metric: "mount.used_bytes{path=/x}" }, row, byMetric)).toEqual([]);
    expect(watchedOf({ metric: "constructor" }, row, byMetric)).toEqual([]);
    expect(watches({ metric: "mount.used_bytes" }, "mount.used_bytes{path=/}")).toBe(true);
    expect(watches({ metric: "mount.used_bytes" }, "mount.used_bytes_more")).toBe(false);
    expect(watches({ metric: "a{b=c}" }, "a{b=d}")).toBe(false);
  });

  it("counts in percent of the series with the same labels, and not at all where that is missing or zero", () => {
    const share = { percent_of: "mount.total_bytes" };
    expect(countedOf(share, "mount.used_bytes{path=/}", row)).toBe(90);
    expect(countedOf(share, "mount.used_bytes{path=/var}", row)).toBeNull();
    expect(countedOf({ percent_of: "memory.total_bytes" }, "mount.used_bytes{path=/}", row)).toBeNull();
    expect(countedOf({ percent_of: "mount.total_bytes{path=/}" }, "cpu.percent", row)).toBe(1);
    expect(countedOf({}, "nothing", row)).toBeNull();
  });
});

describe("what stood before", () => {
  const points = (...values: number[]) => values.map((value, index) => ({ at: index * 15_000, value }));
  const since = (values: number[], before: number) =>
    heldSince(points(...values), { holds: (value) => value > 8, before, gapMs: 60_000 });

  it("held since the first of an unbroken row that ends now", () => {
    expect(since([9, 9, 9], 45_000)).toBe(0);
    expect(since([9, 8, 9, 9], 60_000)).toBe(30_000);
    expect(since([9, 9, 8], 45_000)).toBeNull();
    expect(since([], 45_000)).toBeNull();
    // Sixty seconds are no gap, and one more is.
    expect(since([9], 60_000)).toBe(0);
    expect(since([9], 60_001)).toBeNull();
  });
});
