/** How records of operations, and of what is made of them, are removed when they are old: in rounds of short slices. */
import type { Context } from "../context.ts";
import { leastIdAt } from "../ids.ts";
import { dayMs } from "../internal/durations.ts";
import { eachPage } from "../storage/each-document.ts";
import type { StoredDocument } from "../storage/storage.ts";
import { keepRounds } from "./rounds.ts";

const roundMs = 3_600_000;
/** Between two slices: a hundred records in a tenth of a second leave time for all else. */
const pauseMs = 100;
/** Records that are looked at in one go. */
const atOnce = 100;

/**
 * Does a round now and every hour, or as often as is said. The function returned ends it.
 *
 * @param what - Names the records, in what is logged where a round fails.
 * @param round - Yields after each slice.
 */
export function keepRetention(
  { clock, logger }: Context,
  what: string,
  { round, everyMs = roundMs }: { round: () => AsyncGenerator<void>; everyMs?: number },
): () => Promise<void> {
  const failed = (error: unknown): void => logger.error(`Old ${what} were not removed.`, { error });
  return keepRounds({ clock, everyMs, pauseMs, round, failed });
}

/** The time by which what is old is removed, and before what a record must have ended; milliseconds since 1970. */
export async function retentionNow({
  retentionClock,
  options,
}: Context): Promise<{ now: number; before: number }> {
  const now = await retentionClock.now();
  return { now, before: now - options.operationRetentionDays * dayMs };
}

/** The records that were made before an instant, by their ids, in slices. */
export function eachOldPage<T>(
  { storage }: Context,
  collection: string,
  before: number,
): AsyncGenerator<StoredDocument<T>[]> {
  return eachPage<T>(storage, collection, { to: leastIdAt(before), limit: atOnce });
}
