import { z } from "zod";
import {
  keyIdSchema,
  nameSchema,
  pageInput,
  pageOf,
  timestampSchema,
  versionSchema,
} from "../internal/common-schemas.ts";

const descriptionSchema = z
  .string()
  .max(1000)
  .regex(/^[^\p{C}]*$/u, "0-1,000 printable characters")
  .describe("What it is for, one line. Not secret.");

/** Which agents may get a secret. */
export const secretRestrictionSchema = z
  .strictObject({
    selector: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        "Agents that it matches. Over tags, names and node_ids: what agents say of themselves counts for nothing.",
      ),
    node_ids: z.array(keyIdSchema).min(1).max(1000).optional().describe("Agents by their ids."),
  })
  .refine(({ selector, node_ids }) => selector !== undefined || node_ids !== undefined, "names no agent")
  .describe("The agents that may get it: those that the selector matches, and those that are named.");

const value = z.string().max(87_384).describe("The value, 1 to 65,536 bytes. It is never shown again.");
const encoding = z
  .enum(["utf8", "base64"])
  .describe('How `value` is written: "utf8" as it is, "base64" where it is no text. Default "utf8".');

/** A secret as everyone sees it: everything but its value. */
export const secretSchema = z
  .object({
    name: nameSchema,
    description: z.string().optional(),
    version: versionSchema,
    value_version: z.number().int().describe("Rises by 1 with each new value."),
    restriction: z
      .object({ selector: z.string().optional(), node_ids: z.array(z.string()).optional() })
      .optional()
      .describe("The agents that may get it; absent = every agent."),
    expires_at: z.string().optional().describe("From then on it is given to no agent."),
    created_at: z.string(),
    created_by: z.string(),
    updated_at: z.string(),
    updated_by: z.string(),
    used_by: z.array(z.string()).describe("What uses it: modules, in their newest revision, by name."),
  })
  .meta({ id: "Secret" });

/** Output of `secrets.list`. */
export const secretPageSchema = pageOf(secretSchema);
/** Output of `secrets.rotateKey`. */
export const rotatedKeySchema = z.object({
  key_id: z.string().describe("Names the key that everything is encrypted with now; tells nothing of it."),
  rewrapped: z.number().int().describe("How many values this call encrypted anew."),
});

/** Input of `secrets.list`. */
export const listSecretsInput = z.strictObject(pageInput);
/** Names one secret. */
export const secretNameInput = z.strictObject({ name: nameSchema });
/** Input of `secrets.create`. */
export const createSecretInput = z.strictObject({
  name: nameSchema,
  value,
  encoding: encoding.optional(),
  description: descriptionSchema.optional(),
  restriction: secretRestrictionSchema.optional(),
  expires_at: timestampSchema.optional().describe("From then on it is given to no agent. Default never."),
});
/** Input of `secrets.update`; what is not given stays. */
export const updateSecretInput = z.strictObject({
  name: nameSchema,
  value: value.optional(),
  encoding: encoding.optional(),
  description: descriptionSchema.nullable().optional().describe("Null removes it."),
  restriction: secretRestrictionSchema.nullable().optional().describe("Null: every agent may get it."),
  expires_at: timestampSchema.nullable().optional().describe("Null: it does not expire."),
});

/** A secret, without its value. */
export type Secret = z.infer<typeof secretSchema>;
/** What came of a change of the key. */
export type RotatedKey = z.infer<typeof rotatedKeySchema>;
