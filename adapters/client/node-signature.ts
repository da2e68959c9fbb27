import { createPublicKey, verify } from "node:crypto";
import type { SignedText } from "./verify.ts";

/** Whether a signature is that of a text, with Node's own cryptography; false for a key that is none. */
export function isSignature({ publicKey, message, signature }: SignedText): boolean {
  const x = Buffer.from(publicKey).toString("base64url");
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.from(message, "utf8"), key, signature);
  } catch {
    return false;
  }
}
