import { z } from "zod";
import { isEventPattern, mismatch } from "../event-pattern.ts";
import { severities } from "../events.ts";
import {
  idSchema,
  jsonSchema,
  managedByChangeSchema,
  managedBySchema,
  pageInput,
  pageOf,
  versionSchema,
} from "../internal/common-schemas.ts";
import { templateSchema } from "./channels/template.ts";

const severitySchema = z.enum(severities);

/** A notification as one operator has it. */
export const notificationSchema = z
  .object({
    id: idSchema,
    event_type: z.string().describe("Of the event that it tells, e.g. `agent.offline`."),
    severity: severitySchema,
    title: z.string().describe("One line that says what happened."),
    body: z.string().describe("What more there is to say; empty where nothing."),
    subject: z.object({ type: z.string(), id: z.string(), name: z.string() }).describe("What it is about."),
    count: z.number().int().describe("How many events, or agents, it tells together; mostly 1."),
    created_at: z.string().describe("When the event happened, of several the first."),
    read_at: z.string().nullable().describe("When the caller read it; null where that is to come."),
    muted: z
      .boolean()
      .describe(
        "Whether it is silent: a maintenance window kept it from channels, or the caller has muted it.",
      ),
  })
  .meta({ id: "Notification" });

/** Output of `notifications.list`. */
export const notificationPageSchema = pageOf(notificationSchema).extend({
  unread: z.number().int().describe("How many the caller has not read, muted ones aside; no filter matters."),
});

/** Input of `notifications.list`. */
export const listNotificationsInput = z.strictObject({
  unread: z
    .boolean()
    .optional()
    .describe(
      "Whether only those are listed that the caller has not read and that are not muted. Default false.",
    ),
  min_severity: severitySchema.optional().describe("The least severity that is listed. Default `info`."),
  ...pageInput,
});

/** Names one notification. */
export const notificationIdInput = z.strictObject({ id: idSchema });

const mutedEvents =
  "Notifications that are silent for the caller: types of events, or all of a kind as in `drift.*`.";
const mutedEventsField = z
  .array(
    z
      .string()
      .max(100)
      .refine((text): boolean => isEventPattern(text), mismatch),
  )
  .max(100)
  .describe(mutedEvents);
const leastLoudField = severitySchema.describe("The least severity that is not silent for the caller.");

/** What an operator wants to be told, and what not. */
export const notificationPreferencesSchema = z
  .object({ muted_events: z.array(z.string()).describe(mutedEvents), min_severity: leastLoudField })
  .meta({ id: "NotificationPreferences" });

/** Input of `notifications.updatePreferences`; what is absent stays. */
export const updateNotificationPreferencesInput = z.strictObject({
  muted_events: mutedEventsField.optional(),
  min_severity: leastLoudField.optional(),
});

const channelNameField = z
  .string()
  .max(100)
  .regex(/^[^\p{C}]+$/u, "must be one line of text")
  .describe("What people call it.");
const configField = z
  .record(z.string().max(64), jsonSchema)
  .describe(
    "Where its messages go: fields of its type. A secret field may be `secret:NAME`, which is read for each message.",
  );
const eventsField = z
  .array(
    z
      .string()
      .max(100)
      .refine(
        (text) => text === "*" || isEventPattern(text),
        `must be \`*\`, or ${mismatch.slice("must be ".length)}`,
      ),
  )
  .min(1)
  .max(100)
  .describe("What it tells: types of events, all of a kind as in `agent.*`, or `*`. Default `*`.");
const leastField = severitySchema.describe("The least severity that it tells. Default `info`.");
const selectorField = z
  .string()
  .min(1)
  .max(4096)
  .describe("The agents that it tells of; nothing else is told then. Default all, and what is about none.");
const templateField = templateSchema.describe(
  "Words of its own for its messages, with `{{ title }}`, `{{ body }}` and the like in them. Default as they come.",
);
const sourceField = z
  .enum(["notifications", "audit"])
  .describe(
    "What it tells of: `notifications`, or `audit`: each event of the audit log, one by one, in order and without a gap.",
  );
const enabledField = z.boolean().describe("Whether it tells anything. Default true.");

/** How the last attempt of a channel ended. */
const lastDeliverySchema = z.object({
  at: z.string(),
  delivered: z.boolean(),
  status_code: z.number().int().optional(),
  error: z.string().optional(),
});

/** A channel, without what is secret of it. */
export const channelSchema = z
  .object({
    id: idSchema,
    name: z.string(),
    type: z.string().describe("How it tells, e.g. `webhook`."),
    config: z
      .record(z.string(), jsonSchema)
      .describe("Where its messages go; what is secret is `********`, unless it is `secret:NAME`."),
    events: z.array(z.string()).describe("Which events it tells; `*` = all that operators are notified of."),
    min_severity: severitySchema.describe("The least severity that it tells."),
    selector: z
      .string()
      .optional()
      .describe("Of which agents it tells; absent = all, and what is about none."),
    template: templateSchema
      .optional()
      .describe("Words of its own for its messages; absent = they are told as they come."),
    enabled: z.boolean().describe("Whether it tells anything."),
    source: sourceField,
    forwarded_sequence: z
      .number()
      .int()
      .optional()
      .describe("With the source `audit`: up to which sequence of the audit log it was told."),
    managed_by: managedBySchema.optional(),
    last_delivery: lastDeliverySchema.optional().describe("The last attempt; absent before the first."),
    created_at: z.string(),
    created_by: z.string(),
    version: versionSchema,
  })
  .meta({ id: "Channel" });

/** Output of `channels.list`. */
export const channelPageSchema = pageOf(channelSchema);
/** Input of `channels.list`. */
export const listChannelsInput = z.strictObject(pageInput);
/** Names one channel. */
export const channelIdInput = z.strictObject({ id: idSchema });

/** Input of `channels.create`. */
export const createChannelInput = z.strictObject({
  name: channelNameField,
  type: z
    .string()
    .max(64)
    .describe(
      "`webhook`, `email`, `slack`, `discord`, `teams`, `ntfy`, `syslog`, or a type of the server's own.",
    ),
  config: configField,
  events: eventsField.optional(),
  min_severity: leastField.optional(),
  selector: selectorField.optional(),
  template: templateField.optional(),
  enabled: enabledField.optional(),
  source: sourceField.optional().describe("Default `notifications`; it stays what it is."),
  managed_by: managedBySchema.optional(),
});

/** Input of `channels.update`; what is absent stays. */
export const updateChannelInput = z.strictObject({
  id: idSchema,
  name: channelNameField.optional(),
  config: configField
    .optional()
    .describe("All fields of its type; a secret field that is `********` stays as it is."),
  events: eventsField.optional(),
  min_severity: leastField.optional(),
  selector: selectorField.nullable().optional().describe("null = all agents, and what is about none."),
  template: templateField.nullable().optional().describe("null = its messages are told as they come."),
  enabled: enabledField.optional(),
  managed_by: managedByChangeSchema.optional(),
});

/** Output of `channels.test`. */
export const channelTestSchema = z
  .object({
    delivered: z.boolean().describe("Whether the other side took the message."),
    status_code: z
      .number()
      .int()
      .optional()
      .describe("What it answered: a status of HTTP, a reply code of SMTP."),
    error: z
      .string()
      .optional()
      .describe("Why it was not delivered, for people; nothing of the answer's body."),
    duration_ms: z.number(),
  })
  .meta({ id: "ChannelTest" });

/** A message to a channel, and what came of it. */
export const deliverySchema = z
  .object({
    id: idSchema,
    channel_id: idSchema.describe("Of the channel."),
    status: z
      .enum(["pending", "delivered", "dead"])
      .describe("`pending`: it is tried, or tried again. `dead`: it is not, unless somebody asks for it."),
    event_type: z.string(),
    severity: severitySchema,
    title: z.string(),
    attempts: z.number().int(),
    created_at: z.string(),
    last_attempt_at: z.string().optional().describe("When it was tried last; absent before."),
    next_attempt_at: z.string().optional().describe("Where it is pending: not before then."),
    status_code: z.number().int().optional().describe("What the receiver answered last."),
    error: z.string().optional().describe("Why the last attempt failed."),
  })
  .meta({ id: "Delivery" });

/** Output of `channels.deliveries`. */
export const deliveryPageSchema = pageOf(deliverySchema);
/** Input of `channels.deliveries`. */
export const listDeliveriesInput = z.strictObject({
  id: idSchema,
  status: z.enum(["pending", "delivered", "dead"]).optional().describe("Only those that stand so."),
  ...pageInput,
});
/** Input of `channels.redeliver`. */
export const redeliverInput = z.strictObject({
  id: idSchema,
  delivery_id: idSchema.describe("The message that is sent once more."),
});

/** Something that operators were told. */
export type Notification = z.infer<typeof notificationSchema>;
/** What an operator wants to be told, and what not. */
export type NotificationPreferences = z.infer<typeof notificationPreferencesSchema>;
/** A page of notifications, with how many are unread. */
export type NotificationPage = z.infer<typeof notificationPageSchema>;
/** A way to tell people and programs elsewhere. */
export type Channel = z.infer<typeof channelSchema>;
/** What came of a test of a channel. */
export type ChannelTest = z.infer<typeof channelTestSchema>;
/** A message to a channel, and what came of it. */
export type Delivery = z.infer<typeof deliverySchema>;
