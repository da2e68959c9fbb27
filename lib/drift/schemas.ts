import { z } from "zod";
import { driftFilterSchema } from "../agents/schemas.ts";
import { idSchema, keyIdSchema, pageInput, pageOf, waitInput } from "../internal/common-schemas.ts";
import { countsSchema, resourceResultSchema } from "../state/result.ts";

/** How a drift check stands or ended. */
export const driftStatusSchema = z.enum(["running", "in_sync", "drifted", "failed", "cancelled"]);

/** A drift check as lists show it. */
export const driftRecordSchema = z
  .object({
    drift_id: idSchema,
    node_id: keyIdSchema,
    status: driftStatusSchema,
    baseline_operation_id: idSchema.describe("The apply whose result the machine is compared with."),
    trigger: z.enum(["manual", "scheduled"]),
    checked_at: z.string(),
    duration_ms: z.number(),
    counts: countsSchema.describe("`would_change` counts what has drifted; `unknown` is 0."),
    error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .describe("Why the check failed or was cancelled; absent where the result of a resource tells it."),
  })
  .meta({ id: "DriftRecord" });

/** Output of `drift.check`, `drift.latest` and `drift.get`. */
export const driftDetailSchema = driftRecordSchema
  .extend({ resources: z.array(resourceResultSchema) })
  .meta({ id: "DriftDetail" });

/** What the newest drift check of an agent found. */
export const agentDriftSchema = driftRecordSchema
  .extend({ agent_name: z.string() })
  .meta({ id: "AgentDrift" });
/** Output of `drift.newest`. */
export const agentDriftPageSchema = pageOf(agentDriftSchema);
/** Input of `drift.newest`; every filter must hold. */
export const newestDriftInput = z.strictObject({
  status: driftFilterSchema
    .optional()
    .describe(
      "Only what the newest check that could tell found; `failed` is the newest check where it could not.",
    ),
  selector: z.string().optional().describe("Only agents that it matches."),
  ...pageInput,
});
/** Output of `drift.list`. */
export const driftPageSchema = pageOf(driftRecordSchema);
/** Input of `drift.check`. */
export const checkDriftInput = z.strictObject({ node_id: keyIdSchema, ...waitInput });
/** Input of `drift.list`. */
export const listDriftInput = z.strictObject({ node_id: keyIdSchema, ...pageInput });
/** Names one drift check. */
export const driftIdInput = z.strictObject({ drift_id: idSchema });

/** What the newest drift check of an agent found. */
export type AgentDrift = z.infer<typeof agentDriftSchema>;
/** How a drift check stands or ended. */
export type DriftStatus = z.infer<typeof driftStatusSchema>;
/** A drift check as lists show it. */
export type DriftRecord = z.infer<typeof driftRecordSchema>;
/** A drift check with the result of each resource. */
export type DriftDetail = z.infer<typeof driftDetailSchema>;
