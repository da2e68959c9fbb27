import type { Signer } from "../../crypto/crypto.ts";
import { OrchestratorError } from "../../errors.ts";
import type { StorageBackup } from "../storage.ts";
import { writeArchive } from "./archive.ts";
import { storageError } from "./errors.ts";

/** Backups of an open folder, one at a time. */
export class FolderBackup implements StorageBackup {
  readonly #check: () => void;
  readonly #parts: () => Parameters<typeof writeArchive>[0];
  #isBackingUp = false;

  /**
   * @param storage - `check` throws where the storage is not open (any more); `parts` are what a backup holds, as of the call.
   */
  constructor({ check, parts }: { check: () => void; parts: () => Parameters<typeof writeArchive>[0] }) {
    this.#check = check;
    this.#parts = parts;
  }

  archive(signer: Signer): AsyncIterable<Uint8Array> {
    this.#checkFree();
    return this.#archive(signer);
  }

  #checkFree(): void {
    this.#check();
    if (!this.#isBackingUp) return;
    throw new OrchestratorError("UNAVAILABLE", { message: "Another backup is being made." });
  }

  async *#archive(signer: Signer): AsyncGenerator<Uint8Array> {
    this.#checkFree();
    this.#isBackingUp = true;
    try {
      for await (const piece of writeArchive(this.#parts(), signer)) {
        yield piece;
        this.#check();
      }
    } catch (error) {
      throw storageError(error);
    } finally {
      this.#isBackingUp = false;
    }
  }
}
