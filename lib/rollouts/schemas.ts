import { z } from "zod";
import { rolloutStrategySchema } from "../assignments/schemas.ts";
import {
  idPrefixSchema,
  idSchema,
  nameSchema,
  overrideWindowSchema,
  pageInput,
  pageOf,
  waitInput,
} from "../internal/common-schemas.ts";
import { heldBySchema, operationDetailSchema, operationStatusSchema } from "../operations/schemas.ts";
import { countsSchema } from "../state/result.ts";

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

/** How one agent of a rollout stands: its operation, `waiting` before there is one, or `stale` where its plan was not true any more. */
export const memberStatusSchema = z.enum([...operationStatusSchema.options, "waiting", "stale"]);

/** What became of an agent whose operation has ended. */
export const memberOutcomeSchema = z.enum([
  "changed",
  "unchanged",
  "failed",
  "stale",
  "cancelled",
  "unknown",
]);

const showAgentsInput = {
  show_agents: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe("How many agents `operations` names, 0-1,000. Default 1,000."),
};

/** Input of `rollouts.plan`. */
export const rolloutPlanInput = z.strictObject({ name: nameSchema, ...showAgentsInput, ...waitInput });
/** Input of `rollouts.apply`. */
export const rolloutApplyInput = rolloutPlanInput.extend({
  rollout: rolloutStrategySchema
    .optional()
    .describe("What is to be otherwise than the assignment says, field by field."),
  override_window: overrideWindowSchema.optional(),
  plan_rollout_id: idSchema
    .optional()
    .describe(
      "A plan of this assignment: exactly that is applied on each of its agents. One on which it is not true any more is left out (`stale`), and so is every agent that is not in it (`unplanned`).",
    ),
});

/** What came of the agents of a rollout, and of their resources, added up. */
export const recapSchema = z
  .object({
    changed: z.number().int().describe("Something was changed, or, by a plan, would or might be."),
    unchanged: z.number().int().describe("All was as it is to be."),
    failed: z.number().int().describe("It did not succeed, or did not begin."),
    stale: z
      .number()
      .int()
      .describe("The plan that was to be applied was not true any more; nothing was changed."),
    cancelled: z.number().int().describe("Its operation was cancelled."),
    unknown: z.number().int().describe("Nothing was heard of how it ended."),
    removing: z.number().int().describe("Something was removed, or would be; these are among the others."),
    resources: countsSchema.describe("The resources of all of them, by outcome."),
  })
  .describe("Agents whose operation has ended, by what became of them. Absent of a command.");

const namedAgentSchema = z.object({ node_id: z.string(), name: z.string() });

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
    recap: recapSchema.optional(),
    plan_rollout_id: z.string().optional().describe("The rollout whose plan it applies, and nothing else."),
    unplanned: z
      .object({
        count: z.number().int(),
        agents: z.array(namedAgentSchema).describe("The first 20 of them."),
      })
      .optional()
      .describe("Agents that matched at the time of the call and are not in that plan: they are left alone."),
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
      .describe(
        "One for each agent, in the order in which they are begun; the first 1,000, or as many as `show_agents` says.",
      ),
    truncated: z
      .boolean()
      .describe(
        "Whether there are agents that `operations` leaves out: `GET /rollouts/{rollout_id}/agents` has all.",
      ),
  })
  .meta({ id: "RolloutDetail" });

/** Agents of a rollout with equal changes. */
export const rolloutGroupSchema = z
  .object({
    changes: z.string().describe("Names the group: a digest of what follows but for `count` and `agents`."),
    count: z.number().int().describe("How many agents."),
    outcome: memberOutcomeSchema,
    status: operationStatusSchema,
    error: z.object({ code: z.string(), message: z.string() }).optional(),
    agents: z
      .array(namedAgentSchema.extend({ operation_id: z.string().optional() }))
      .describe("The first 10 of them; `GET /rollouts/{rollout_id}/agents?changes=` has all."),
    counts: countsSchema
      .pick({ changed: true, would_change: true, unknown: true, removed: true, failed: true })
      .describe("Resources by outcome, on each of them."),
    resources: operationDetailSchema.shape.resources.describe(
      "What was or would be changed, could not be told, failed or was left out, as the first agent told it: up to 100, of 64 KiB in all. What is hidden is equal to what is hidden.",
    ),
    truncated: z.boolean().describe("Whether there is more: the operation of each agent has all of it."),
  })
  .meta({ id: "RolloutGroup" });

/** Output of `rollouts.changes`. */
export const rolloutGroupPageSchema = pageOf(rolloutGroupSchema);
/** Input of `rollouts.changes`. */
export const listGroupsInput = z.strictObject({
  rollout_id: idSchema,
  show_resources: z
    .number()
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe("How many resources each group shows, 0-100. Default 100."),
  ...pageInput,
});

/** Output of `rollouts.list`. */
export const rolloutPageSchema = pageOf(rolloutSchema);
/** Names one rollout. */
const rolloutIdInput = z.strictObject({ rollout_id: idSchema });
/** Input of `rollouts.pause`, `rollouts.resume` and `rollouts.cancel`. */
export const changeRolloutInput = rolloutIdInput.extend(showAgentsInput);
/** Input of `rollouts.get`. */
export const getRolloutInput = rolloutIdInput.extend({
  ...showAgentsInput,
  wait_seconds: waitInput.wait_seconds
    .unwrap()
    .optional()
    .describe("How long to wait for its end, 0-300. Default 0."),
});
/** Input of `rollouts.list`; every filter must hold. */
export const listRolloutsInput = z.strictObject({
  assignment: nameSchema.optional(),
  kind: z.enum(["apply", "plan", "run"]).optional(),
  status: rolloutStatusSchema.optional(),
  id_prefix: idPrefixSchema,
  ...pageInput,
});

/** Output of `rollouts.agents`. */
export const rolloutMemberPageSchema = pageOf(rolloutMemberSchema);
/** Input of `rollouts.agents`. */
export const listMembersInput = z.strictObject({
  rollout_id: idSchema,
  status: memberStatusSchema.optional(),
  changes: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits, as `changes` of a group")
    .optional()
    .describe("Only those of one group of `GET /rollouts/{rollout_id}/changes`."),
  ...pageInput,
});

/** How a rollout stands or ended. */
export type RolloutStatus = z.infer<typeof rolloutStatusSchema>;
/** How one agent of a rollout stands. */
export type MemberStatus = z.infer<typeof memberStatusSchema>;
/** What became of an agent of a rollout. */
export type MemberOutcome = z.infer<typeof memberOutcomeSchema>;
/** What a rollout came to. */
export type Recap = z.infer<typeof recapSchema>;
/** Agents of a rollout with equal changes. */
export type RolloutGroup = z.infer<typeof rolloutGroupSchema>;
/** An assignment carried out on the agents that it matched. */
export type Rollout = z.infer<typeof rolloutSchema>;
/** One agent of a rollout. */
export type RolloutMember = z.infer<typeof rolloutMemberSchema>;
/** A rollout with its agents. */
export type RolloutDetail = z.infer<typeof rolloutDetailSchema>;
