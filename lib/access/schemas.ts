import { z } from "zod";
import { keyIdSchema, pageInput, pageOf, personNameSchema } from "../internal/common-schemas.ts";
import { roles, roleSchema } from "./roles.ts";

const publicKeyInput = z
  .string()
  .min(1)
  .max(100)
  .describe("Ed25519 public key, 32 bytes, as 64 hex digits or base64.");

/** An operator as everyone sees it. */
export const operatorSchema = z
  .object({
    operator_id: keyIdSchema,
    username: z.string(),
    role: z.enum(roles),
    public_key: z.string().describe("Lower-case hex."),
    added_at: z.string(),
    added_by: z.string(),
    last_seen_at: z.string().optional(),
  })
  .meta({ id: "Operator" });

/** Output of `operators.list`. */
export const operatorPageSchema = pageOf(operatorSchema);
/** Names one operator. */
export const operatorIdInput = z.strictObject({ operator_id: keyIdSchema });
/** Input of `operators.list`. */
export const listOperatorsInput = z.strictObject(pageInput);
/** Input of `operators.add`. */
export const addOperatorInput = z.strictObject({
  username: personNameSchema,
  public_key: publicKeyInput,
  role: roleSchema.optional().describe("Default Operator."),
});
/** Input of `operators.setRole`. */
export const setRoleInput = z.strictObject({ operator_id: keyIdSchema, role: roleSchema });

/** Input of `access.challenge`. */
export const challengeInput = z.strictObject({ public_key: publicKeyInput });
/** Output of `access.challenge`. */
export const challengeSchema = z.object({
  challenge_id: z.string(),
  nonce: z.string().describe("32 random bytes, hex."),
  message: z.string().describe("The exact text to sign, as UTF-8."),
  expires_at: z.string(),
});
/** Input of `access.verify`. */
export const verifyInput = z.strictObject({
  challenge_id: z.string().min(1).max(1000),
  signature: z
    .string()
    .min(1)
    .max(200)
    .describe("Ed25519 signature of `message`, 64 bytes, as hex or base64."),
});
/** Output of `access.verify`. */
export const sessionSchema = z.object({
  token: z.string().describe("Secret. Send it as `Authorization: Bearer`; it is shown once."),
  expires_at: z.string().describe("When the session ends in any case."),
  operator: operatorSchema,
});
/** Output of `access.session`. */
export const sessionInfoSchema = z.object({ expires_at: z.string(), operator: operatorSchema });

/** Somebody who may sign in. */
export type Operator = z.infer<typeof operatorSchema>;
/** A text to sign, and until when. */
export type Challenge = z.infer<typeof challengeSchema>;
/** A session that has just begun, with its token. */
export type Session = z.infer<typeof sessionSchema>;
