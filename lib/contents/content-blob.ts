/** Blobs named after the SHA-256 of their content: equal content is kept once, and reading checks it. */
import type { Crypto } from "../crypto/crypto.ts";
import { toHex } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";

/** Keeps content under `kind`, durable when resolved, and returns its hash. */
export async function saveContent(
  { storage, crypto }: { storage: Storage; crypto: Crypto },
  kind: string,
  content: Uint8Array,
): Promise<string> {
  const hash = toHex(crypto.sha256(content));
  const id = `${kind}-${hash}`;
  try {
    await storage.appendBlob(id, content, 0);
  } catch (error) {
    if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    const present = await storage.readBlob(id);
    if (present && toHex(crypto.sha256(present)) === hash) return hash;
    // A write that a crash cut short: nothing refers to it yet.
    await storage.commit([{ kind: "dropBlob", id }], { reserve: true });
    await storage.appendBlob(id, content, 0);
  }
  return hash;
}

/** Reads content back; `STORAGE_CORRUPT` where it is missing or not what its name says. */
export async function readContent(
  { storage, crypto }: { storage: Storage; crypto: Crypto },
  kind: string,
  hash: string,
): Promise<Uint8Array> {
  const content = await storage.readBlob(`${kind}-${hash}`);
  if (content && toHex(crypto.sha256(content)) === hash) return content;
  const blob = `${kind}-${hash}`;
  throw new OrchestratorError("STORAGE_CORRUPT", {
    message: `The stored data is damaged: the blob ${blob} ${content === null ? "is missing" : "does not match its content hash"}.`,
    details: { blob, missing: content === null },
  });
}
