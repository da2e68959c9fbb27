/** When maintenance windows are, judged by what the server judges them with. */
import type { JsonObject } from "../json.ts";
import { occurrenceAt, type Timing } from "../maintenance/occurrences.ts";
import { createWindowInput } from "../maintenance/schemas.ts";
import { settleTiming } from "../maintenance/timing.ts";
import { cronerCron } from "../schedules/croner-cron.ts";
import { refusalsOf, type Refusal } from "./folder-faults.ts";

const timesInput = createWindowInput.pick({ starts_at: true, ends_at: true, schedule: true }).strip();

/**
 * What is refused of the times of a window. Without what is there it is judged as of its own beginning: what was right once stays right
 * in a folder. It says nothing of times that have faults of their own.
 *
 * @param before - The window as it is; absent = as of its beginning.
 * @param nowMs - The time, milliseconds since 1970.
 */
export function findTimingRefusals(window: JsonObject, before?: JsonObject, nowMs?: number): Refusal[] {
  const after = toTiming(window, before);
  if (after === null) return [];
  const given = {
    before: before ? toTiming(before) : null,
    nowMs: nowMs ?? Date.parse(after.starts_at),
    endOccurrence: false,
  };
  return refusalsOf(() => settleTiming(cronerCron, after, given));
}

/** Whether nothing of a window comes any more, so that it can't be made. */
export function isOver(window: JsonObject, nowMs: number): boolean {
  const timing = toTiming(window);
  let isLast = false;
  const refusals = refusalsOf(() => {
    isLast = timing !== null && occurrenceAt(cronerCron, timing, nowMs) === null;
  });
  return isLast && refusals.length === 0;
}

/** Null where the times can't be read. A beginning that is not said is that of what is there, or long ago. */
function toTiming(window: JsonObject, before?: JsonObject): Timing | null {
  const { success, data } = timesInput.safeParse(window);
  if (!success) return null;
  const { starts_at, ends_at, schedule } = data;
  const begin = starts_at ?? before?.["starts_at"];
  return {
    starts_at: typeof begin === "string" ? begin : new Date(0).toISOString(),
    ...(ends_at !== undefined && { ends_at }),
    ...(schedule && { schedule }),
  };
}
