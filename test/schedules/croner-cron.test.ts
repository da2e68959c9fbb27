import { describe, expect, it } from "vitest";
import { cronerCron } from "fleetwright";
import { requireNext, scheduleSchema } from "../../lib/schedules/schedule.ts";

/** The first due times after an instant. */
function dueAfter(
  cron: string,
  time_zone: string,
  { from, count }: { from: string; count: number },
): string[] {
  const due: string[] = [];
  for (let at: number | null = Date.parse(from); due.length < count;) {
    at = cronerCron.next({ cron, time_zone }, at);
    if (at === null) break;
    due.push(new Date(at).toISOString());
  }
  return due;
}

describe("a nickname", () => {
  const fields = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
  };
  // In Havana it is midnight twice, and in spring never.
  const rows = ["Europe/Berlin", "America/Havana"].flatMap((zone) =>
    Object.entries(fields).map(([nickname, same]) => [nickname, zone, same] as const),
  );
  it.each(rows)(
    "%s is due in %s when its fields are, over both changes of the clock",
    (nickname, zone, same) => {
      for (const from of ["2030-03-08T00:00:00Z", "2030-10-25T00:00:00Z"]) {
        const span = { from, count: nickname === "@hourly" ? 120 : 40 };
        const due = dueAfter(same, zone, span);
        expect(due.length).toBe(span.count);
        for (const name of [nickname, nickname.toUpperCase(), ` ${nickname} `])
          expect(dueAfter(name, zone, span)).toEqual(due);
      }
    },
  );
});

describe("a schedule", () => {
  it.each<[string, string, string, string, string[]]>([
    [
      "is due at its minute, never at the instant it is asked about",
      "30 4 * * *",
      "UTC",
      "2030-01-01T04:30:00Z",
      ["2030-01-02T04:30:00.000Z"],
    ],
    [
      "is due when the gap ends where summer time leaves its time out",
      "30 2 * * *",
      "Europe/Berlin",
      "2030-03-30T20:00:00Z",
      ["2030-03-31T01:00:00.000Z", "2030-04-01T00:30:00.000Z"],
    ],
    [
      "is due once, the first time, where its time comes twice",
      "30 2 * * *",
      "Europe/Berlin",
      "2030-10-26T20:00:00Z",
      ["2030-10-27T00:30:00.000Z", "2030-10-28T01:30:00.000Z"],
    ],
    [
      "of every hour is due every hour, also in the one that comes twice",
      "0 * * * *",
      "Europe/Berlin",
      "2030-10-26T23:30:00Z",
      ["2030-10-27T00:00:00.000Z", "2030-10-27T01:00:00.000Z", "2030-10-27T02:00:00.000Z"],
    ],
    ...[
      "*",
      "*/1",
      "0-23",
      "0-23/1",
      "?",
      "0-11,12-23",
      Array.from({ length: 24 }, (_, hour) => hour).join(),
    ].map((hours): [string, string, string, string, string[]] => [
      `of every hour, written ${hours}, is due every hour`,
      `30 ${hours} * * *`,
      "Europe/Berlin",
      "2030-10-26T23:50:00Z",
      ["2030-10-27T00:30:00.000Z", "2030-10-27T01:30:00.000Z", "2030-10-27T02:30:00.000Z"],
    ]),
    [
      "of every hour is not due at minutes of a half hour that is left out",
      "15 * * * *",
      "Australia/Lord_Howe",
      "2026-10-03T14:00:00Z",
      ["2026-10-03T14:45:00.000Z", "2026-10-03T16:15:00.000Z"],
    ],
    [
      "of every hour is due both times at minutes of a half hour that comes twice",
      "45 * * * *",
      "Australia/Lord_Howe",
      "2026-04-04T14:10:00Z",
      ["2026-04-04T14:45:00.000Z", "2026-04-04T15:15:00.000Z", "2026-04-04T16:15:00.000Z"],
    ],
    [
      "of all hours but one is due once where one of them comes twice",
      "30 1-23 * * *",
      "Europe/Berlin",
      "2030-10-26T23:50:00Z",
      ["2030-10-27T00:30:00.000Z", "2030-10-27T02:30:00.000Z"],
    ],
    [
      "of several hours is due when the gap ends, too, and once where more than one time is left out",
      "0,30 2,4 * * *",
      "Europe/Berlin",
      "2030-03-30T20:00:00Z",
      ["2030-03-31T01:00:00.000Z", "2030-03-31T02:00:00.000Z", "2030-03-31T02:30:00.000Z"],
    ],
    [
      "of several hours is due once, too, where one of them comes twice",
      "*/30 1-2 * * *",
      "Europe/Berlin",
      "2030-10-26T23:10:00Z",
      ["23:30:00.000Z", "00:00:00.000Z", "00:30:00.000Z"]
        .map((time, at) => `2030-10-${at === 0 ? "26" : "27"}T${time}`)
        .concat("2030-10-28T00:00:00.000Z"),
    ],
    [
      "passes over half an hour that comes twice",
      "15,45 1 * * *",
      "Australia/Lord_Howe",
      "2030-04-06T14:00:00Z",
      ["2030-04-06T14:15:00.000Z", "2030-04-06T14:45:00.000Z", "2030-04-07T14:45:00.000Z"],
    ],
    [
      "is due when a day ends that a country leaves out",
      "0 6,18 * * *",
      "Pacific/Apia",
      "2011-12-30T00:00:00Z",
      ["2011-12-30T04:00:00.000Z", "2011-12-30T10:00:00.000Z", "2011-12-30T16:00:00.000Z"],
    ],
    ["may be a nickname", "@daily", "America/New_York", "2030-01-01T00:00:00Z", ["2030-01-01T05:00:00.000Z"]],
  ])("%s", (_, cron, zone, from, expected) => {
    expect(dueAfter(cron, zone, { from, count: expected.length })).toEqual(expected);
  });

  it.each([
    ["* * * * * *", "UTC"],
    ["2030-01-01T00:00:00", "UTC"],
    ["* * * *", "UTC"],
    ["0 4 * * *", ""],
    ["0 4 * * *", "a/../b"],
  ])("that is written %s in %s is none", (cron, time_zone) => {
    expect(scheduleSchema.safeParse({ cron, time_zone }).success).toBe(false);
  });

  it.each([
    ["99 4 * * *", "UTC", ["schedule", "cron"]],
    ["0 0 30 2 *", "UTC", ["schedule", "cron"]],
    ["0 4 * * *", "Mars/Olympus", ["schedule", "time_zone"]],
  ])("that is %s in %s is refused, with its place", (cron, time_zone, path) => {
    const next = (): number => requireNext(cronerCron, { cron, time_zone }, { path: "schedule", afterMs: 0 });
    expect(next).toThrow(
      expect.objectContaining({ code: "VALIDATION_FAILED", issues: [expect.objectContaining({ path })] }),
    );
  });

  it("may be in each time zone that there is, by any of its names", () => {
    const others = [
      "UTC",
      "GMT+0",
      "GMT-0",
      "Etc/GMT+12",
      "Etc/GMT-14",
      "EST5EDT",
      "America/Port-au-Prince",
      "europe/berlin",
    ];
    const refused = [...Intl.supportedValuesOf("timeZone"), ...others].filter((time_zone) => {
      const schedule = { cron: "0 4 * * *", time_zone };
      return !scheduleSchema.safeParse(schedule).success || cronerCron.next(schedule, 0) === null;
    });
    expect(refused).toEqual([]);
  });

  it("is in UTC where it says nothing else", () => {
    expect(scheduleSchema.parse({ cron: "@hourly" })).toEqual({ cron: "@hourly", time_zone: "UTC" });
  });
});
