import { afterEach, expect, test, vi } from "vitest";
import { nodeCrypto } from "fleetwright";
import { verifySignature } from "../../../adapters/client/verify.ts";

const { publicKey, secretKey } = nodeCrypto.createSigningKeyPair();
const message = "a text with ü";
const signature = nodeCrypto.createSigner(secretKey).sign(new TextEncoder().encode(message));
const signed = { publicKey: new Uint8Array(publicKey), message, signature: new Uint8Array(signature) };

afterEach(() => void vi.restoreAllMocks());

test.each(["knows Ed25519", "does not know Ed25519"])(
  "in a browser that %s, only the right signature is one",
  async (which) => {
    if (which !== "knows Ed25519")
      vi.spyOn(crypto.subtle, "importKey").mockRejectedValue(new DOMException("No.", "NotSupportedError"));
    const wrong = signed.signature.map((byte, at) => (at === 5 ? byte ^ 1 : byte));
    const answers = await Promise.all(
      [
        signed,
        { ...signed, message: `${message}.` },
        { ...signed, signature: wrong },
        { ...signed, signature: signed.signature.slice(1) },
        { ...signed, publicKey: signed.publicKey.slice(1) },
      ].map(verifySignature),
    );
    expect(answers).toEqual([true, false, false, false, false]);
  },
);
