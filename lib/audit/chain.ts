/** The chain of the audit log, a page at a time: whether the events behind a place follow it. */
import { auditLog, type Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../json.ts";
import type { LogEntry, LogPage } from "../storage/storage.ts";

/** An event of the log: all up to it is known to fit. */
export interface Place {
  sequence: number;
  /** Hex. */
  hash: string;
}

interface PageOptions {
  /** Events that are read. */
  limit: number;
  /** A place that was found to fit before: an event with another hash in its place does not. */
  known?: Place | undefined;
  /** Told of each event that fits. */
  each?: (place: Place) => void;
}

/** What one page says. */
export interface ChainStep {
  /** The last event that fits. */
  place: Place;
  /** The first event that does not fit; null where all do. */
  bad: number | null;
  /** Whether the log ends here. */
  isEnd: boolean;
}

/** Looks at the events behind a place. */
export async function checkPage(
  context: Context,
  after: Place,
  { limit, known, each }: PageOptions,
): Promise<ChainStep> {
  let place = after;
  const bad = (sequence: number): ChainStep => ({ place, bad: sequence, isEnd: true });
  const page = await readPage(context, { from: after.sequence + 1, limit });
  if ("badSequence" in page) return bad(page.badSequence);
  for (const entry of page.entries) {
    const expected = place.sequence + 1;
    if (entry.sequence !== expected || entry.hash !== hashOf(context, place.hash, entry))
      return bad(Math.min(expected, entry.sequence));
    if (entry.sequence === known?.sequence && entry.hash !== known.hash) return bad(entry.sequence);
    place = { sequence: entry.sequence, hash: entry.hash! };
    each?.(place);
  }
  if (page.next !== null) return { place, bad: null, isEnd: false };
  const { head } = page;
  if (head.sequence !== place.sequence) return bad(Math.min(head.sequence, place.sequence) + 1);
  // What the storage has as the newest entry was written with the documents: a whole chain of other entries is none.
  return head.hash === place.hash ? { place, bad: null, isEnd: true } : bad(place.sequence);
}

/** Events as they are stored, or the first of them that can't be read any more: that is what verifying is there to find. */
export async function readPage(
  { storage }: Context,
  query: { from: number; limit: number },
): Promise<LogPage | { badSequence: number }> {
  try {
    return await storage.readLog(auditLog, query);
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
    return { badSequence: Number(error.details["sequence"] ?? query.from) };
  }
}

function hashOf({ crypto }: Context, previous: string, { sequence, at, value }: LogEntry): string {
  const body = canonicalJson({ sequence, at, value: value as JsonObject });
  return toHex(crypto.sha256(toUtf8(previous + body)));
}
