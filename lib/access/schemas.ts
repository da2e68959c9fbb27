import { z } from "zod";
import { roles, roleSchema } from "../callers/roles.ts";
import {
  keyIdSchema,
  managedByChangeSchema,
  managedBySchema,
  pageInput,
  pageOf,
  personNameSchema,
  versionSchema,
} from "../internal/common-schemas.ts";
import { parsedUrl } from "../internal/url-text.ts";

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
    last_seen_at: z.string().optional().describe("The last sign-in; absent = none yet."),
    managed_by: managedBySchema.optional(),
    version: versionSchema,
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
  managed_by: managedBySchema.optional(),
});
/** Input of `operators.setRole`. */
export const setRoleInput = z.strictObject({
  operator_id: keyIdSchema,
  role: roleSchema,
  managed_by: managedByChangeSchema.optional(),
});

/** Whether a text is the origin of a URL, as `URL.origin` writes it. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && parsedUrl(text)?.origin === text;
}

/** Input of `access.challenge`. */
export const challengeInput = z.strictObject({
  public_key: publicKeyInput,
  audience: z
    .string()
    .max(300)
    .refine(isOrigin, "the origin of an http or https URL, e.g. https://fleet.example")
    .optional()
    .describe(
      "Origin at which the caller reaches the service, e.g. `https://fleet.example`: it becomes part of the text. Without it the text says `any`.",
    ),
  client_nonce: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "64 lower-case hex digits")
    .optional()
    .describe(
      "32 random bytes of the caller, hex: they become part of the text, so that its proof is a new one. Without it the text says `none`.",
    ),
});
/** Output of `access.challenge`. */
export const challengeSchema = z.object({
  challenge_id: z.string(),
  nonce: z.string().describe("32 random bytes, hex."),
  message: z
    .string()
    .describe(
      "The exact text to sign, as UTF-8. Rebuild it from its parts, and sign it where it is the same.",
    ),
  expires_at: z.string(),
  service: z.string().describe("Name of the service, as it stands in the text."),
  audience: z.string().describe("Origin for which the text is, or `any`."),
  orchestrator_key: z.string().describe("Public key of the orchestrator, lower-case hex."),
  proof: z
    .string()
    .describe(
      "Ed25519 signature by `orchestrator_key`, hex: over `fleetwright/1 sign-in challenge`, a zero byte and `message`.",
    ),
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
