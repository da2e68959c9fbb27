/**
 * When a window is active, worked out from what it says: nothing of this is kept, so there is nothing to go stale.
 *
 * An occurrence of a schedule begins at a due time of its cron and lasts for its minutes as they pass, whatever a change to summer time
 * does to the wall clock meanwhile; none begins before the window does or goes on after it ends.
 */
import type { Cron } from "../schedules/cron.ts";
import type { WindowDocument } from "./documents.ts";

/** A stretch of time, milliseconds since 1970; the end is not in it. */
export interface Occurrence {
  from: number;
  to: number;
}

/** What a window says of when it is. */
export type Timing = Pick<WindowDocument, "starts_at" | "ends_at" | "schedule" | "occurrence_ended_at">;

/** Every instant there is comes before it. */
export const never = Number.MAX_SAFE_INTEGER;

/**
 * The occurrence that goes on at an instant, the first to begin where several do; else the next. Null where none comes any more.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` naming `cron` or `time_zone` where the schedule can't be read.
 */
export function occurrenceAt(cron: Cron, timing: Timing, atMs: number): Occurrence | null {
  const startsMs = Date.parse(timing.starts_at);
  const endsMs = timing.ends_at === undefined ? never : Date.parse(timing.ends_at);
  if (atMs >= endsMs) return null;
  if (!timing.schedule) return { from: startsMs, to: endsMs };
  const lengthMs = timing.schedule.duration_minutes * 60_000;
  const overMs = timing.occurrence_ended_at === undefined ? 0 : Date.parse(timing.occurrence_ended_at);
  return startingAfter(cron, timing, Math.max(atMs - lengthMs, startsMs - 1, overMs));
}

/** The occurrence that goes on at an instant, where one does, and those that follow, up to a number. */
export function occurrencesFrom(
  cron: Cron,
  timing: Timing,
  { atMs, most }: { atMs: number; most: number },
): Occurrence[] {
  const found: Occurrence[] = [];
  let next = occurrenceAt(cron, timing, atMs);
  while (next !== null && found.length < most) {
    found.push(next);
    next = timing.schedule ? startingAfter(cron, timing, next.from) : null;
  }
  return found;
}

function startingAfter(cron: Cron, { schedule, ends_at }: Timing, afterMs: number): Occurrence | null {
  const endsMs = ends_at === undefined ? never : Date.parse(ends_at);
  const from = cron.next(schedule!, afterMs);
  if (from === null || from >= endsMs) return null;
  return { from, to: Math.min(from + schedule!.duration_minutes * 60_000, endsMs) };
}
