import type { Context } from "../context.ts";
import { eachPage } from "../storage/each-document.ts";
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
  { keptMs, isRunning }: { keptMs: number; isRunning: (key: string) => boolean },
): AsyncGenerator<void> {
  const expires_at = (await retentionClock.now()) + keptMs;
  const query = { index: "by_expiry", from: expires_at + toleratedMs, limit: atOnce };
  for await (const items of eachPage<CallDocument>(storage, collection, query)) {
    // A call that is being made writes its own key. Those of calls whose process was killed look the same where they are kept, and so do
    // those that another process is making: it ends them as they stand then.
    const ended = items.filter(({ key }) => !isRunning(key));
    if (ended.length === 0) continue;
    await storage.commit(
      ended.map(({ key, revision, value }): Write => {
        return { kind: "put", collection, key, value: { ...value, expires_at }, expected: revision };
      }),
      { reserve: true },
    );
    yield;
  }
}
