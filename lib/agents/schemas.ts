import { z } from "zod";
import {
  idPrefixSchema,
  idSchema,
  keyIdSchema,
  pageInput,
  pageOf,
  personNameSchema,
  versionSchema,
} from "../internal/common-schemas.ts";
import { parseNetwork } from "../internal/network.ts";
import { moduleReferenceSchema } from "../module-format/module-reference.ts";

/** Whether an agent may do anything. */
export const approvalStatusSchema = z.enum(["pending", "approved", "rejected"]);

/** How an apply ended. */
export const appliedStatusSchema = z.enum([
  "succeeded",
  "failed",
  "partial",
  "cancelled",
  "timed_out",
  "interrupted",
  "unknown",
]);

/** How an apply ended, or any of the ways that left a machine otherwise than was asked for. */
export const appliedFilterSchema = z.enum([...appliedStatusSchema.options, "unsuccessful"]);

/** What a drift check found. */
export const foundStatusSchema = z.enum(["in_sync", "drifted"]);

/** What a drift check found, or that the newest one could not tell. */
export const driftFilterSchema = z.enum([...foundStatusSchema.options, "failed"]);

/** Key of a tag. */
export const tagKeySchema = z
  .string()
  .regex(
    /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_./-]{0,62}$/,
    "1-63 of letters, digits, '_', '.', '/', '-', starting with a letter or '_'; not __proto__",
  );

/** Value of a tag; may be empty. */
export const tagValueSchema = z
  .string()
  .max(255)
  .regex(/^[^\p{C}]*$/u, "0-255 printable characters");

/** All tags of one agent. */
export const tagsSchema = z
  .record(tagKeySchema, tagValueSchema)
  .refine((tags) => Object.keys(tags).length <= 64, "at most 64 tags");

/** Value of an attribute. */
export const attributeValueSchema = z.union([z.string(), z.number(), z.boolean()]);

/** An agent as everyone sees it. */
export const agentSchema = z
  .object({
    node_id: keyIdSchema,
    name: z.string().optional(),
    status: approvalStatusSchema,
    connected: z.boolean(),
    connected_since: z.string().optional().describe("When its connection began; absent where it has none."),
    hostname: z.string(),
    platform: z.string(),
    agent_version: z.string(),
    public_key: z.string().describe("Ed25519, lower-case hex."),
    remote_address: z.string().nullable(),
    first_seen_at: z.string(),
    last_seen_at: z.string(),
    approved_at: z.string().optional(),
    approved_by: z.string().optional(),
    replaced_by: keyIdSchema
      .optional()
      .describe(
        "The agent that took over its name, for good: it is let in again only by `agents.replace` of that one.",
      ),
    tags: z.record(z.string(), z.string()),
    last_apply: z
      .object({ operation_id: idSchema, status: appliedStatusSchema, finished_at: z.string() })
      .optional()
      .describe("How the newest apply that began has ended; absent where there was none."),
    drift: z
      .object({ drift_id: idSchema, status: foundStatusSchema, checked_at: z.string() })
      .optional()
      .describe(
        "What the newest drift check that could tell found; absent where there was none since everything was applied last.",
      ),
    failed_drift_check: z
      .object({ drift_id: idSchema, checked_at: z.string() })
      .optional()
      .describe("The newest drift check, where it failed: `drift` is of one before."),
    modules: z
      .record(z.string(), z.number().int())
      .optional()
      .describe("The revision that is in place of each module; absent where none is known."),
    attributes: z
      .record(z.string(), attributeValueSchema)
      .optional()
      .describe("Only where one agent is read."),
    version: versionSchema,
  })
  .meta({ id: "Agent" });

/** Output of `agents.list`. */
export const agentPageSchema = pageOf(agentSchema);
/** Names one agent. */
export const agentIdInput = z.strictObject({ node_id: keyIdSchema });
/** Input of `agents.refreshAttributes`. */
export const refreshAttributesInput = z.strictObject({
  node_id: keyIdSchema,
  wait_seconds: z
    .number()
    .min(1)
    .max(60)
    .optional()
    .describe("How long to wait for what the agent tells, 1-60. Default 10."),
});
/** Input of `agents.list`; every filter must hold. */
export const listAgentsInput = z.strictObject({
  status: approvalStatusSchema.optional(),
  connected: z.boolean().optional(),
  selector: z.string().optional().describe("Only agents that it matches."),
  module: moduleReferenceSchema
    .optional()
    .describe("Only agents that have this module, as `web`, or in one revision, as `web@2`."),
  secret_before: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}@[1-9][0-9]{0,8}$/, "a secret and a version, such as db-password@3")
    .optional()
    .describe(
      "Only agents that have a secret in an older version than this one, as `db-password@3`, as far as their last apply tells.",
    ),
  last_apply: appliedFilterSchema
    .optional()
    .describe(
      "Only agents whose newest apply ended so; `unsuccessful` is failed, partial, cancelled, timed_out or interrupted.",
    ),
  drift: driftFilterSchema
    .optional()
    .describe(
      "Only agents of which the newest drift check that could tell found this; `failed` is those whose newest check could not.",
    ),
  agent_version: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Only agents of this version of the program, such as `1.4.0`."),
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe("Only the agent of this name, the whole of it, without regard to case."),
  search: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("Part of the name or hostname, without regard to case."),
  id_prefix: idPrefixSchema,
  ...pageInput,
});
/** Input of `agents.setStatus`. */
export const setStatusInput = z.strictObject({
  node_id: keyIdSchema,
  status: z.enum(["approved", "rejected"]),
  name: personNameSchema
    .optional()
    .describe("Default the hostname, made valid and unique. Once set, `agents.rename` changes it."),
  expected_status: z
    .enum(["pending", "approved", "rejected"])
    .optional()
    .describe(
      "Decides only where the agent has this status when that is written; else `INVALID_TRANSITION`. Default any.",
    ),
});
/** Input of `agents.rejectPending`; every filter must hold. */
export const rejectPendingInput = z.strictObject({
  network: z
    .string()
    .refine((text) => parseNetwork(text) !== null, "an address or a network, such as 10.0.0.0/8")
    .optional()
    .describe("Only agents that came from this address or network, such as `203.0.113.0/24`."),
  connected: z.boolean().optional().describe("Only agents that are connected, or only those that are not."),
});
/** Output of `agents.rejectPending`. */
export const rejectedAgentsSchema = z.object({
  rejected: z.number().int(),
  remaining: z.number().int().describe("How many more pass the filters: call again."),
});
/** Output of `agents.attributes`. */
export const agentAttributesSchema = z.object({
  node_id: keyIdSchema,
  attributes: z.record(z.string(), attributeValueSchema),
  collected_at: z.string().nullable().describe("Null where the agent has told nothing yet."),
});

/** Input of `agents.tags.replace`. */
export const replaceTagsInput = z.strictObject({ node_id: keyIdSchema, tags: tagsSchema });
/** Input of `agents.tags.set`. */
export const setTagInput = z.strictObject({ node_id: keyIdSchema, key: tagKeySchema, value: tagValueSchema });
/** Input of `agents.tags.remove`. */
export const removeTagInput = z.strictObject({ node_id: keyIdSchema, key: tagKeySchema });
/** Output of `agents.tags.replace` and `agents.tags.set`: all tags as they are then. */
export const agentTagsSchema = z.object({ tags: z.record(z.string(), z.string()), version: versionSchema });
/** Output of `agents.tags.list`. */
export const tagListSchema = z.object({
  items: z.array(
    z.object({ key: z.string(), values: z.array(z.object({ value: z.string(), agents: z.number().int() })) }),
  ),
});

/** A machine of the fleet, known by its agent. */
export type Agent = z.infer<typeof agentSchema>;
/** How an apply ended. */
export type AppliedStatus = z.infer<typeof appliedStatusSchema>;
/** How an apply ended, or that it did not succeed. */
export type AppliedFilter = z.infer<typeof appliedFilterSchema>;
/** What a drift check found. */
export type FoundStatus = z.infer<typeof foundStatusSchema>;
/** What a drift check found, or that the newest one could not tell. */
export type DriftFilter = z.infer<typeof driftFilterSchema>;
/** All tags of one agent after a change of them. */
export type AgentTags = z.infer<typeof agentTagsSchema>;
/** Filters of `agents.rejectPending`. */
export type RejectPendingInput = z.infer<typeof rejectPendingInput>;
/** What `agents.rejectPending` did. */
export type RejectedAgents = z.infer<typeof rejectedAgentsSchema>;
/** What an agent tells of its machine. */
export type AgentAttributes = z.infer<typeof agentAttributesSchema>;
/** Every tag in use, with its values. */
export type TagList = z.infer<typeof tagListSchema>;
