import { z } from "zod";
import { keyIdSchema, pageInput, pageOf, personNameSchema } from "../internal/common-schemas.ts";
import { roles, roleSchema } from "./roles.ts";

const publicKeyInput = z
  .string()
  .min(1)
  .max(100)
  .describe("Ed25519 public key, 32 bytes, as 64 hex digits or base64.");

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

export const operatorPageSchema = pageOf(operatorSchema);
export const operatorIdInput = z.strictObject({ operator_id: keyIdSchema });
export const listOperatorsInput = z.strictObject(pageInput);
export const addOperatorInput = z.strictObject({
  username: personNameSchema,
  public_key: publicKeyInput,
  role: roleSchema.optional().describe("Default Operator."),
});
export const setRoleInput = z.strictObject({ operator_id: keyIdSchema, role: roleSchema });

export const challengeInput = z.strictObject({ public_key: publicKeyInput });
export const challengeSchema = z.object({
  challenge_id: z.string(),
  nonce: z.string().describe("32 random bytes, hex."),
  message: z.string().describe("The exact text to sign, as UTF-8."),
  expires_at: z.string(),
});
export const verifyInput = z.strictObject({
  challenge_id: z.string().min(1).max(1000),
  signature: z.string().min(1).max(200).describe("Ed25519 signature of `message`, 64 bytes, as hex or base64."),
});
export const sessionSchema = z.object({
  token: z.string().describe("Secret. Send it as `Authorization: Bearer`; it is shown once."),
  expires_at: z.string().describe("When the session ends in any case."),
  operator: operatorSchema,
});
export const sessionInfoSchema = z.object({ expires_at: z.string(), operator: operatorSchema });

export type Operator = z.infer<typeof operatorSchema>;
export type Challenge = z.infer<typeof challengeSchema>;
export type Session = z.infer<typeof sessionSchema>;
