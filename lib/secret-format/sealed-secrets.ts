/**
 * Secrets on their way to one agent, for one operation: sealed to the agent's box key, so that nothing between, and nobody who keeps a
 * message, reads them.
 *
 * The key comes from an exchange of a key that is made for this and the agent's own (X25519, HKDF-SHA-256 over both public keys, the
 * node_id and the operation); the box is ChaCha20-Poly1305. A box of another operation or agent does not open.
 */
import { z } from "zod";
import type { Crypto, KeyPair } from "../crypto/crypto.ts";
import { concatBytes, fromBase64, fromHex, toBase64, toHex, toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";

/** What travels with a command. Base64 of at most 12 MiB: what is left of the largest message is for the resources. */
export const sealedSecretsSchema = z.strictObject({
  ephemeral_key: z.string().regex(/^[0-9a-f]{64}$/),
  box: z.string().max(12 * 1024 * 1024),
});

/** Secrets that are sealed to one agent. */
export type SealedSecrets = z.infer<typeof sealedSecretsSchema>;

/** The values of an operation, and what stands in its resources in their place. */
export interface OperationSecrets {
  values: readonly Uint8Array[];
  /** Each placeholder, the form that it stands for, and whose value by its place in `values`. */
  places: readonly { text: string; form: string; value: number }[];
}

/** For whom, and for what. */
export interface SealingFor {
  nodeId: string;
  operationId: string;
}

const contentSchema = z.strictObject({
  values: z.array(z.string()),
  places: z.array(z.strictObject({ text: z.string(), form: z.string(), value: z.number().int().min(0) })),
});

const label = "fleetwright/1 secrets";
/** Each key seals once. */
const nonce = new Uint8Array(12);

/** Seals the secrets of an operation to an agent's box key, 32 bytes. */
export function sealSecrets(
  { values, places }: OperationSecrets,
  { crypto, boxKey, ...about }: SealingFor & { crypto: Crypto; boxKey: Uint8Array },
): SealedSecrets {
  const own = crypto.createExchangeKeyPair();
  const shared = crypto.exchange(own.secretKey, boxKey);
  if (shared === null)
    throw new OrchestratorError("KEY_REFUSED", { message: "The agent's box key can't be used." });
  const content = toUtf8(JSON.stringify({ values: values.map(toBase64), places }));
  const key = crypto.deriveKey(shared, concatBytes(own.publicKey, boxKey), infoOf(about), 32);
  return { ephemeral_key: toHex(own.publicKey), box: toBase64(crypto.seal(key, nonce, content)) };
}

/**
 * Opens them with the agent's own key.
 *
 * @throws {OrchestratorError} `SECRET_UNAVAILABLE` where they are not for this agent and operation.
 */
export function openSecrets(
  { ephemeral_key, box }: SealedSecrets,
  { crypto, own, ...about }: SealingFor & { crypto: Crypto; own: KeyPair },
): OperationSecrets {
  const ephemeral = fromHex(ephemeral_key)!;
  const shared = crypto.exchange(own.secretKey, ephemeral);
  const sealed = fromBase64(box);
  const key = shared && crypto.deriveKey(shared, concatBytes(ephemeral, own.publicKey), infoOf(about), 32);
  const opened = key && sealed ? crypto.open(key, nonce, sealed) : null;
  const content = opened && contentSchema.safeParse(JSON.parse(new TextDecoder().decode(opened))).data;
  const values = content?.values.map(fromBase64);
  if (!content || !values || values.some((value) => value === null))
    throw new OrchestratorError("SECRET_UNAVAILABLE", {
      message: "The secrets of the operation are not sealed to this agent.",
    });
  return { values: values as Uint8Array[], places: content.places };
}

function infoOf({ nodeId, operationId }: SealingFor): string {
  return `${label}\0${nodeId}\0${operationId}`;
}
