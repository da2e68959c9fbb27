import { z } from "zod";
import { tagKeySchema } from "../agents/schemas.ts";
import {
  managedByChangeSchema,
  managedBySchema,
  maxRemovalsSchema,
  nameSchema,
  pageInput,
  pageOf,
  versionSchema,
} from "../internal/common-schemas.ts";
import { linearJson } from "../internal/json-value.ts";
import { moduleReferencesSchema } from "../module-format/module-reference.ts";
import { paramValuesSchema } from "../modules/schemas.ts";
import { scheduleSchema } from "../schedules/schedule.ts";

const selectorInput = z
  .string()
  .min(1)
  .max(4096)
  .describe("Which agents. `*` is every agent and must be written.");
const modulesInput = moduleReferencesSchema
  .min(1)
  .describe("Modules: `web` in its newest revision at the time of each apply, `web@3` pinned to that one.");

const countOrShare = (least: 0 | 1) =>
  z.union([
    z.number().int().min(least).max(1_000_000),
    z
      .string()
      .regex(least === 0 ? /^(100|[1-9]?\d)%$/ : /^(100|[1-9]\d?)%$/, "a number, or a share such as 10%"),
  ]);

/** How a rollout goes through the agents. */
export const rolloutStrategySchema = z
  .strictObject({
    batch: countOrShare(1)
      .optional()
      .describe("Agents of a batch, or a share of all, rounded down but at least 1. Default all at once."),
    max_failures: countOrShare(0)
      .optional()
      .describe(
        "Failures after which no further agent is begun; a share is of the agents begun so far, rounded down. Default 0 after each batch.",
      ),
    canary: z
      .number()
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe("Agents of a first batch of its own. One failure there ends the rollout."),
    pause_seconds: z
      .number()
      .int()
      .min(0)
      .max(604_800)
      .optional()
      .describe("How long to wait after each batch. Default 0."),
    group_by: tagKeySchema
      .optional()
      .describe(
        "A tag key: agents with different values are never in one batch. Without the tag is a group, too.",
      ),
    order: z
      .enum(["name", "node_id", "shuffled"])
      .optional()
      .describe("In which order agents come. Default name."),
    max_removals: maxRemovalsSchema.optional(),
    when_offline: z
      .enum(["fail", "queue"])
      .optional()
      .describe("Whether an agent that is away fails or is waited for. Default fail."),
    expires_in_seconds: z
      .number()
      .int()
      .min(1)
      .max(2_592_000)
      .optional()
      .describe("How long an agent that is away is waited for. Default 3,600."),
  })
  .meta({ id: "RolloutStrategy" });

/** An assignment as lists show it. */
export const assignmentSchema = z
  .object({
    name: nameSchema,
    description: z.string().optional(),
    selector: z.string(),
    modules: z.array(z.string()).describe("As they were given: `web`, or `web@3` where it is pinned."),
    revisions: z
      .array(z.object({ name: z.string(), revision: z.number().int(), pinned: z.boolean() }))
      .describe(
        "The revisions that an apply begun now would bring; `pinned` where the assignment says which.",
      ),
    params: z
      .record(z.string(), linearJson())
      .optional()
      .describe(
        'Values for the params of its modules; in lists, and for Viewers, "(sensitive)" where a module keeps one secret.',
      ),
    rollout: rolloutStrategySchema.optional(),
    schedule: scheduleSchema.optional(),
    next_run_at: z.string().optional().describe("When the schedule is due next."),
    enforce: z.boolean(),
    unattended_removals: z.boolean(),
    managed_by: managedBySchema.optional(),
    created_at: z.string(),
    created_by: z.string(),
    matches: z.number().int().describe("How many approved agents the selector matches now."),
    version: versionSchema,
  })
  .meta({ id: "Assignment" });

/** Output of `assignments.get`. */
export const assignmentDetailSchema = assignmentSchema
  .extend({
    matched_agents: z.array(
      z.object({
        node_id: z.string(),
        name: z.string(),
        revision_applied: z
          .record(z.string(), z.number().int())
          .describe(
            "Of each module of the assignment, the revision that the agent has; absent where it has none.",
          ),
      }),
    ),
  })
  .meta({ id: "AssignmentDetail" });

/** Output of `assignments.list`. */
export const assignmentPageSchema = pageOf(assignmentSchema);
/** Input of `assignments.list`. */
export const listAssignmentsInput = z.strictObject(pageInput);
/** Names one assignment. */
export const assignmentNameInput = z.strictObject({ name: nameSchema });

const enforceInput = z
  .boolean()
  .optional()
  .describe("Whether what was applied is applied again where a drift check finds it changed. Default false.");
const unattendedRemovalsInput = z
  .boolean()
  .optional()
  .describe(
    "Whether its schedule and `enforce` remove what is not desired any more. Else that is left for an apply that somebody asks for. Default false.",
  );
/** Input of `assignments.create`. */
export const createAssignmentInput = z.strictObject({
  name: nameSchema,
  description: z.string().max(1000).optional(),
  selector: selectorInput,
  modules: modulesInput,
  params: paramValuesSchema.optional(),
  rollout: rolloutStrategySchema.optional().describe("How it is applied where a call says nothing else."),
  schedule: scheduleSchema.optional().describe("When it is applied by itself. Default never."),
  enforce: enforceInput,
  unattended_removals: unattendedRemovalsInput,
  managed_by: managedBySchema.optional(),
});
/** Input of `assignments.update`; what is absent stays, and null takes away. */
export const updateAssignmentInput = z.strictObject({
  name: nameSchema,
  description: z.string().max(1000).optional(),
  selector: selectorInput.optional(),
  modules: modulesInput.optional(),
  params: paramValuesSchema.optional().describe("Replaces all of them; {} takes them away."),
  rollout: rolloutStrategySchema.nullable().optional(),
  schedule: scheduleSchema.nullable().optional(),
  enforce: enforceInput,
  unattended_removals: unattendedRemovalsInput,
  managed_by: managedByChangeSchema.optional(),
});

/** Which modules go to which agents. */
export type Assignment = z.infer<typeof assignmentSchema>;
/** An assignment with the agents that it matches now. */
export type AssignmentDetail = z.infer<typeof assignmentDetailSchema>;
/** How a rollout goes through the agents. */
export type RolloutStrategy = z.infer<typeof rolloutStrategySchema>;
