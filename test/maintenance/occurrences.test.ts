import { describe, expect, it } from "vitest";
import { cronerCron } from "fleetwright";
import { occurrenceAt, occurrencesFrom, type Timing } from "../../lib/maintenance/occurrences.ts";

const ms = (text: string): number => Date.parse(text);
const recurring = (cron: string, minutes: number, more: Partial<Timing> = {}, zone = "UTC"): Timing => ({
  starts_at: "2030-01-01T00:00:00Z",
  schedule: { cron, time_zone: zone, duration_minutes: minutes },
  ...more,
});
const next = (timing: Timing, at: string, most = 3): string[] =>
  occurrencesFrom(cronerCron, timing, { atMs: ms(at), most }).map(
    ({ from, to }) => `${new Date(from).toISOString()} ${(to - from) / 60_000}`,
  );
const goesOn = (timing: Timing, at: string): boolean => {
  const occurrence = occurrenceAt(cronerCron, timing, ms(at));
  return occurrence !== null && occurrence.from <= ms(at);
};

describe("a window without a schedule", () => {
  const once: Timing = { starts_at: "2030-01-01T10:00:00Z", ends_at: "2030-01-01T11:00:00Z" };

  it("goes on from its beginning up to its end, which is not in it", () => {
    const times = ["09:59:59.999", "10:00:00.000", "10:59:59.999", "11:00:00.000"];
    expect(times.map((time) => goesOn(once, `2030-01-01T${time}Z`))).toEqual([false, true, true, false]);
  });

  it("is told until it has ended", () => {
    expect(next(once, "2029-01-01T00:00:00Z")).toEqual(["2030-01-01T10:00:00.000Z 60"]);
    expect(next(once, "2030-01-01T11:00:00Z")).toEqual([]);
  });
});

describe("a window with a schedule", () => {
  it("goes on for its minutes from each due time", () => {
    const nightly = recurring("0 22 * * *", 120);
    const times = ["21:59:59.999", "22:00:00.000", "23:59:59.999"];
    expect(times.map((time) => goesOn(nightly, `2030-03-05T${time}Z`))).toEqual([false, true, true]);
    expect(goesOn(nightly, "2030-03-06T00:00:00Z")).toBe(false);
    expect(next(nightly, "2030-03-05T23:00:00Z", 2)).toEqual([
      "2030-03-05T22:00:00.000Z 120",
      "2030-03-06T22:00:00.000Z 120",
    ]);
  });

  it("begins with no occurrence before its beginning, though one would go on then", () => {
    const nightly = recurring("0 22 * * *", 240, { starts_at: "2030-01-01T23:00:00Z" });
    expect(goesOn(nightly, "2030-01-01T23:30:00Z")).toBe(false);
    expect(next(nightly, "2030-01-01T23:30:00Z", 1)).toEqual(["2030-01-02T22:00:00.000Z 240"]);
    const sharp = recurring("0 22 * * *", 240, { starts_at: "2030-01-01T22:00:00Z" });
    expect(goesOn(sharp, "2030-01-01T22:00:00Z")).toBe(true);
  });

  it("ends with its end, in the middle of an occurrence as well, and then for good", () => {
    const nightly = recurring("0 22 * * *", 120, { ends_at: "2030-01-02T23:00:00Z" });
    expect(next(nightly, "2030-01-01T00:00:00Z")).toEqual([
      "2030-01-01T22:00:00.000Z 120",
      "2030-01-02T22:00:00.000Z 60",
    ]);
    expect(next(nightly, "2030-01-02T23:00:00Z")).toEqual([]);
  });

  it.each([
    ["comes no more where its end is a due time", { ends_at: "2030-01-02T22:00:00Z" }, ["01 120"]],
    [
      "is whole where its end is that of an occurrence",
      { ends_at: "2030-01-03T00:00:00Z" },
      ["01 120", "02 120"],
    ],
    [
      "comes a minute long where it ends a minute later",
      { ends_at: "2030-01-02T22:01:00Z" },
      ["01 120", "02 1"],
    ],
    [
      "comes at once where its beginning is a due time",
      { starts_at: "2030-01-01T22:00:00Z" },
      ["01 120", "02 120"],
    ],
    [
      "comes a day later where it begins just after",
      { starts_at: "2030-01-01T22:00:00.001Z" },
      ["02 120", "03 120"],
    ],
    [
      "was ended with the occurrence of its due time",
      { occurrence_ended_at: "2030-01-01T22:00:00.000Z" },
      ["02 120", "03 120"],
    ],
    [
      "was ended just before a due time, and comes",
      { occurrence_ended_at: "2030-01-01T21:59:59.999Z" },
      ["01 120", "02 120"],
    ],
  ])("%s", (_, bounds, expected) => {
    const nightly = recurring("0 22 * * *", 120, bounds);
    const told = next(nightly, "2030-01-01T22:00:00Z", 2);
    expect(told).toEqual(expected.map((text) => `2030-01-${text.replace(" ", "T22:00:00.000Z ")}`));
  });

  it.each([
    ["its end", "2030-01-02T22:00:00Z", "2030-01-02T22:00:00Z"],
    ["the end of its last occurrence, which comes before", "2030-01-02T22:00:00Z", "2030-01-02T00:00:00Z"],
  ])("has ended at %s, and nothing of no length is told", (_, ends_at, at) => {
    expect(next(recurring("0 22 * * *", 120, { ends_at }), at)).toEqual([]);
  });

  it("passes over what had begun when an occurrence was ended early, and comes again", () => {
    const nightly = recurring("0 22 * * *", 120, { occurrence_ended_at: "2030-01-05T22:30:00.000Z" });
    expect(goesOn(nightly, "2030-01-05T22:40:00Z")).toBe(false);
    expect(next(nightly, "2030-01-05T22:40:00Z", 1)).toEqual(["2030-01-06T22:00:00.000Z 120"]);
  });

  it("of occurrences that overlap ends all that had begun", () => {
    const often = recurring("*/30 * * * *", 90, { occurrence_ended_at: "2030-01-05T10:45:00.000Z" });
    expect(goesOn(often, "2030-01-05T10:50:00Z")).toBe(false);
    expect(goesOn(often, "2030-01-05T11:00:00Z")).toBe(true);
  });

  it("goes on without a gap where occurrences overlap", () => {
    const often = recurring("*/30 * * * *", 31);
    for (let minute = 0; minute < 60; minute += 1)
      expect(goesOn(often, `2030-01-05T10:${String(minute).padStart(2, "0")}:30Z`)).toBe(true);
  });

  it("comes on 29 February in leap years alone", () => {
    expect(next(recurring("0 3 29 2 *", 60), "2030-01-01T00:00:00Z", 2)).toEqual([
      "2032-02-29T03:00:00.000Z 60",
      "2036-02-29T03:00:00.000Z 60",
    ]);
  });

  it("in the hour that summer time leaves out begins when the gap ends, and lasts as long as ever", () => {
    // On 2030-03-31 clocks in Berlin go from 02:00 to 03:00, which is 01:00 UTC.
    const nightly = recurring("30 2 * * *", 60, {}, "Europe/Berlin");
    expect(next(nightly, "2030-03-30T12:00:00Z", 2)).toEqual([
      "2030-03-31T01:00:00.000Z 60",
      "2030-04-01T00:30:00.000Z 60",
    ]);
    expect(goesOn(nightly, "2030-03-31T01:59:59Z")).toBe(true);
    expect(goesOn(nightly, "2030-03-31T02:00:00Z")).toBe(false);
  });

  it("in the hour that comes twice begins once, the first time", () => {
    // On 2030-10-27 clocks in Berlin go from 03:00 back to 02:00, which is 01:00 UTC.
    const nightly = recurring("30 2 * * *", 60, {}, "Europe/Berlin");
    expect(next(nightly, "2030-10-26T12:00:00Z", 2)).toEqual([
      "2030-10-27T00:30:00.000Z 60",
      "2030-10-28T01:30:00.000Z 60",
    ]);
    expect(goesOn(nightly, "2030-10-27T01:30:00Z")).toBe(false);
  });

  it("over a change to summer time counts the minutes that pass", () => {
    const night = recurring("0 22 * * *", 480, {}, "Europe/Berlin");
    expect(next(night, "2030-03-30T20:00:00Z", 1)).toEqual(["2030-03-30T21:00:00.000Z 480"]);
    expect(goesOn(night, "2030-03-31T04:59:59Z")).toBe(true);
    expect(goesOn(night, "2030-03-31T05:00:00Z")).toBe(false);
  });
});
