import { z } from "zod";
import { eventTable, severities, type EventCategory } from "../events.ts";
import { jsonSchema, pageInput, pageOf, timestampSchema, versionSchema } from "../internal/common-schemas.ts";

/** Those of the table, each once. */
const categories = [...new Set(Object.values(eventTable).map(({ category }) => category))] as [
  EventCategory,
  ...EventCategory[],
];

const subjectSchema = z.object({ type: z.string(), id: z.string(), name: z.string() });

/** An event of the audit log. */
export const auditEventSchema = z
  .object({
    id: z.string(),
    sequence: z.number().int(),
    timestamp: z.string(),
    event_type: z.string(),
    severity: z.enum(severities),
    actor: subjectSchema,
    target: subjectSchema.optional(),
    summary: z.string(),
    metadata: z.record(z.string(), jsonSchema),
    request_id: z.string().optional(),
    source_address: z.string().optional(),
    recorded_at: z
      .string()
      .describe("When it was written: the instant that the hash is over, in most cases that of `timestamp`."),
    hash: z.string().describe("SHA-256 over the hash of the event before and this event; hex."),
  })
  .meta({ id: "AuditEvent" });

/** Output of `audit.list`. */
export const auditPageSchema = pageOf(auditEventSchema);

/** Input of `audit.list`; every filter must hold. */
export const listAuditInput = z.strictObject({
  event_type: z.string().max(100).optional(),
  category: z.enum(categories).optional(),
  actor: z.string().max(100).optional().describe("Id or name of who did it."),
  target: z.string().max(100).optional().describe("Id or name of what it was done to."),
  from: timestampSchema.optional(),
  to: timestampSchema.optional(),
  from_sequence: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe("The first sequence, inclusive: where one has read up to the one before."),
  search: z.string().min(1).max(100).optional().describe("Part of the summary, without regard to case."),
  order: z.enum(["desc", "asc"]).optional().describe("Newest first (`desc`, the default) or oldest first."),
  ...pageInput,
});

/** Input of `audit.prune`. */
export const pruneAuditInput = z.strictObject({
  before: timestampSchema.describe("Events before it go. Not in the future."),
  expected: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("How many events that must be; else nothing is removed and `COUNT_DIFFERS` is answered."),
  dry_run: z
    .boolean()
    .optional()
    .describe("Whether nothing is removed, and `would_delete` tells what would be. Default false."),
});

const oldestEventsSchema = z.object({
  events: z.number().int().describe("How many events would go."),
  from_sequence: z.number().int().describe("The first of them."),
  through_sequence: z
    .number()
    .int()
    .describe("The last of them; less than `from_sequence` where there are none."),
  through_recorded_at: z.string().nullable().describe("When the last of them was written."),
  through_hash: z.string().describe("Hash of the last of them."),
  previous_hash: z
    .string()
    .describe("What the first of them is chained to; zeros at the beginning of the log."),
});

/** Output of `audit.prune`. */
export const pruneResultSchema = z.object({
  deleted: z.number().int().describe("How many events were removed; 0 with `dry_run`."),
  would_delete: oldestEventsSchema.optional().describe("Only with `dry_run`."),
});

const retentionShape = {
  retention_days: z.number().int().min(1).max(3650).nullable().describe("Null keeps every event."),
};

/** Output of `audit.getRetention` and `audit.setRetention`. */
export const retentionSchema = z.object({
  ...retentionShape,
  version: versionSchema,
});
/** Input of `audit.setRetention`. */
export const setRetentionInput = z.strictObject(retentionShape);

const hashSchema = z.string().regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits");

/** Output of `audit.head`, and what a file that keeps it holds. */
export const auditHeadSchema = z.object({
  sequence: z.number().int().min(0).describe("Of the newest event; 0 where there never was one."),
  hash: hashSchema.describe("Its hash, which is over all events before it, too."),
  recorded_at: z.string().max(40).nullable().describe("When it was written; null where it was removed."),
  signature: z
    .string()
    .regex(/^[0-9a-f]{128}$/, "128 lower-case hex digits")
    .describe(
      "Ed25519 signature by the orchestrator's key, hex: over `fleetwright/1 audit head`, `sequence`, `hash` and `recorded_at` (nothing for null), with a line feed between them.",
    ),
});

/** Input of `audit.verify`: a head that was kept elsewhere. */
export const verifyAuditInput = z.strictObject({
  known_sequence: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe("`sequence` of a head that was kept elsewhere."),
  known_hash: hashSchema.optional().describe("`hash` of it."),
});

/** Output of `audit.verify`. */
export const verifyAuditSchema = z.object({
  valid: z.boolean(),
  from_sequence: z.number().int(),
  to_sequence: z.number().int(),
  first_bad_sequence: z.number().int().optional(),
  head_hash: z.string(),
  known_head: z
    .enum(["present", "different", "missing", "pruned"])
    .optional()
    .describe(
      "Whether the head that was asked about is in this log: `present`; `different`, another event is in its place; `missing`, the log does not go so far; `pruned`, older events were removed than would tell. Absent where none was asked about, or `valid` is false.",
    ),
});

/** Something that was done, by whom and when. */
export type AuditEvent = z.infer<typeof auditEventSchema>;
/** What a prune removed, or would remove. */
export type PruneResult = z.infer<typeof pruneResultSchema>;
/** For how long events are kept. */
export type AuditRetention = z.infer<typeof retentionSchema>;
/** Where the log ended at a moment, signed. */
export type AuditHead = z.infer<typeof auditHeadSchema>;
/** Whether the chain of hashes is whole. */
export type AuditVerification = z.infer<typeof verifyAuditSchema>;
