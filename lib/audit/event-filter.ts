import type { z } from "zod";
import { eventTable, type EventType } from "../events.ts";
import type { listAuditInput } from "./schemas.ts";
import type { StoredEvent } from "./stored-event.ts";

/** What a query looks for; every part of it must hold. */
export type EventFilter = Omit<
  z.output<typeof listAuditInput>,
  "limit" | "cursor" | "order" | "from_sequence"
>;

/** Whether an event is what a query looks for. */
export function passes(event: Readonly<StoredEvent>, filter: EventFilter): boolean {
  const { event_type, category, actor, target, from, to, search } = filter;
  if (event_type !== undefined && event.event_type !== event_type) return false;
  if (category !== undefined && eventTable[event.event_type as EventType]?.category !== category)
    return false;
  if (actor !== undefined && event.actor.id !== actor && event.actor.name !== actor) return false;
  if (target !== undefined && event.target?.id !== target && event.target?.name !== target) return false;
  const at = Date.parse(event.timestamp);
  if (from !== undefined && at < Date.parse(from)) return false;
  if (to !== undefined && at >= Date.parse(to)) return false;
  return search === undefined || event.summary.toLowerCase().includes(search.toLowerCase());
}
