/** Maintenance windows as callers and events name them. */
import { toTimestamp } from "../clock.ts";
import type { WindowFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import type { Cron } from "../schedules/cron.ts";
import { isUnreadable } from "../schedules/schedule.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { WindowDocument } from "./documents.ts";
import { occurrencesFrom, type Occurrence } from "./occurrences.ts";
import type { MaintenanceWindow } from "./schemas.ts";

/** Occurrences that are shown. */
const shownOccurrences = 5;

/** The window as it stands at an instant. */
export function toWindow(
  { value, revision }: Pick<StoredDocument<WindowDocument>, "value" | "revision">,
  { cron, nowMs }: { cron: Cron; nowMs: number },
): MaintenanceWindow {
  const { until: _until, occurrence_ended_at: _ended, ...shown } = value;
  const { occurrences, isReadable } = occurrencesOf(cron, value, nowMs);
  const [first] = occurrences;
  const isOver = isReadable || value.until <= nowMs;
  return {
    ...shown,
    status:
      first === undefined ? (isOver ? "ended" : "scheduled") : first.from <= nowMs ? "active" : "scheduled",
    occurrences: occurrences.map(({ from, to }) => ({
      starts_at: toTimestamp(from),
      ends_at: toTimestamp(to),
    })),
    version: revision,
  };
}

/** None of a schedule that can't be read here, e.g. for want of its time zone: such a window is to be seen and changed all the same. */
function occurrencesOf(
  cron: Cron,
  window: Readonly<WindowDocument>,
  nowMs: number,
): { occurrences: Occurrence[]; isReadable: boolean } {
  try {
    const occurrences = occurrencesFrom(cron, window, { atMs: nowMs, most: shownOccurrences });
    return { occurrences, isReadable: true };
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return { occurrences: [], isReadable: false };
  }
}

/** The window as events name it. */
export function windowSubject({ id, reason }: Readonly<WindowDocument>): EventSubject {
  return { type: "maintenance", id, name: reason };
}

/** What every event of the window says. */
export function windowFacts({ mode, selector }: Readonly<WindowDocument>): WindowFacts {
  return { mode, selector: selector ?? null };
}
