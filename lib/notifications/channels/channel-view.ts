/** Channels and their messages as callers see them. */
import { toTimestamp } from "../../clock.ts";
import type { Context, EventInput } from "../../context.ts";
import type { DeliveryFacts } from "../../event-facts.ts";
import type { EventSubject } from "../../events.ts";
import type { JsonObject } from "../../json.ts";
import type { StoredDocument } from "../../storage/storage.ts";
import type {
  AuditPlaceDocument,
  ChannelDocument,
  ChannelStateDocument,
  DeliveryDocument,
} from "../documents.ts";
import type { Channel, Delivery } from "../schemas.ts";

/** A channel, with its config as people may see it. */
export function toChannel(
  { value, revision }: Pick<StoredDocument<ChannelDocument>, "value" | "revision">,
  {
    config,
    state,
    place,
  }: {
    config: JsonObject;
    state: Readonly<ChannelStateDocument> | null;
    place: Readonly<AuditPlaceDocument> | null;
  },
): Channel {
  const { sealed_fields: _fields, sealed_version: _version, ...shown } = value;
  return {
    ...shown,
    source: value.source ?? "notifications",
    config,
    ...(place && { forwarded_sequence: place.sequence }),
    ...(state && { last_delivery: state.last_delivery }),
    version: revision,
  };
}

/** A message, and what came of it. */
export function toDelivery({ fleetTime }: Context, delivery: Readonly<DeliveryDocument>): Delivery {
  const { id, channel_id, status, message, attempts, created_at } = delivery;
  const { last_attempt_at, status_code, error } = delivery;
  const { event_type, severity, title } = message;
  return {
    id,
    channel_id,
    status,
    event_type,
    severity,
    title,
    attempts,
    created_at,
    ...(last_attempt_at !== undefined && { last_attempt_at }),
    ...(status === "pending" && { next_attempt_at: toTimestamp(fleetTime.toWall(delivery.next_at)) }),
    ...(status_code !== undefined && { status_code }),
    ...(error !== undefined && { error }),
  };
}

/** The channel as events name it. */
export function channelSubject({
  id,
  name,
}: Pick<ChannelDocument, "id" | "name">): EventSubject & { type: "channel" } {
  return { type: "channel", id, name };
}

/** Tells that a channel does not deliver. */
export function channelFailed(
  channel: Pick<ChannelDocument, "id" | "name">,
  metadata: DeliveryFacts,
): EventInput<"channel.failed"> {
  return {
    type: "channel.failed",
    target: channelSubject(channel),
    summary: `Channel ${channel.name} does not deliver: ${metadata.error || "no reason is known"}`,
    metadata,
  };
}

/** Tells that a channel was made, or changed; `changed` are the fields that were given, null for a new one. */
export function channelChanged(channel: Readonly<ChannelDocument>, changed: string[] | null): EventInput {
  const { type: channel_type, enabled, events, name } = channel;
  const facts = { channel_type, enabled, events };
  const target = channelSubject(channel);
  if (changed === null)
    return { type: "channel.created", target, summary: `Channel ${name} was created`, metadata: facts };
  const summary = `Channel ${name} was updated`;
  return { type: "channel.updated", target, summary, metadata: { ...facts, changed } };
}
