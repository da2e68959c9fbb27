/** Maintenance windows as callers and events name them. */
import { toTimestamp } from "../clock.ts";
import type { WindowFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import type { Cron } from "../schedules/cron.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { WindowDocument } from "./documents.ts";
import { occurrencesFrom } from "./occurrences.ts";
import type { MaintenanceWindow } from "./schemas.ts";

/** Occurrences that are shown. */
const shownOccurrences = 5;

/** The window as it stands at an instant. */
export function toWindow(
  { value, revision }: Pick<StoredDocument<WindowDocument>, "value" | "revision">,
  { cron, nowMs }: { cron: Cron; nowMs: number },
): MaintenanceWindow {
  const { until: _until, occurrence_ended_at: _ended, ...shown } = value;
  const occurrences = occurrencesFrom(cron, value, { atMs: nowMs, most: shownOccurrences });
  const [first] = occurrences;
  return {
    ...shown,
    status: first === undefined ? "ended" : first.from <= nowMs ? "active" : "scheduled",
    occurrences: occurrences.map(({ from, to }) => ({
      starts_at: toTimestamp(from),
      ends_at: toTimestamp(to),
    })),
    version: revision,
  };
}

/** The window as events name it. */
export function windowSubject({ id, reason }: Readonly<WindowDocument>): EventSubject {
  return { type: "maintenance", id, name: reason };
}

/** What every event of the window says. */
export function windowFacts({ mode, selector }: Readonly<WindowDocument>): WindowFacts {
  return { mode, selector: selector ?? null };
}
