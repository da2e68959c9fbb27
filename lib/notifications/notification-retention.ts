/** Removes notifications, what was read of them, and messages that are over, when they are old; of too many, the oldest. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { dayMs } from "../internal/durations.ts";
import { eachPage } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { eachOldPage, keepRetention } from "../upkeep/retention.ts";
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
}

/** Removes what is old now and every hour. The function returned ends it. */
export function keepNotifications(context: Context, kept: Kept): () => Promise<void> {
  return keepRetention(context, "notifications", { round: () => round(context, kept) });
}

async function* round(context: Context, { count, hasChannel }: Kept): AsyncGenerator<void> {
  const { storage, retentionClock, options } = context;
  const now = await retentionClock.now();
  const before = now - options.notificationRetentionDays * dayMs;
  const isOfNow = ({ value: { created_at } }: StoredDocument<NotificationDocument>): boolean =>
    Date.parse(created_at) >= before && Date.parse(created_at) <= now;
  // By when they were made: their ids only say in which order.
  for await (const page of eachPage<NotificationDocument>(storage, "notifications", { limit: atOnce })) {
    const old = page.filter(({ value }) => Date.parse(value.created_at) < before);
    if (old.length > 0) yield remove(context, old);
    if (page.some(isOfNow)) break;
  }
  while (count() > mostKept) {
    const limit = Math.min(atOnce, count() - mostKept);
    const { items } = await storage.list<NotificationDocument>("notifications", { limit });
    if (items.length === 0) break;
    yield remove(context, items);
  }
  const ended = now - deliveryDays * dayMs;
  for await (const page of eachOldPage<DeliveryDocument>(context, "deliveries", ended)) {
    // A channel may have been removed in the moment in which a message was made for it.
    const over = page.filter(({ value }) => hasEnded(value, ended) || !hasChannel(value.channel_id));
    if (over.length > 0)
      yield void (await context.commitWithReserve(systemCaller, deletes("deliveries", over)));
  }
}

/** Whether a message ended before an instant: it may have waited for long. */
function hasEnded({ status, last_attempt_at }: Readonly<DeliveryDocument>, beforeMs: number): boolean {
  return status !== "pending" && (last_attempt_at === undefined || Date.parse(last_attempt_at) < beforeMs);
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
