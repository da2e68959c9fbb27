/** Daily times around each kind of change of clocks that there is, beside what a calendar shows minute by minute. */
import { expect, test } from "vitest";
import { cronerCron } from "fleetwright";

const [quarterMs, hourMs, dayMs] = [15 * 60_000, 3_600_000, 86_400_000];

/** What the clock on the wall shows, as if it were UTC. */
function createWall(timeZone: string): (ms: number) => number {
  const fields = {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  } as const;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...fields });
  return (ms) => {
    const shown = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const [year, month, day, hour, minute, second] = (
      ["year", "month", "day", "hour", "minute", "second"] as const
    ).map((each) => shown.get(each)!);
    return Date.UTC(year!, month! - 1, day, hour, minute, second);
  };
}

interface Change {
  zone: string;
  /** The first instant at which the clock shows another offset. */
  at: number;
}

/** One change of each kind: by how much clocks are ahead before and after it, and when it comes on the wall. */
function changesOf(year: number): Change[] {
  const kinds = new Map<string, Change>();
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const wall = createWall(zone);
    const offset = (ms: number): number => wall(ms) - ms;
    for (let week = Date.UTC(year, 0, 1); week < Date.UTC(year + 1, 0, 1); week += 7 * dayMs) {
      if (offset(week) === offset(week + 7 * dayMs)) continue;
      let day = week;
      while (offset(day + dayMs) === offset(week)) day += dayMs;
      let at = day + quarterMs;
      while (offset(at) === offset(day)) at += quarterMs;
      const kind = [offset(day), offset(at), wall(at) % dayMs].join(" ");
      if (!kinds.has(kind)) kinds.set(kind, { zone, at });
    }
  }
  return [...kinds.values()];
}

/** When each quarter of a day is due around a change: once a date, at first, or when the clock jumps past it. */
function dueAround({ zone }: Change, [from, to]: [number, number]): Map<number, number[]> {
  const wall = createWall(zone);
  const shown = new Set<number>();
  const due = new Map<number, number[]>();
  const begin = from - 12 * hourMs;
  for (let [ms, before] = [begin, wall(begin)]; ms <= to; ms += quarterMs) {
    const now = wall(ms);
    // Every quarter that the clock came to or jumped past since the last one.
    for (let each = before + quarterMs; each <= now; each += quarterMs) {
      if (ms > from && !shown.has(each)) {
        const time = each % dayMs;
        due.set(time, [...(due.get(time) ?? []), ms]);
      }
      shown.add(each);
    }
    before = now;
  }
  return due;
}

test("every quarter of a day is due once a day, whatever the clocks of a year do", () => {
  const changes = changesOf(2026);
  expect(changes.length).toBeGreaterThan(20);
  for (const change of changes) {
    const { zone, at } = change;
    const range: [number, number] = [at - 30 * hourMs, at + 30 * hourMs];
    const expected = dueAround(change, range);
    for (let time = 0; time < dayMs; time += quarterMs) {
      const cron = `${(time % hourMs) / 60_000} ${Math.floor(time / hourMs)} * * *`;
      const due: number[] = [];
      let next = cronerCron.next({ cron, time_zone: zone }, range[0]);
      while (next !== null && next <= range[1]) {
        due.push(next);
        next = cronerCron.next({ cron, time_zone: zone }, next);
      }
      const told = (all: number[]): string[] => [zone, cron, ...all.map((ms) => new Date(ms).toISOString())];
      expect(told(due)).toEqual(told(expected.get(time)!));
    }
  }
});
