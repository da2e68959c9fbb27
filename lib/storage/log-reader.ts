import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";
import { checkLimit, fieldAt } from "./collection.ts";
import type { LogState } from "./database.ts";
import type { LogEntry, LogPage, LogQuery } from "./storage.ts";

/** Where the entries of a log are. */
export interface LogEntries {
  /** Entries in order, without a gap, of which one has the sequence; empty when it is not kept any more. */
  blockAt(sequence: number): Promise<readonly LogEntry[]>;
}

/** Reads a stretch of a log as its port method promises, from wherever its entries are. */
export async function readLogPage(state: LogState, entries: LogEntries, query: LogQuery): Promise<LogPage> {
  const { reverse = false, limit = 50 } = query;
  checkLimit(limit);
  const places = { head: { ...state.head }, base: { ...state.base } };
  const oldest = Math.max(query.from ?? 1, places.base.sequence + 1);
  const newest = Math.min(query.to ?? Infinity, places.head.sequence);
  const matches = matcherOf(query.where ?? {});
  const found: LogEntry[] = [];
  const step = reverse ? -1 : 1;
  let block: readonly LogEntry[] = [];
  for (let at = reverse ? newest : oldest; at >= oldest && at <= newest; at += step) {
    let entry = entryIn(block, at);
    if (entry === undefined) {
      block = await entries.blockAt(at);
      entry = entryIn(block, at);
    }
    // Trimmed while it was read: what is left is still read in order.
    if (entry === undefined || !matches(entry)) continue;
    if (found.length === limit) return { entries: found, next: at, ...places };
    found.push(entry);
  }
  return { entries: found, next: null, ...places };
}

function entryIn(block: readonly LogEntry[], sequence: number): LogEntry | undefined {
  const first = block[0];
  return first === undefined ? undefined : block[sequence - first.sequence];
}

function matcherOf(where: Record<string, Json>): (entry: LogEntry) => boolean {
  const wanted = Object.entries(where).map(([path, value]) => ({ path: path.split("."), value }));
  return ({ value }) => wanted.every((field) => isSame(fieldAt(value, field.path), field.value));
}

function isSame(a: Json | undefined, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  return canonicalJson(a) === canonicalJson(b);
}
