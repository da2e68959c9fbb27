/** Whether what a window says of when it is can be, and what ends it early. */
import { toTimestamp } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { Cron } from "../schedules/cron.ts";
import { isUnreadable, requireNext } from "../schedules/schedule.ts";
import { never, occurrenceAt, type Timing } from "./occurrences.ts";

type Window = Readonly<Timing>;

/**
 * The window as it is to be kept. An end that has passed ends one that goes on now, however wrong the clock of whoever says so; so it was
 * in force until now, whatever end it is given.
 *
 * @param given.before - The window before the change; null for a new one.
 * @param given.endOccurrence - Whether what goes on now is to be ended, and nothing that comes later.
 * @throws {OrchestratorError} `VALIDATION_FAILED`; `INVALID_TRANSITION` where an occurrence is to be ended and none goes on.
 */
export function settleTiming<Settled extends Timing>(
  cron: Cron,
  window: Readonly<Settled>,
  given: { before: Window | null; nowMs: number; endOccurrence: boolean },
): Settled & { until: number } {
  const { before, nowMs, endOccurrence } = given;
  const { starts_at, ends_at, schedule } = window;
  const startsMs = Date.parse(starts_at);
  const endsMs = ends_at === undefined ? never : Date.parse(ends_at);
  const isNew = before === null || timesOf(before) !== timesOf(window);
  const settled: Settled & { until: number } = { ...window, until: endsMs };
  if (!schedule && ends_at === undefined) throw invalid("ends_at", "is needed where there is no schedule");
  if (schedule && isNew)
    requireNext(cron, schedule, { path: "schedule", afterMs: Math.max(startsMs - 1, nowMs) });
  const wasActive = before !== null && isActive(cron, before, nowMs);
  if (endOccurrence && !wasActive)
    throw new OrchestratorError("INVALID_TRANSITION", {
      message: "No occurrence of the window goes on now.",
    });
  const isEnded = endsMs <= nowMs && (wasActive || (endsMs <= startsMs && isOpen(before, nowMs)));
  if (isEnded || (endOccurrence && !schedule)) {
    if (startsMs > nowMs) throw invalid("starts_at", "must not be in the future where the window ends now");
    return { ...window, ends_at: toTimestamp(nowMs), until: nowMs };
  }
  if (endsMs <= startsMs) throw invalid("ends_at", "must be after starts_at");
  if (endOccurrence) settled.occurrence_ended_at = toTimestamp(nowMs);
  if (!isNew) return settled;
  if (endsMs <= nowMs) throw invalid("ends_at", "has passed");
  // An occurrence of another schedule is another one.
  if (!endOccurrence) delete settled.occurrence_ended_at;
  if (occurrenceAt(cron, settled, nowMs) === null)
    throw invalid("schedule", "has no occurrence between starts_at and ends_at");
  return settled;
}

/** The end that is asked for. One that is so long from now is by the clock that ends it: the caller's may be another. */
export function endGiven<End extends string | null | undefined>(
  given: { ends_at?: End; ends_in_seconds?: number | undefined },
  nowMs: number,
): End | string | undefined {
  const { ends_at, ends_in_seconds } = given;
  if (ends_in_seconds === undefined) return ends_at;
  if (ends_at !== undefined) throw invalid("ends_in_seconds", "is given in place of ends_at, not with it");
  return toTimestamp(nowMs + ends_in_seconds * 1_000);
}

/** What says when it begins, and when it comes again. */
function timesOf({ starts_at, schedule }: Window): string {
  return JSON.stringify([
    Date.parse(starts_at),
    schedule?.cron,
    schedule?.time_zone,
    schedule?.duration_minutes,
  ]);
}

/** Whether it has begun and may come again, though nothing of it need go on. */
function isOpen(window: Window | null, nowMs: number): boolean {
  if (window === null || Date.parse(window.starts_at) > nowMs) return false;
  return window.ends_at === undefined || Date.parse(window.ends_at) > nowMs;
}

/** Not where its schedule can't be read: then it is in force nowhere, and may be given another. */
function isActive(cron: Cron, window: Window, nowMs: number): boolean {
  try {
    const occurrence = occurrenceAt(cron, window, nowMs);
    return occurrence !== null && occurrence.from <= nowMs;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return false;
  }
}

function invalid(field: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }] });
}
