/** Checks Ed25519 signatures where there is nothing but a browser: by WebCrypto, or by tweetnacl where that does not know Ed25519. */
import type tweetnacl from "tweetnacl";

const algorithm = { name: "Ed25519" } as const;

/** A text, who is said to have signed it, and the signature. */
export interface SignedText {
  /** 32 bytes. */
  publicKey: Uint8Array<ArrayBuffer>;
  /** Signed as UTF-8. */
  message: string;
  /** 64 bytes. */
  signature: Uint8Array<ArrayBuffer>;
}

/** Whether a signature is that of a text. False for a key or a signature that is none. */
export async function verifySignature({ publicKey, message, signature }: SignedText): Promise<boolean> {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const bytes = new TextEncoder().encode(message);
  // A page without a secure context has no `subtle`, whatever its type says.
  const subtle = crypto.subtle as typeof crypto.subtle | undefined;
  try {
    const key = await subtle?.importKey("raw", publicKey, algorithm, false, ["verify"]);
    if (subtle && key) return await subtle.verify(algorithm, key, signature, bytes);
  } catch (error) {
    if ((error as Error).name !== "NotSupportedError") return false;
  }
  const { sign } = await loadTweetnacl();
  return sign.detached.verify(bytes, signature, publicKey);
}

/** Loaded where it is needed: most browsers know Ed25519. */
export async function loadTweetnacl(): Promise<typeof tweetnacl> {
  return (await import("tweetnacl")).default;
}
