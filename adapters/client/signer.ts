import type { SignedText } from "./verify.ts";

/** Signs as an operator. The private key may be kept anywhere, e.g. as a WebCrypto key that can't be exported. */
export interface OperatorSigner {
  /** Ed25519 public key, as 64 hex digits or base64. */
  publicKey: string;
  /** Ed25519 signature of the text as UTF-8, 64 bytes. */
  sign(message: string): Uint8Array | Promise<Uint8Array>;
  /** Whether an Ed25519 signature is that of a text; false for a key that is none. Default: WebCrypto's, or tweetnacl's. */
  verify?(signed: SignedText): boolean | Promise<boolean>;
}
