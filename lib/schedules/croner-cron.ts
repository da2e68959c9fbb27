import { Cron as Croner } from "croner";
import { OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { dayMs, hourMs } from "../internal/durations.ts";
import type { Cron, Schedule } from "./cron.ts";

/** {@link Cron} by the package croner. */
export const cronerCron: Cron = {
  next(schedule, afterMs) {
    const isOfEveryHour = namesEveryHour(schedule);
    const croner = parse(schedule, isOfEveryHour ? schedule.time_zone : "UTC");
    try {
      return isOfEveryHour ? next(croner, afterMs) : nextOnce(croner, schedule, afterMs);
    } catch (cause) {
      // The fields are checked when they are parsed, the time zone only when it is needed.
      throw refused("time_zone", `${schedule.time_zone} is not a known time zone`, cause);
    }
  },
};

/** Paused, so that it counts and never sets a timer. */
function parse({ cron }: Schedule, timezone: string): Croner {
  try {
    return new Croner(cron, { paused: true, timezone, mode: "5-part" });
  } catch (cause) {
    throw refused("cron", "is not a schedule of five fields", cause);
  }
}

function refused(field: keyof Schedule, message: string, cause: unknown): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }], cause });
}

function next(croner: Croner, afterMs: number): number | null {
  return croner.nextRun(new Date(afterMs))?.getTime() ?? null;
}

/** Fields of hours, and whether they name each of them. */
const everyHour = new BoundedCache<boolean>({ entries: 32 });

/** Whether no hour that is left out or comes twice is another than the rest, however the hours are written. */
function namesEveryHour({ cron }: Schedule): boolean {
  const [first, hours] = cron.trim().split(/\s+/);
  if (hours === undefined) return first?.toLowerCase() === "@hourly";
  const known = everyHour.get(hours);
  if (known !== undefined) return known;
  const daily = parse({ cron: `0 ${hours} * * *`, time_zone: "UTC" }, "UTC");
  const isEvery = daily.nextRuns(24, new Date(-1)).at(-1)?.getTime() === 23 * hourMs;
  everyHour.set(hours, isEvery);
  return isEvery;
}

/**
 * The next due time of a schedule that names hours. Croner itself brings a time that is left out, or once one that comes twice, where
 * a schedule has a single time a day, and no other: so it counts on the clock on the wall, as if that never changed.
 *
 * @param wall - Reads the fields as if they were in UTC.
 */
function nextOnce(wall: Croner, { time_zone }: Schedule, afterMs: number): number | null {
  const zone = zoneOf(time_zone);
  let at: number | null = afterMs + offsetMs(zone, afterMs);
  // In an hour that comes a second time all of it was due before.
  while ((at = next(wall, at)) !== null) {
    const dueMs = instantOf(zone, at);
    if (dueMs > afterMs) return dueMs;
  }
  return null;
}

/** To make one takes longer than all else. */
const zones = new BoundedCache<Intl.DateTimeFormat>({ entries: 32 });

function zoneOf(name: string): Intl.DateTimeFormat {
  const known = zones.get(name);
  if (known) return known;
  const zone = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  zones.set(name, zone);
  return zone;
}

/** The first instant at which the clock on the wall shows a time; where it never does, the one at which it jumps past it. */
function instantOf(zone: Intl.DateTimeFormat, wallMs: number): number {
  const offsets = [offsetMs(zone, wallMs - dayMs), offsetMs(zone, wallMs + dayMs)];
  let [before, after] = [wallMs - Math.max(...offsets), wallMs - Math.min(...offsets)];
  const shows = (ms: number): number => ms + offsetMs(zone, ms);
  for (const ms of [before, after]) if (shows(ms) === wallMs) return ms;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (shows(middle) > wallMs) after = middle;
    else before = middle;
  }
  return after;
}

/** How far the clock on the wall is ahead of UTC at an instant. */
function offsetMs(zone: Intl.DateTimeFormat, ms: number): number {
  const name = zone.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value;
  const [, sign, hours = 0, minutes = 0, seconds = 0] =
    /([+-])(\d+):(\d+)(?::(\d+))?$/.exec(name ?? "") ?? [];
  const size = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  return sign === "-" ? -size : size;
}
