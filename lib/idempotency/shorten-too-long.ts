import type { Context } from "../context.ts";
import type { Write } from "../storage/storage.ts";
import type { CallDocument } from "./documents.ts";

const collection = "idempotent_calls";
/** How much longer than its time a key may be kept before the clock is taken to have been wrong when it was used. */
const toleratedMs = 3_600_000;
/** How many keys are written with one commit. */
const atOnce = 100;

/**
 * Keys that were used while the clock was ahead would be kept until that time comes: their `keptMs` begin now. Yields after each
 * commit.
 */
export async function* shortenTooLong(
  { storage, retentionClock }: Context,
  keptMs: number,
): AsyncGenerator<void> {
  for (;;) {
    const expires_at = (await retentionClock.now()) + keptMs;
    const query = { index: "by_expiry", from: expires_at + toleratedMs, limit: atOnce };
    const { items } = await storage.list<CallDocument>(collection, query);
    const ended = items.filter(({ value }) => value.status !== "begun");
    if (ended.length === 0) return;
    await storage.commit(
      ended.map(({ key, revision, value }): Write => {
        return { kind: "put", collection, key, value: { ...value, expires_at }, expected: revision };
      }),
      { reserve: true },
    );
    yield;
  }
}
