import { z } from "zod";
import { nameSchema, pageInput, pageOf } from "../internal/common-schemas.ts";
import { paramValuesSchema } from "../modules/schemas.ts";

const selectorInput = z
  .string()
  .min(1)
  .max(4096)
  .describe("Which agents. `*` is every agent and must be written.");
const modulesInput = z.array(nameSchema).min(1).max(100).describe("Names of modules.");

/** An assignment as lists show it. */
export const assignmentSchema = z
  .object({
    name: nameSchema,
    description: z.string().optional(),
    selector: z.string(),
    modules: z.array(z.string()),
    params: z.record(z.string(), z.json()).optional().describe("Values for the params of its modules."),
    created_at: z.string(),
    created_by: z.string(),
    matches: z.number().int().describe("How many approved agents the selector matches now."),
  })
  .meta({ id: "Assignment" });

/** Output of `assignments.get`. */
export const assignmentDetailSchema = assignmentSchema
  .extend({ matched_agents: z.array(z.object({ node_id: z.string(), name: z.string() })) })
  .meta({ id: "AssignmentDetail" });

/** Output of `assignments.list`. */
export const assignmentPageSchema = pageOf(assignmentSchema);
/** Input of `assignments.list`. */
export const listAssignmentsInput = z.strictObject(pageInput);
/** Names one assignment. */
export const assignmentNameInput = z.strictObject({ name: nameSchema });
/** Input of `assignments.create`. */
export const createAssignmentInput = z.strictObject({
  name: nameSchema,
  description: z.string().max(1000).optional(),
  selector: selectorInput,
  modules: modulesInput,
  params: paramValuesSchema.optional(),
});
/** Input of `assignments.update`; what is absent stays. */
export const updateAssignmentInput = z.strictObject({
  name: nameSchema,
  description: z.string().max(1000).optional(),
  selector: selectorInput.optional(),
  modules: modulesInput.optional(),
  params: paramValuesSchema.optional().describe("Replaces all of them; {} takes them away."),
});

/** Which modules go to which agents. */
export type Assignment = z.infer<typeof assignmentSchema>;
/** An assignment with the agents that it matches now. */
export type AssignmentDetail = z.infer<typeof assignmentDetailSchema>;
