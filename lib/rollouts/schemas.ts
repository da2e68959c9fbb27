import { z } from "zod";
import { nameSchema, waitInput } from "../internal/common-schemas.ts";
import { operationStatusSchema } from "../operations/schemas.ts";

/** Input of `rollouts.apply` and `rollouts.plan`. */
export const rolloutInput = z.strictObject({ name: nameSchema, ...waitInput });

/** Output of `rollouts.apply` and `rollouts.plan`. */
export const rolloutSchema = z
  .object({
    rollout_id: z.string(),
    assignment: z.string(),
    kind: z.enum(["apply", "plan"]),
    status: z.enum(["running", "succeeded", "partial", "failed"]),
    matched: z.number().int().describe("How many agents the selector matched at the time of the call."),
    counts: z.record(operationStatusSchema, z.number().int()).describe("Operations by status."),
    operations: z.array(
      z.object({
        node_id: z.string(),
        name: z.string(),
        operation_id: z
          .string()
          .optional()
          .describe("Absent where no operation could be made; `error` says why."),
        status: operationStatusSchema,
        summary: z.string(),
        error: z.object({ code: z.string(), message: z.string() }).optional(),
      }),
    ),
  })
  .meta({ id: "Rollout" });

/** An assignment carried out on the agents that it matched. */
export type Rollout = z.infer<typeof rolloutSchema>;
