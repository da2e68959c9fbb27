import { z } from "zod";
import { keyIdSchema, pageInput, pageOf, personNameSchema } from "../internal/common-schemas.ts";

export const approvalStatusSchema = z.enum(["pending", "approved", "rejected"]);

export const tagKeySchema = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_./-]{0,62}$/, "1-63 of letters, digits, '_', '.', '/', '-', starting with a letter or '_'");

export const tagValueSchema = z
  .string()
  .max(255)
  .regex(/^[^\p{C}]*$/u, "0-255 printable characters");

export const tagsSchema = z
  .record(tagKeySchema, tagValueSchema)
  .refine((tags) => Object.keys(tags).length <= 64, "at most 64 tags");

export const attributeValueSchema = z.union([z.string(), z.number(), z.boolean()]);

export const agentSchema = z
  .object({
    node_id: keyIdSchema,
    name: z.string().optional(),
    status: approvalStatusSchema,
    connected: z.boolean(),
    hostname: z.string(),
    platform: z.string(),
    agent_version: z.string(),
    public_key: z.string().describe("Ed25519, lower-case hex."),
    remote_address: z.string().nullable(),
    first_seen_at: z.string(),
    last_seen_at: z.string(),
    approved_at: z.string().optional(),
    approved_by: z.string().optional(),
    tags: z.record(z.string(), z.string()),
    attributes: z.record(z.string(), attributeValueSchema).optional().describe("Only where one agent is read."),
  })
  .meta({ id: "Agent" });

export const agentPageSchema = pageOf(agentSchema);
export const agentIdInput = z.strictObject({ node_id: keyIdSchema });
export const listAgentsInput = z.strictObject({
  status: approvalStatusSchema.optional(),
  connected: z.boolean().optional(),
  selector: z.string().optional().describe("Only agents that it matches."),
  search: z.string().min(1).max(100).optional().describe("Part of the name or hostname, without regard to case."),
  ...pageInput,
});
export const setStatusInput = z.strictObject({
  node_id: keyIdSchema,
  status: z.enum(["approved", "rejected"]),
  name: personNameSchema.optional().describe("Default the hostname, made valid and unique. Once set it stays."),
});
export const agentAttributesSchema = z.object({
  node_id: keyIdSchema,
  attributes: z.record(z.string(), attributeValueSchema),
  collected_at: z.string().nullable().describe("Null where the agent has told nothing yet."),
});

export const replaceTagsInput = z.strictObject({ node_id: keyIdSchema, tags: tagsSchema });
export const setTagInput = z.strictObject({ node_id: keyIdSchema, key: tagKeySchema, value: tagValueSchema });
export const removeTagInput = z.strictObject({ node_id: keyIdSchema, key: tagKeySchema });
export const agentTagsSchema = z.object({ tags: z.record(z.string(), z.string()) });
export const tagListSchema = z.object({
  items: z.array(
    z.object({ key: z.string(), values: z.array(z.object({ value: z.string(), agents: z.number().int() })) }),
  ),
});

export type Agent = z.infer<typeof agentSchema>;
export type AgentAttributes = z.infer<typeof agentAttributesSchema>;
export type TagList = z.infer<typeof tagListSchema>;
