import { z } from "zod";
import { tagsSchema } from "../agents/schemas.ts";
import { idSchema, pageInput, pageOf, versionSchema } from "../internal/common-schemas.ts";

/** Longest life of a token, seconds. */
const longestSeconds = 365 * 86_400;

/** Whether a token approves another machine, and else why not. */
export const enrolmentTokenStatusSchema = z.enum(["active", "used_up", "expired", "revoked"]);

/** An enrolment token, without the token itself. */
export const enrolmentTokenSchema = z
  .object({
    id: idSchema,
    name: z.string().optional(),
    status: enrolmentTokenStatusSchema.describe("Whether it approves another machine, and else why not."),
    uses: z.number().int().describe("How many machines it approves."),
    used: z.number().int().describe("How many it has approved."),
    tags: z.record(z.string(), z.string()).describe("What the agents get that it approves."),
    expires_at: z.string().describe("From when on it approves nobody."),
    created_at: z.string(),
    created_by: z.string(),
    last_used_at: z.string().optional().describe("Absent where it approved nobody yet."),
    revoked_at: z.string().optional().describe("Absent where nobody revoked it."),
    version: versionSchema,
  })
  .meta({ id: "EnrolmentToken" });

/** Output of `enrolmentTokens.create`. */
export const createdEnrolmentTokenSchema = enrolmentTokenSchema
  .extend({ token: z.string().describe("The token itself, a secret: it is told here, and never again.") })
  .meta({ id: "CreatedEnrolmentToken" });

/** Output of `enrolmentTokens.list`. */
export const enrolmentTokenPageSchema = pageOf(enrolmentTokenSchema);
/** Input of `enrolmentTokens.list`. */
export const listEnrolmentTokensInput = z.strictObject(pageInput);
/** Names one token. */
export const enrolmentTokenIdInput = z.strictObject({ id: idSchema });

/** Input of `enrolmentTokens.create`. */
export const createEnrolmentTokenInput = z.strictObject({
  name: z
    .string()
    .max(100)
    .regex(/^[^\p{C}]+$/u, "must be one line of text")
    .optional()
    .describe("What people call it, 1-100 characters."),
  uses: z
    .number()
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe("How many machines it approves, 1-100,000. Default 1."),
  expires_in_seconds: z
    .number()
    .int()
    .min(1)
    .max(longestSeconds)
    .optional()
    .describe("For how long it approves machines, 1-31,536,000. Default 86,400, a day."),
  tags: tagsSchema.optional().describe("What the agents get that it approves. Default none."),
});

/** An enrolment token, without the token itself. */
export type EnrolmentToken = z.infer<typeof enrolmentTokenSchema>;
/** A new enrolment token, with the token itself. */
export type CreatedEnrolmentToken = z.infer<typeof createdEnrolmentTokenSchema>;
