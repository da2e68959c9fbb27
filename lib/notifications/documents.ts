import type { OfEpoch } from "../epochs.ts";
import type { EventSubject, EventType, Severity } from "../events.ts";
import type { ManagedBy } from "../internal/common-schemas.ts";
import type { JsonObject } from "../json.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { Template } from "./channels/template.ts";
import type { Message } from "./senders/sender.ts";

/** A notification as stored, under its id (a UUIDv7, so that keys are in order of time). The same for every operator. */
export interface NotificationDocument {
  id: string;
  event_type: EventType;
  severity: Severity;
  title: string;
  body: string;
  subject: EventSubject;
  /** How many events, or agents of an event, it tells together. */
  count: number;
  created_at: string;
  /** Whether a maintenance window kept it silent. */
  muted: boolean;
}

/** That an operator read one notification, under `<operator>:<notification>`. */
export interface ReadDocument {
  operator_id: string;
  notification_id: string;
  read_at: string;
}

/** How an operator reads, under the operator's id. */
export interface ReaderDocument {
  operator_id: string;
  /** When all there was was read, oldest first: up to which notification, and when. */
  through: { id: string; read_at: string }[];
  /** Absent = nothing was ever muted. */
  preferences?: { muted_events: string[]; min_severity: Severity };
}

/** Up to which event of the log notifications were made. One document, `events`. */
export interface CursorDocument extends OfEpoch {
  /** Of the log `events`. */
  sequence: number;
  /** Id of that event: another one there is of a history that a restore took back. */
  event_id: string;
}

/** A channel as stored, under its id. */
export interface ChannelDocument {
  id: string;
  name: string;
  type: string;
  /** Without the secret fields, but with those that are `secret:NAME`. */
  config: JsonObject;
  /** Which secret fields are in the encrypted value. */
  sealed_fields: string[];
  /** Version of the encrypted value; 0 where there never was one. */
  sealed_version: number;
  events: string[];
  min_severity: Severity;
  /** As the grammar prints it. */
  selector?: string;
  /** Absent = its messages are told as they come. */
  template?: Template;
  enabled: boolean;
  /** Absent = `notifications`. */
  source?: "audit";
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
  created_at: string;
  created_by: string;
}

/** Up to which event of the audit log a channel was told, under its id. */
export interface AuditPlaceDocument extends OfEpoch {
  channel_id: string;
  sequence: number;
}

/** How the attempts of a channel go, under its id: apart from what people change. */
export interface ChannelStateDocument {
  channel_id: string;
  last_delivery: { at: string; delivered: boolean; status_code?: number; error?: string };
  /** Set from the first message that could not be delivered, or not for some minutes, until one is. */
  is_failing: boolean;
}

/** How a delivery stands. */
export type DeliveryStatus = "pending" | "delivered" | "dead";

/** One message to one channel, under its id (a UUIDv7): the outbox, and the record of it afterwards. */
export interface DeliveryDocument extends OfEpoch {
  id: string;
  channel_id: string;
  /** Names the attempt to its receiver, too: it drops what came twice. */
  message: Message;
  status: DeliveryStatus;
  attempts: number;
  created_at: string;
  /** When it is tried next, and from when on no more; fleet times. */
  next_at: number;
  until: number;
  last_attempt_at?: string;
  /** When it was over without an attempt. */
  given_up_at?: string;
  status_code?: number;
  error?: string;
  /** The way that its channel had at the last attempt, as a hash: on another one it need not rest. */
  way?: string;
}

/** What the feature keeps. */
export const notificationCollections = {
  notifications: { indexes: {} },
  notification_reads: { indexes: { by_notification: ["notification_id"] } },
  notification_readers: { indexes: {} },
  notification_cursors: { indexes: {} },
  channels: { indexes: {} },
  channel_states: { indexes: {} },
  audit_places: { indexes: {} },
  deliveries: { indexes: { by_channel: ["channel_id"], by_queue: ["channel_id", "status"] } },
} as const satisfies Record<string, CollectionDefinition>;
