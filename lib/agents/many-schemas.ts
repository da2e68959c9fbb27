/** What is decided about, tagged and named of many agents at once, and of one that stands in the place of another. */
import { z } from "zod";
import { keyIdSchema, personNameSchema } from "../internal/common-schemas.ts";
import { approvalStatusSchema, tagKeySchema, tagsSchema } from "./schemas.ts";

/** Most agents that one call changes. */
export const mostAgentsAtOnce = 1000;

/** Which agents a call is about. */
const whichInput = {
  node_ids: z
    .array(keyIdSchema)
    .min(1)
    .max(mostAgentsAtOnce)
    .optional()
    .describe("These agents, each once. This, or `selector`."),
  selector: z
    .string()
    .max(4096)
    .optional()
    .describe(
      "The agents that it matches, 1000 of them at a time, by node_id; `*` for all. Never rejected ones.",
    ),
  cursor: z
    .string()
    .max(4096)
    .optional()
    .describe("With `selector`: `next_cursor` of the call before, to go on behind it."),
};

/** Input of `agents.setStatuses`. */
export const setStatusesInput = z.strictObject({
  status: z.enum(["approved", "rejected"]),
  expected_status: approvalStatusSchema
    .optional()
    .describe(
      "Leaves out who has another status when it is written. Default any for `node_ids`; with `selector` only agents that wait are approved.",
    ),
  ...whichInput,
});

/** Input of `tags.change`. */
export const changeTagsInput = z
  .strictObject({
    set: tagsSchema.optional().describe("Tags to set; others stay."),
    remove: z
      .array(tagKeySchema)
      .min(1)
      .max(64)
      .optional()
      .describe("Keys to take away; one that an agent does not have changes nothing."),
    ...whichInput,
  })
  .refine(({ set = {}, remove = [] }) => Object.keys(set).length + remove.length > 0, "names no tag")
  .refine(({ set = {}, remove = [] }) => !remove.some((key) => Object.hasOwn(set, key)), {
    path: ["remove"],
    error: "a tag can't be set and taken away at once",
  });

/** Input of `agents.rename`. */
export const renameAgentInput = z.strictObject({
  node_id: keyIdSchema,
  name: personNameSchema.describe("Its name from now on; unique without regard to case."),
});

/** Input of `agents.setNames`. */
export const setNamesInput = z.strictObject({
  names: z
    .array(renameAgentInput)
    .min(1)
    .max(mostAgentsAtOnce)
    .optional()
    .describe("A name for each of these agents. This, or `from`."),
  from: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      "What each is named after: `hostname`, or an attribute. What can't stand in a name becomes `-`; what is behind a dot is left out.",
    ),
  ...whichInput,
});

/** Input of `agents.replace`. */
export const replaceAgentInput = z.strictObject({
  node_id: keyIdSchema.describe("The agent that is replaced."),
  by: keyIdSchema.describe("The agent that takes its place: one that waits, or is approved."),
  force: z
    .boolean()
    .optional()
    .describe(
      "Also where the old one is connected, or the new one was approved and applied to. Default false.",
    ),
});

/** What happened to one agent of many. */
export const agentOutcomeSchema = z
  .object({
    node_id: keyIdSchema,
    name: z.string().optional().describe("Its name afterwards; absent where it has none."),
    status: approvalStatusSchema.optional().describe("Its status afterwards; absent where it is gone."),
    outcome: z
      .enum(["changed", "unchanged", "left_out", "failed"])
      .describe(
        "`unchanged`: it was so already. `left_out`: it has another status than is expected, or somebody decided the same before.",
      ),
    error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .describe("Why it was left out, or failed."),
  })
  .meta({ id: "AgentOutcome" });

/** Output of verbs that change many agents. */
export const agentOutcomesSchema = z
  .object({
    items: z.array(agentOutcomeSchema).describe("Each agent that the call was about."),
    changed: z.number().int().describe("How many of them it changed."),
    unchanged: z.number().int().describe("How many were so already."),
    left_out: z.number().int().describe("How many somebody else had decided about, or were gone."),
    failed: z.number().int().describe("How many could not be changed."),
    next_cursor: z.string().nullable().describe("Where a selector matches more: pass it as `cursor`."),
  })
  .meta({ id: "AgentOutcomes" });

/** What happened to one agent of many. */
export type AgentOutcome = z.infer<typeof agentOutcomeSchema>;
/** What happened to each of many agents. */
export type AgentOutcomes = z.infer<typeof agentOutcomesSchema>;
