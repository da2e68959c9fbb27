/** Removes notifications, what was read of them, and messages that are over, when they are old; of too many, the oldest. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { dayMs } from "../internal/durations.ts";
import { eachPage } from "../storage/each-document.ts";
import type { Storage, StoredDocument, Write } from "../storage/storage.ts";
import { keepRetention } from "../upkeep/retention.ts";
import type { DeliveryDocument, NotificationDocument } from "./documents.ts";

/** Notifications that are kept: all of them are in memory, a hundred bytes each. */
const mostKept = 10_000;
/** Days for which messages are kept that are over. */
const deliveryDays = 7;
const atOnce = 100;

/** What is kept now. */
interface Kept {
  /** How many notifications there are. */
  count: () => number;
  hasChannel: (id: string) => boolean;
  /** Channels that are gone, and of which it is kept how their last attempt ended. */
  leftStates: () => readonly string[];
}

/** Removes what is old now and every hour. The function returned ends it. */
export function keepNotifications(context: Context, kept: Kept): () => Promise<void> {
  return keepRetention(context, "notifications", { round: () => round(context, kept) });
}

async function* round(context: Context, { count, hasChannel, leftStates }: Kept): AsyncGenerator<void> {
  const { storage, retentionClock, options } = context;
  const now = await retentionClock.now();
  const before = now - options.notificationRetentionDays * dayMs;
  for await (const old of oldest<NotificationDocument>(storage, "notifications", { before, now }))
    yield remove(context, old);
  while (count() > mostKept) {
    const limit = Math.min(atOnce, count() - mostKept);
    const { items } = await storage.list<NotificationDocument>("notifications", { limit });
    if (items.length === 0) break;
    yield remove(context, items);
  }
  const ended = now - deliveryDays * dayMs;
  for await (const page of oldest<DeliveryDocument>(storage, "deliveries", { before: ended, now })) {
    // A channel may have been removed in the moment in which a message was made for it.
    const over = page.filter(({ value }) => hasEnded(value, ended) || !hasChannel(value.channel_id));
    if (over.length > 0)
      yield void (await context.commitWithReserve(systemCaller, deletes("deliveries", over)));
  }
  // The process may have been killed while it removed what a channel left behind.
  yield dropLeftStates(context, leftStates());
}

/** Removes how the last attempts of channels ended that are gone. */
export async function dropLeftStates(context: Context, channelIds: readonly string[]): Promise<void> {
  const left = await context.storage.getMany("channel_states", channelIds);
  const writes = deletes(
    "channel_states",
    left.flatMap((each) => each ?? []),
  );
  // With the reserve: what is removed makes space.
  if (writes.length > 0) await context.commitWithReserve(systemCaller, writes);
}

/** What was made before an instant, the oldest first, in slices: by when it says that it was made, as its id only says in which order. */
async function* oldest<T extends { created_at: string }>(
  storage: Storage,
  collection: string,
  { before, now }: { before: number; now: number },
): AsyncGenerator<StoredDocument<T>[]> {
  for await (const page of eachPage<T>(storage, collection, { limit: atOnce })) {
    const old = page.filter(({ value }) => Date.parse(value.created_at) < before);
    if (old.length > 0) yield old;
    // What is dated later than now is of a clock that was wrong, and may stand before what is old.
    const madeAt = page.map(({ value }) => Date.parse(value.created_at));
    if (madeAt.some((ms) => ms >= before && ms <= now)) return;
  }
}

/** Whether a message ended before an instant: it may have waited for long. */
function hasEnded(delivery: Readonly<DeliveryDocument>, beforeMs: number): boolean {
  const endedAt = delivery.given_up_at ?? delivery.last_attempt_at;
  return delivery.status !== "pending" && (endedAt === undefined || Date.parse(endedAt) < beforeMs);
}

/** Removes notifications with the marks of who read them. */
async function remove(
  context: Context,
  page: readonly StoredDocument<NotificationDocument>[],
): Promise<void> {
  const writes = deletes("notifications", page);
  for (const { key } of page) {
    const query = { index: "by_notification", equals: [key], limit: atOnce };
    for await (const reads of eachPage(context.storage, "notification_reads", query))
      writes.push(...deletes("notification_reads", reads));
  }
  // With the reserve: what is removed makes space.
  await context.commitWithReserve(systemCaller, writes);
}

function deletes(collection: string, documents: readonly StoredDocument<unknown>[]): Write[] {
  return documents.map(({ key }) => ({ kind: "delete", collection, key }));
}
