import type { Crypto, Signer } from "./crypto/crypto.ts";
import { fromHex, toHex } from "./crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "./errors.ts";
import type { Storage } from "./storage/storage.ts";

/** The orchestrator's own key: what agents pin, and what it signs commands with. */
export interface Identity {
  signer: Signer;
  /** Secret, 32 bytes: other secrets of the orchestrator are derived from it. */
  secret: Uint8Array;
}

/** Reads the identity from the storage, making one at the first start. Where two processes start first, one wins. */
export async function loadIdentity(storage: Storage, crypto: Crypto): Promise<Identity> {
  for (;;) {
    const stored = await storage.get<{ secret: string }>("settings", "identity");
    if (stored) return toIdentity(stored.value.secret, crypto);
    const value = { secret: toHex(crypto.createSigningKeyPair().secretKey) };
    try {
      await storage.commit([{ kind: "put", collection: "settings", key: "identity", value, expected: 0 }]);
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }
}

function toIdentity(text: string, crypto: Crypto): Identity {
  const secret = fromHex(text);
  if (secret?.length !== 32)
    throw new OrchestratorError("STORAGE_CORRUPT", { message: "The identity key is damaged." });
  return { signer: crypto.createSigner(secret), secret };
}
