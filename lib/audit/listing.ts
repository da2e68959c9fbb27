/** Reads pages of the audit log, in either direction. */
import type { z } from "zod";
import { toTimestamp } from "../clock.ts";
import { auditLog, type Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { LogEntry, LogPage } from "../storage/storage.ts";
import { blockOf, blockSearch, rangeOf, readBlocks } from "./block-index.ts";
import { passes, type EventFilter } from "./event-filter.ts";
import type { AuditEvent, listAuditInput } from "./schemas.ts";
import type { StoredEvent } from "./stored-event.ts";

/**
 * What one call looks at, events and entries of the index together: a filter that passes nothing must not have it read the whole log.
 */
const mostRead = 10_000;

/** Entries of the index that are read in one go. */
const blocksAtOnce = 100;

/** Events of which so many stand between two others are read with them. */
const near = 32;

/** Events that are read in one go where a filter may pass many or few of them. */
const filteredAtOnce = 200;

type ListAudit = z.output<typeof listAuditInput>;

/** Sequences, both inclusive. */
interface Stretch {
  oldest: number;
  newest: number;
}

/** A page of the events that pass every filter. */
export async function listEvents(
  context: Context,
  { limit = 50, cursor, ...asked }: ListAudit,
): Promise<Page<AuditEvent>> {
  const bound = JSON.parse(JSON.stringify(asked)) as JsonObject;
  const { order = "desc", from_sequence = 1, ...filter } = asked;
  const position = cursor === undefined ? null : toSequence(decodeCursor("audit", bound, cursor));
  const { head, base } = await context.storage.readLog(auditLog, { reverse: true, limit: 1 });
  const reverse = order === "desc";
  const oldest = Math.max(from_sequence, base.sequence + 1);
  const whole = reverse
    ? { oldest, newest: Math.min(position ?? Infinity, head.sequence) }
    : { oldest: Math.max(position ?? 0, oldest), newest: head.sequence };
  const items: AuditEvent[] = [];
  const isWanted = (entry: LogEntry<StoredEvent>): boolean => passes(entry.value, filter);
  for await (const step of stepsThrough(context, whole, { reverse, filter })) {
    if ("goOn" in step) return { items, next_cursor: encodeCursor("audit", bound, step.goOn) };
    for await (const entry of entriesOf(context, step, { reverse, filter, limit })) {
      if (!isWanted(entry)) continue;
      if (items.length === limit) return { items, next_cursor: encodeCursor("audit", bound, entry.sequence) };
      items.push(toAuditEvent(entry));
    }
  }
  return { items, next_cursor: null };
}

/** What may hold what is looked for, as stretches of the log; or where another call goes on. */
async function* stepsThrough(
  { storage, crypto }: Context,
  { oldest, newest }: Stretch,
  { reverse, filter }: { reverse: boolean; filter: EventFilter },
): AsyncGenerator<Stretch | { goOn: number }> {
  if (oldest > newest) return;
  const search = blockSearch(crypto, filter);
  const isIndexed = Object.entries(filter).some(([name, value]) => name !== "search" && value !== undefined);
  const [first, last] = [blockOf(oldest), blockOf(newest)];
  let read = 0;
  for (let done = 0; done <= last - first; done += blocksAtOnce) {
    const count = Math.min(blocksAtOnce, last - first + 1 - done);
    const blocks = Array.from({ length: count }, (_, n) => (reverse ? last - done - n : first + done + n));
    const entries = isIndexed ? await readBlocks(storage, blocks) : [];
    for (const [n, block] of blocks.entries()) {
      const { from, to } = rangeOf(block);
      const within = { oldest: Math.max(from, oldest), newest: Math.min(to, newest) };
      const places = entries[n] ? search(entries[n]) : null;
      const stretches = places === null ? [within] : toStretches(places, { from, within });
      if (stretches.length === 0) read += 1;
      for (const stretch of reverse ? stretches.toReversed() : stretches) {
        read += stretch.newest - stretch.oldest + 1;
        if (read > mostRead) return yield { goOn: reverse ? stretch.newest : stretch.oldest };
        yield stretch;
      }
      if (read >= mostRead && block !== (reverse ? first : last))
        return yield { goOn: reverse ? within.oldest - 1 : within.newest + 1 };
    }
  }
}

/** Places of a block as stretches of the log. Those that are near each other are one, which costs less than reading twice. */
function toStretches(
  places: readonly number[],
  { from, within }: { from: number; within: Stretch },
): Stretch[] {
  const stretches: Stretch[] = [];
  for (const place of places) {
    const sequence = from + place;
    if (sequence < within.oldest || sequence > within.newest) continue;
    const last = stretches.at(-1);
    if (last && sequence - last.newest <= near) last.newest = sequence;
    else stretches.push({ oldest: sequence, newest: sequence });
  }
  return stretches;
}

/** The entries of a stretch, in either direction. */
async function* entriesOf(
  { storage }: Context,
  { oldest, newest }: Stretch,
  { reverse, filter, limit }: { reverse: boolean; filter: EventFilter; limit: number },
): AsyncGenerator<LogEntry<StoredEvent>> {
  const { event_type } = filter;
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  let [from, to] = [oldest, newest];
  for (;;) {
    const page: LogPage<StoredEvent> = await storage.readLog(auditLog, {
      reverse,
      from,
      to,
      // One more than is shown tells whether the list goes on.
      limit: isFiltered ? filteredAtOnce : limit + 1,
      ...(event_type !== undefined && { where: { event_type } }),
    });
    yield* page.entries;
    if (page.next === null) return;
    if (reverse) to = page.next;
    else from = page.next;
  }
}

function toSequence(position: string | number): number {
  if (typeof position === "number" && Number.isSafeInteger(position)) return position;
  throw new OrchestratorError("CURSOR_INVALID");
}

function toAuditEvent({ value, sequence, at, hash }: LogEntry<StoredEvent>): AuditEvent {
  return { ...value, sequence, recorded_at: toTimestamp(at), hash: hash! };
}
