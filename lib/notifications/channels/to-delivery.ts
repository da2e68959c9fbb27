/** What a channel is told of a notification. */
import type { Context } from "../../context.ts";
import { toJsonObject, type JsonObject } from "../../json.ts";
import type { Write } from "../../storage/storage.ts";
import type { DeliveryDocument, NotificationDocument } from "../documents.ts";
import { tell, type Bundle } from "../inbox/bundles.ts";
import type { Message } from "../senders/sender.ts";
import { triedForMs } from "./backoff.ts";

/** Agents that a message names for programs. */
const mostNamed = 100;

/** The message of a delivery. */
export function toMessage(
  id: string,
  { event_type, severity, created_at }: NotificationDocument,
  bundle: Bundle,
): Message {
  const { title, body, subject } = tell(bundle);
  const { type, id: subjectId, name } = subject;
  return {
    id,
    event_type,
    severity,
    title,
    body,
    subject: { type, id: subjectId, name },
    created_at,
    data: factsOf(bundle),
  };
}

/** Of one event its facts, of several how many and which agents. */
function factsOf({ events, count, agents }: Bundle): JsonObject {
  const [event] = events;
  if (events.length === 1 && agents.length < 2) return toJsonObject(event!.metadata as JsonObject);
  return { count, node_ids: agents.slice(0, mostNamed).map(({ id }) => id) };
}

/** What puts a message into the outbox. */
export function toWrite({ clock, fleetTime, epochs }: Context, message: Message, channelId: string): Write {
  const now = fleetTime.now();
  const delivery: DeliveryDocument = {
    id: message.id,
    channel_id: channelId,
    message,
    status: "pending",
    attempts: 0,
    created_at: new Date(clock.now()).toISOString(),
    next_at: now,
    until: now + triedForMs,
    ...epochs.mark,
  };
  return {
    kind: "put",
    collection: "deliveries",
    key: message.id,
    value: toJsonObject(delivery),
    expected: 0,
  };
}
