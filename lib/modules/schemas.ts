import { z } from "zod";
import { nameSchema, pageInput, pageOf } from "../internal/common-schemas.ts";

export const moduleSchema = z
  .object({
    name: nameSchema,
    description: z.string().optional(),
    revision: z.number().int().describe("1 for a new module, one more with each upload of other content."),
    content_hash: z.string().describe("SHA-256 of the content, hex."),
    size: z.number().int().describe("Bytes of the content."),
    resource_count: z.number().int(),
    uploaded_at: z.string(),
    uploaded_by: z.string(),
    used_by: z.array(z.string()).describe("Names of the assignments that use it."),
  })
  .meta({ id: "Module" });

export const moduleDetailSchema = moduleSchema
  .extend({
    content: z.string().describe("The YAML as uploaded."),
    resources: z.array(z.object({ id: z.string(), type: z.string(), identity: z.string() })),
  })
  .meta({ id: "ModuleDetail" });

export const uploadedModuleSchema = moduleSchema
  .extend({
    created: z.boolean().describe("Whether a revision was made; false where the content was there already."),
  })
  .meta({ id: "UploadedModule" });

export const modulePageSchema = pageOf(moduleSchema);
export const listModulesInput = z.strictObject(pageInput);
export const uploadModuleInput = z.strictObject({
  content: z.string().min(1).max(524_288).describe("YAML, at most 512 KiB."),
  name: nameSchema.optional().describe("Must equal the name in the content."),
});
export const getModuleInput = z.strictObject({
  name: nameSchema,
  revision: z.number().int().min(1).optional().describe("Default the newest."),
});
export const moduleNameInput = z.strictObject({ name: nameSchema });

export type Module = z.infer<typeof moduleSchema>;
export type UploadedModule = z.infer<typeof uploadedModuleSchema>;
export type ModuleDetail = z.infer<typeof moduleDetailSchema>;
