import type { Signer } from "../crypto/crypto.ts";

/** A storage that can be copied while it is in use. */
export interface StorageBackup {
  /**
   * All that is stored, keys and secrets among it, as one file in pieces: documents and logs of one moment, not before the
   * first piece is asked for, and of each blob and of the time series at least what was in it then. Commits go on meanwhile; `verifyBackup` and
   * `restoreBackup` read it. Whoever stops early calls `return`.
   *
   * @param signer - The orchestrator, whose key says later that nobody else made it.
   * @throws {OrchestratorError} `UNAVAILABLE` when another one is being read; `STORAGE_CLOSED`. While it is read, also
   *   `STORAGE_CORRUPT`.
   */
  archive(signer: Signer): AsyncIterable<Uint8Array>;
}
