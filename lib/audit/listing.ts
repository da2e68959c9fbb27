/** Reads pages of the audit log, in either direction. */
import type { z } from "zod";
import { toTimestamp } from "../clock.ts";
import { auditLog, type Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { eventTable, type EventType } from "../events.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { LogEntry, LogPage } from "../storage/storage.ts";
import type { AuditEvent, listAuditInput } from "./schemas.ts";

/** Events that one call looks at: a filter that passes nothing must not have it read the whole log. */
const mostRead = 10_000;

type ListAudit = z.output<typeof listAuditInput>;
type Filter = Omit<ListAudit, "limit" | "cursor">;

/** An event as the log has it: of whatever version wrote it, so that nothing is promised of its facts. */
type StoredEvent = Omit<AuditEvent, "sequence" | "recorded_at" | "hash">;

/** A page of the events that pass every filter. */
export async function listEvents(
  { storage }: Context,
  { limit = 50, cursor, ...filter }: ListAudit,
): Promise<Page<AuditEvent>> {
  const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
  const position = cursor === undefined ? null : toSequence(decodeCursor("audit", bound, cursor));
  const { head, base } = await storage.readLog(auditLog, { reverse: true, limit: 1 });
  const reverse = filter.order !== "asc";
  const range = reverse
    ? downFrom(Math.min(position ?? Infinity, head.sequence), base.sequence + 1)
    : upFrom(Math.max(position ?? 0, base.sequence + 1), head.sequence);
  const items: AuditEvent[] = [];
  for (let at: number | null = reverse ? range.newest : range.oldest; at !== null && range.has(at);) {
    const page: LogPage<StoredEvent> = await storage.readLog(auditLog, {
      reverse,
      limit: 200,
      from: reverse ? range.oldest : at,
      to: reverse ? at : range.newest,
      ...(filter.event_type !== undefined && { where: { event_type: filter.event_type } }),
    });
    for (const entry of page.entries) {
      if (!passes(entry.value, filter)) continue;
      if (items.length === limit) return { items, next_cursor: encodeCursor("audit", bound, entry.sequence) };
      items.push(toAuditEvent(entry));
    }
    at = page.next;
  }
  return { items, next_cursor: range.next === null ? null : encodeCursor("audit", bound, range.next) };
}

/** What one call looks at; `next` is where another goes on. */
interface Range {
  oldest: number;
  newest: number;
  next: number | null;
  has: (sequence: number) => boolean;
}

function downFrom(newest: number, end: number): Range {
  const oldest = Math.max(end, newest - mostRead + 1);
  return toRange(oldest, newest, oldest > end ? oldest - 1 : null);
}

function upFrom(oldest: number, end: number): Range {
  const newest = Math.min(end, oldest + mostRead - 1);
  return toRange(oldest, newest, newest < end ? newest + 1 : null);
}

function toRange(oldest: number, newest: number, next: number | null): Range {
  return { oldest, newest, next, has: (sequence) => sequence >= oldest && sequence <= newest };
}

function passes(event: Readonly<StoredEvent>, filter: Filter): boolean {
  const { category, actor, target, from, to, search } = filter;
  if (category !== undefined && eventTable[event.event_type as EventType]?.category !== category)
    return false;
  if (actor !== undefined && event.actor.id !== actor && event.actor.name !== actor) return false;
  if (target !== undefined && event.target?.id !== target && event.target?.name !== target) return false;
  const at = Date.parse(event.timestamp);
  if (from !== undefined && at < Date.parse(from)) return false;
  if (to !== undefined && at >= Date.parse(to)) return false;
  return search === undefined || event.summary.toLowerCase().includes(search.toLowerCase());
}

function toSequence(position: string | number): number {
  if (typeof position === "number" && Number.isSafeInteger(position)) return position;
  throw new OrchestratorError("CURSOR_INVALID");
}

function toAuditEvent({ value, sequence, at, hash }: LogEntry<StoredEvent>): AuditEvent {
  return { ...value, sequence, recorded_at: toTimestamp(at), hash: hash! };
}
