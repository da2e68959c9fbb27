import { z } from "zod";
import { rolloutStrategySchema } from "../assignments/schemas.ts";
import {
  idSchema,
  nameSchema,
  overrideWindowSchema,
  pageInput,
  pageOf,
  waitInput,
} from "../internal/common-schemas.ts";
import { heldBySchema, operationStatusSchema } from "../operations/schemas.ts";

/** How a rollout stands or ended. */
export const rolloutStatusSchema = z.enum([
  "running",
  "paused",
  "stopping",
  "succeeded",
  "partial",
  "failed",
  "cancelled",
]);

/** How one agent of a rollout stands: its operation, or `waiting` before there is one. */
export const memberStatusSchema = z.enum([...operationStatusSchema.options, "waiting"]);

/** Input of `rollouts.plan`. */
export const rolloutPlanInput = z.strictObject({ name: nameSchema, ...waitInput });
/** Input of `rollouts.apply`. */
export const rolloutApplyInput = rolloutPlanInput.extend({
  rollout: rolloutStrategySchema
    .optional()
    .describe("What is to be otherwise than the assignment says, field by field."),
  override_window: overrideWindowSchema.optional(),
});

/** A rollout as lists show it. */
export const rolloutSchema = z
  .object({
    rollout_id: z.string(),
    assignment: z.string().optional().describe("What is rolled out; absent where it is a command."),
    kind: z.enum(["apply", "plan", "run"]),
    command: z.string().optional().describe("Of a command: what it runs, up to 4,096 characters."),
    timeout_seconds: z.number().int().optional().describe("Of a command: how long it may run on an agent."),
    trigger: z.enum(["manual", "scheduled"]),
    status: rolloutStatusSchema.describe(
      "`stopping`: nothing is begun any more, and what runs has not ended. The last four are the end.",
    ),
    reason: z.string().optional().describe("Why it was stopped or cancelled."),
    rollout: rolloutStrategySchema.describe("How it goes through the agents."),
    hold_removals: z
      .boolean()
      .optional()
      .describe("Whether what is not desired any more is left for an apply that somebody asks for."),
    modules: z
      .array(z.object({ name: z.string(), revision: z.number().int() }))
      .describe("The assignment's modules, in the revisions that every agent gets."),
    matched: z.number().int().describe("How many agents the selector matched at the time of the call."),
    batches: z.number().int(),
    batch: z.number().int().describe("The batch in progress, from 1; the last that was begun at the end."),
    next_batch_at: z.string().optional().describe("When the next batch begins, during a pause between two."),
    override_window: z
      .boolean()
      .optional()
      .describe("Whether it goes through agents in spite of maintenance windows, as an Admin wanted it."),
    held: z
      .number()
      .int()
      .optional()
      .describe(
        "How many agents wait for the end of a maintenance window; absent = none. `held_by` of each says which.",
      ),
    counts: z.record(memberStatusSchema, z.number().int()).describe("Agents by status."),
    requested_by: z.string(),
    created_at: z.string(),
    finished_at: z.string().optional(),
  })
  .meta({ id: "Rollout" });

/** One agent of a rollout. */
export const rolloutMemberSchema = z
  .object({
    node_id: z.string(),
    name: z.string(),
    batch: z.number().int(),
    operation_id: z
      .string()
      .optional()
      .describe("Absent before there is one, and where none could be made; `error` says why."),
    status: memberStatusSchema,
    held_by: heldBySchema.optional().describe("The maintenance window that keeps it from beginning."),
    summary: z.string(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: "RolloutMember" });

/** Output of `rollouts.apply`, `rollouts.plan`, `rollouts.get` and the verbs that change one. */
export const rolloutDetailSchema = rolloutSchema
  .extend({
    operations: z
      .array(rolloutMemberSchema)
      .describe("One for each agent, in the order in which they are begun; of very many the first 1,000."),
    truncated: z
      .boolean()
      .describe(
        "Whether there are agents that `operations` leaves out: `GET /rollouts/{rollout_id}/agents` has all.",
      ),
  })
  .meta({ id: "RolloutDetail" });

/** Output of `rollouts.list`. */
export const rolloutPageSchema = pageOf(rolloutSchema);
/** Names one rollout. */
export const rolloutIdInput = z.strictObject({ rollout_id: idSchema });
/** Input of `rollouts.list`; every filter must hold. */
export const listRolloutsInput = z.strictObject({
  assignment: nameSchema.optional(),
  kind: z.enum(["apply", "plan", "run"]).optional(),
  status: rolloutStatusSchema.optional(),
  ...pageInput,
});

/** Output of `rollouts.agents`. */
export const rolloutMemberPageSchema = pageOf(rolloutMemberSchema);
/** Input of `rollouts.agents`. */
export const listMembersInput = z.strictObject({
  rollout_id: idSchema,
  status: memberStatusSchema.optional(),
  ...pageInput,
});

/** How a rollout stands or ended. */
export type RolloutStatus = z.infer<typeof rolloutStatusSchema>;
/** How one agent of a rollout stands. */
export type MemberStatus = z.infer<typeof memberStatusSchema>;
/** An assignment carried out on the agents that it matched. */
export type Rollout = z.infer<typeof rolloutSchema>;
/** One agent of a rollout. */
export type RolloutMember = z.infer<typeof rolloutMemberSchema>;
/** A rollout with its agents. */
export type RolloutDetail = z.infer<typeof rolloutDetailSchema>;
