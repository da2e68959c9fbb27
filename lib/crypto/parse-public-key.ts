import { OrchestratorError } from "../errors.ts";
import type { Crypto } from "./crypto.ts";
import { fromBase64, fromHex, nodeIdOf, toHex } from "./encoding.ts";

/** A public key that was checked. */
export interface CheckedPublicKey {
  /** 32 bytes, lower-case hex. */
  hex: string;
  /** The identifier derived from it; see {@link nodeIdOf}. */
  id: string;
}

/**
 * Reads an Ed25519 public key given as hex or base64.
 *
 * @throws {OrchestratorError} `KEY_REFUSED` where it is not 32 bytes, not on the curve, or of small order.
 */
export function parsePublicKey(text: string, crypto: Crypto): CheckedPublicKey {
  const bytes = decodeBytes(text, 32);
  if (!bytes) {
    throw refused("is not 32 bytes in hex or base64");
  }
  if (!crypto.isAcceptablePublicKey(bytes)) {
    throw refused("is not a usable Ed25519 key");
  }
  return { hex: toHex(bytes), id: nodeIdOf(bytes, crypto) };
}

/** Reads bytes that people may write as hex or base64; null where it is neither, or not of that length. */
export function decodeBytes(text: string, length: number): Uint8Array | null {
  const bytes = text.length === length * 2 ? fromHex(text.toLowerCase()) : fromBase64(text);
  return bytes?.length === length ? bytes : null;
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("KEY_REFUSED", { issues: [{ path: ["public_key"], message }] });
}
