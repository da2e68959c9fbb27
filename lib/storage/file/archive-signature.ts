/**
 * Whose a backup is. Checksums tell a damaged one; a made-up one is told by the signature of the orchestrator's key, over the digest
 * of everything before it.
 */
import type { Signer } from "../../crypto/crypto.ts";
import { concatBytes, fromHex, toHex, toUtf8 } from "../../crypto/encoding.ts";
import { nodeCrypto } from "../../crypto/node-crypto.ts";
import { parsePublicKey } from "../../crypto/parse-public-key.ts";
import { OrchestratorError } from "../../errors.ts";

/** Whose backup is expected. */
export interface BackupOrigin {
  /**
   * The public key of the orchestrator that must have signed it, 64 hex digits or base64. Known from elsewhere: a backup that was
   * made up names the key of whoever made it.
   */
  orchestratorKey?: string;
  /**
   * Whether one without a signature is taken, as versions before signatures made them: anybody can make one. Default false; where a key
   * is expected, none is taken without.
   */
  unsigned?: boolean;
}

/** A signature for one purpose never fits another. */
const label = toUtf8("fleetwright/1 backup\0");

/** Signs the digest of an archive, 32 bytes. Resolves with hex. */
export function signArchive(signer: Signer, digest: Uint8Array): string {
  return toHex(signer.sign(concatBytes(label, digest)));
}

/** Whether a key (hex) has signed the digest of an archive (hex). */
export function hasSigned(key: string, digest: string, signature: string): boolean {
  const [publicKey, bytes, signed] = [fromHex(key), fromHex(digest), fromHex(signature)];
  if (!publicKey || !bytes || !signed) return false;
  return nodeCrypto.verify(publicKey, concatBytes(label, bytes), signed);
}

/**
 * Compares the key that an archive names with the one that is expected. What it names is not proved before its end.
 *
 * @param key - Hex; null where the archive is not signed.
 * @throws {OrchestratorError} `BACKUP_UNSIGNED`; `ORCHESTRATOR_KEY_CHANGED` with `details { orchestrator_key, expected_key }`;
 *   `KEY_REFUSED` where what is expected is no key.
 */
export function checkOrigin(key: string | null, { orchestratorKey, unsigned = false }: BackupOrigin): void {
  const expected = orchestratorKey === undefined ? null : parsePublicKey(orchestratorKey, nodeCrypto).hex;
  if (key === null) {
    if (unsigned && expected === null) return;
    throw new OrchestratorError("BACKUP_UNSIGNED");
  }
  if (key === expected) return;
  const wanted = unsigned ? "one without a signature was" : "no key was";
  throw new OrchestratorError("ORCHESTRATOR_KEY_CHANGED", {
    message: `The backup is signed by the orchestrator key ${key}, ${expected === null ? `and ${wanted} expected` : `not by ${expected}`}.`,
    details: { orchestrator_key: key, expected_key: expected },
  });
}
