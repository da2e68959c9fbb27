import { z } from "zod";
import {
  managedByChangeSchema,
  managedBySchema,
  nameSchema,
  pageInput,
  pageOf,
} from "../internal/common-schemas.ts";
import { linearJson } from "../internal/json-value.ts";
import { paramValuesSchema } from "../module-format/params.ts";

/** A module as lists show it. */
export const moduleSchema = z
  .object({
    name: nameSchema,
    description: z.string().optional(),
    revision: z
      .number()
      .int()
      .describe("1 for a new module, one more with each upload of other content, or for another folder."),
    content_hash: z.string().describe("SHA-256 of the content, hex; for Viewers, of what they see of it."),
    size: z.number().int().describe("Bytes of the content; for Viewers, of what they see of it."),
    resource_count: z.number().int(),
    uploaded_at: z.string(),
    uploaded_by: z.string(),
    managed_by: managedBySchema.optional(),
    used_by: z
      .array(z.string())
      .describe(
        'Names of the assignments that use it, "module <name>" for each module that requires it, and "rollout <id>" for each rollout that has not ended.',
      ),
  })
  .meta({ id: "Module" });

const paramViewSchema = z
  .object({
    type: z.enum(["string", "integer", "number", "boolean", "array", "object"]),
    default: linearJson().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    enum: z.array(z.union([z.string(), z.number()])).optional(),
    pattern: z.string().optional(),
    description: z.string().optional(),
    sensitive: z.boolean().optional(),
  })
  .describe("As the module declares it; without a default it must be given.");

/** Output of `modules.get`. */
export const moduleDetailSchema = moduleSchema
  .extend({
    content: z
      .string()
      .describe(
        'The YAML as uploaded; for Viewers with "(sensitive)" in the place of each value that is secret.',
      ),
    params: z
      .record(z.string(), paramViewSchema)
      .describe("What may be set where the module is used, by name."),
    resources: z.array(z.object({ id: z.string(), type: z.string(), identity: z.string() })),
  })
  .meta({ id: "ModuleDetail" });

/** Output of `modules.upload`. */
export const uploadedModuleSchema = moduleSchema
  .extend({
    created: z.boolean().describe("Whether a revision was made; false where the content was there already."),
  })
  .meta({ id: "UploadedModule" });

/** Output of `modules.list`. */
export const modulePageSchema = pageOf(moduleSchema);
/** Input of `modules.list`. */
export const listModulesInput = z.strictObject(pageInput);
/** Input of `modules.upload`. */
export const uploadModuleInput = z.strictObject({
  content: z.string().min(1).max(524_288).describe("YAML, at most 512 KiB."),
  name: nameSchema.optional().describe("Must equal the name in the content."),
  managed_by: managedByChangeSchema
    .optional()
    .describe("The folder that manages it from now on; null = none does. Absent = as before."),
});
/** Input of `modules.get`. */
export const getModuleInput = z.strictObject({
  name: nameSchema,
  revision: z.number().int().min(1).optional().describe("Default the newest."),
});
/** Names one module. */
export const moduleNameInput = z.strictObject({ name: nameSchema });

export { paramValuesSchema };

/** A module in one revision, without its content. */
export type Module = z.infer<typeof moduleSchema>;
/** A module after its upload. */
export type UploadedModule = z.infer<typeof uploadedModuleSchema>;
/** A module with its content. */
export type ModuleDetail = z.infer<typeof moduleDetailSchema>;
