import { z } from "zod";
import { timestampSchema } from "../internal/common-schemas.ts";
import { operationStatusSchema } from "../operations/schemas.ts";
import { rolloutStatusSchema } from "../rollouts/schemas.ts";

const missedSchema = z.object({ assignment: z.string(), due_at: timestampSchema });

/** Output of `restores.get` and `restores.resume`. */
export const restoreStateSchema = z
  .object({
    status: z
      .enum(["active", "paused"])
      .describe("`paused`: restored from a backup, and nothing of before happens by itself until `resume`."),
    epoch: z
      .object({
        number: z.number().int(),
        id: z.string(),
        begun_at: z.string(),
      })
      .nullable()
      .describe("Which life of its data the server leads. Agents obey the newest that they have seen."),
    restored_at: z.string().nullable().describe("When the data was restored; null where it never was."),
    backup_at: z.string().nullable().describe("When the backup was made."),
    resumed_at: z
      .string()
      .nullable()
      .describe("When an Admin had the server go on; null while it is paused."),
    superseded_by: z
      .object({ number: z.number().int(), node_id: z.string() })
      .nullable()
      .describe("The newer epoch that an approved agent follows; this server can't direct that agent."),
    open_operations: z
      .number()
      .int()
      .describe("Operations of the backup that have not ended. Agents are asked about them."),
    operations: z
      .array(
        z.object({
          operation_id: z.string(),
          kind: z.enum(["apply", "plan", "check", "forget", "run"]),
          node_id: z.string(),
          agent_name: z.string(),
          status: operationStatusSchema,
          created_at: z.string(),
          would: z
            .enum(["begin", "end"])
            .describe("What becomes of it: begin after `resume`, or end with what its agent tells."),
        }),
      )
      .describe("The first 100 of them."),
    rollouts: z
      .array(
        z.object({
          rollout_id: z.string(),
          assignment: z.string().optional(),
          command: z.string().optional().describe("Of a run: what it runs."),
          kind: z.enum(["apply", "plan", "run"]),
          status: rolloutStatusSchema,
          matched: z.number().int(),
          left: z.number().int().describe("Agents that it has not begun, as far as the backup knows."),
        }),
      )
      .describe("Rollouts of the backup that would go on; the first 100."),
    missed: z
      .array(missedSchema)
      .describe("Due times that have passed and are not carried out any more; the first 100."),
    enforcing: z
      .array(z.string())
      .describe("Assignments that put back what drifted from what the backup knows; the first 100."),
  })
  .meta({ id: "RestoreState" });

/** What waits after a restore. */
export type RestoreState = z.infer<typeof restoreStateSchema>;
