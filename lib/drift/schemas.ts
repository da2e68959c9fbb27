import { z } from "zod";
import { idSchema, keyIdSchema, pageInput, pageOf, waitInput } from "../internal/common-schemas.ts";
import { countsSchema, resourceResultSchema } from "../state/result.ts";

export const driftStatusSchema = z.enum(["running", "in_sync", "drifted", "failed", "cancelled"]);

export const driftRecordSchema = z
  .object({
    drift_id: idSchema,
    node_id: keyIdSchema,
    status: driftStatusSchema,
    baseline_operation_id: idSchema.describe("The apply whose result the machine is compared with."),
    trigger: z.enum(["manual", "scheduled"]),
    checked_at: z.string(),
    duration_ms: z.number(),
    counts: countsSchema.describe("`would_change` counts what has drifted."),
  })
  .meta({ id: "DriftRecord" });

export const driftDetailSchema = driftRecordSchema
  .extend({ resources: z.array(resourceResultSchema) })
  .meta({ id: "DriftDetail" });

export const driftPageSchema = pageOf(driftRecordSchema);
export const checkDriftInput = z.strictObject({ node_id: keyIdSchema, ...waitInput });
export const listDriftInput = z.strictObject({ node_id: keyIdSchema, ...pageInput });
export const driftIdInput = z.strictObject({ drift_id: idSchema });

export type DriftStatus = z.infer<typeof driftStatusSchema>;
export type DriftRecord = z.infer<typeof driftRecordSchema>;
export type DriftDetail = z.infer<typeof driftDetailSchema>;
