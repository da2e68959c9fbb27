import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";

/** Copies of everything that the orchestrator keeps, made while it runs. */
export class Backups {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Makes a backup: one file, in pieces, that `verifyBackup` and `restoreBackup` read. It holds everything, the orchestrator's
   * own key and all secrets among it: whoever has it can be this orchestrator. It is signed by that key, so that a restore can tell it from
   * one that somebody else made.
   *
   * What was answered before the first piece is asked for is in it; changes go on meanwhile. Stop early with `return`.
   *
   * @throws {OrchestratorError} `NOT_FOUND` when the storage makes no backups of its own; `UNAVAILABLE` when another
   *   one is being made. While the pieces are read, what
   *   {@link StorageBackup.archive} throws.
   */
  async create(caller: Caller): Promise<AsyncIterable<Uint8Array>> {
    await this.#context.authorize(caller, "backups.create");
    const { identity, storage } = this.#context;
    const { backup } = storage;
    if (backup === null) {
      throw new OrchestratorError("NOT_FOUND", { message: "The storage makes no backups of its own." });
    }
    const event = { type: "storage.backedUp", summary: "A backup of everything was taken" } as const;
    const archive = backup.archive(identity);
    // With the reserve: a full disk is when somebody wants one. The event is in the backup, which begins when it is read.
    await this.#context.commitWithReserve(caller, [], event);
    return archive;
  }
}
