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

/** So many due times are looked at each way for what is joined: a schedule may have no gap for years. */
const mostJoined = 300;

/**
 * The occurrence that goes on at an instant; else the next. Null where none comes any more. What overlaps, or begins when another ends,
 * is one occurrence: it is active without a break. Where more than {@link mostJoined} do, it goes as far as these; when they are over,
 * more is seen. Its beginning is that of the window then.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` naming `cron` or `time_zone` where the schedule can't be read.
 */
export function occurrenceAt(cron: Cron, timing: Timing, atMs: number): Occurrence | null {
  return occurrencesFrom(cron, timing, { atMs, most: 1 })[0] ?? null;
}

/** The occurrence that goes on at an instant, where one does, and those that follow, up to a number. */
export function occurrencesFrom(
  cron: Cron,
  timing: Timing,
  { atMs, most }: { atMs: number; most: number },
): Occurrence[] {
  const startsMs = Date.parse(timing.starts_at);
  const endsMs = timing.ends_at === undefined ? never : Date.parse(timing.ends_at);
  if (atMs >= endsMs) return [];
  if (!timing.schedule) return [{ from: startsMs, to: endsMs }];
  const { occurrence_ended_at, ...open } = timing;
  const endedMs = occurrence_ended_at === undefined ? atMs : Date.parse(occurrence_ended_at);
  const after = comingFrom(cron, timing, { atMs, most });
  if (endedMs <= atMs) return after;
  // It was ended later, or by a clock that was ahead: until there it goes on, and what is over by then is not that which was ended.
  const before = comingFrom(cron, open, { atMs, most }).filter(
    ({ from, to }) => to <= endedMs || from <= atMs,
  );
  return [...before.map(({ from, to }) => ({ from, to: Math.min(to, endedMs) })), ...after].slice(0, most);
}

/** The same for one with a schedule, without what had begun when an occurrence was ended. */
function comingFrom(
  cron: Cron,
  timing: Timing,
  { atMs, most }: { atMs: number; most: number },
): Occurrence[] {
  const lengthMs = timing.schedule!.duration_minutes * 60_000;
  const found: Occurrence[] = [];
  let next = startingAfter(cron, timing, Math.max(atMs - lengthMs, leastOf(timing)));
  while (next !== null && found.length < most) {
    const from = next.from <= atMs ? beginningOf(cron, timing, next.from) : next.from;
    const joined = joinedFrom(cron, timing, next);
    found.push({ from, to: joined.to });
    next = joined.next;
  }
  return found;
}

/** When what goes on with a due time began: with an earlier one where that lasts until it. */
function beginningOf(cron: Cron, timing: Timing, dueMs: number): number {
  const lengthMs = timing.schedule!.duration_minutes * 60_000;
  const least = leastOf(timing);
  let from = dueMs;
  for (let looked = 0; looked < mostJoined; looked += 1) {
    const earlier = startingAfter(cron, timing, Math.max(from - lengthMs - 1, least));
    if (earlier === null || earlier.from >= from) return from;
    from = earlier.from;
  }
  return startingAfter(cron, timing, least)?.from ?? from;
}

/** When what goes on with an occurrence ends, and what comes after; nothing where there may be more of it. */
function joinedFrom(cron: Cron, timing: Timing, first: Occurrence): { to: number; next: Occurrence | null } {
  let last = first;
  for (let looked = 0; looked < mostJoined; looked += 1) {
    const next = startingAfter(cron, timing, last.from);
    if (next === null || next.from > last.to) return { to: last.to, next };
    last = next;
  }
  return { to: last.to, next: null };
}

/** Due times count after it: they are in the window, and had not begun when an occurrence was ended early. */
function leastOf({ starts_at, occurrence_ended_at }: Timing): number {
  const overMs = occurrence_ended_at === undefined ? 0 : Date.parse(occurrence_ended_at);
  return Math.max(Date.parse(starts_at) - 1, overMs);
}

function startingAfter(cron: Cron, { schedule, ends_at }: Timing, afterMs: number): Occurrence | null {
  const endsMs = ends_at === undefined ? never : Date.parse(ends_at);
  const from = cron.next(schedule!, afterMs);
  if (from === null || from >= endsMs) return null;
  return { from, to: Math.min(from + schedule!.duration_minutes * 60_000, endsMs) };
}
