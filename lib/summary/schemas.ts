import { z } from "zod";
import { appliedStatusSchema, driftFilterSchema } from "../agents/schemas.ts";
import { severities } from "../events.ts";
import { keyIdSchema } from "../internal/common-schemas.ts";

const count = z.number().int();

/** What may need somebody. */
export const attentionKindSchema = z.enum([
  "alarms",
  "failed_applies",
  "unknown_operations",
  "away_agents",
  "drifted_agents",
  "failed_drift_checks",
  "paused_rollouts",
  "pending_agents",
]);

/** One thing that needs somebody. */
export const attentionSchema = z
  .object({
    kind: attentionKindSchema,
    severity: z.enum(severities),
    count: count.describe("How many agents; of alarms, operations and rollouts how many of these."),
    agents: z
      .array(z.object({ node_id: keyIdSchema, name: z.string() }))
      .describe("Some of the agents that it is about, at most 5."),
  })
  .meta({ id: "Attention" });

/** Output of `summary.get`. */
export const summarySchema = z
  .object({
    agents: z
      .object({
        approved: count,
        pending: count,
        rejected: count,
        connected: count.describe(
          "With a connection now to the process that answers, those that wait to be approved among them.",
        ),
        away: count.describe("Approved, and without a connection for a minute or more."),
      })
      .describe("How many agents there are."),
    last_apply: z
      .partialRecord(appliedStatusSchema, count)
      .describe(
        "How the newest apply of approved agents that began has ended. A status that none has is absent.",
      ),
    drift: z
      .partialRecord(driftFilterSchema, count)
      .describe(
        "What the newest drift check of approved agents that could tell found; `failed` counts those whose newest check could not, whatever was found before. What none has is absent.",
      ),
    operations: z
      .object({ queued: count, running: count, unknown: count })
      .describe("Operations of which more is to come; of those that are unknown those of approved agents."),
    rollouts: z
      .object({ running: count, paused: count, stopping: count })
      .describe("Rollouts that have not ended."),
    alarms: z
      .object({ critical: count, warning: count, info: count })
      .describe("Series that are beyond a threshold now."),
    attention: z
      .array(attentionSchema)
      .describe("What needs somebody, worst first; empty where nothing does."),
  })
  .meta({ id: "Summary" });

/** What may need somebody. */
export type AttentionKind = z.infer<typeof attentionKindSchema>;
/** One thing that needs somebody. */
export type Attention = z.infer<typeof attentionSchema>;
/** The fleet in one look. */
export type Summary = z.infer<typeof summarySchema>;
