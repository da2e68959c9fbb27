import { join } from "node:path";
import { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { FileLock } from "../../native/file-lock.ts";
import type { Disk } from "./disk.ts";
import { storageError } from "./errors.ts";

/**
 * Keeps a data folder for one process by the file `lock` in it, as {@link takeFileLock} does: a process that has ended holds
 * nothing, whatever it left behind.
 */
export class FolderLock {
  readonly #lock: FileLock;

  private constructor(lock: FileLock) {
    this.#lock = lock;
  }

  /** @throws {OrchestratorError} `STORAGE_LOCKED` with `details.pid` of the process that holds it, where that is known. */
  static take(disk: Disk, folder: string, logger: Logger): FolderLock {
    const path = join(folder, "lock");
    const outcome = guarded(() =>
      disk.lock({
        path,
        toText: ({ pid, ticks, token, kernel }) => JSON.stringify({ pid, started: ticks, token, kernel }),
        onTakenOver: (pid) =>
          logger.warn("A lock left by a process that is gone was taken over.", { path, pid }),
      }),
    );
    if ("lock" in outcome) return new FolderLock(outcome.lock);
    const { heldBy } = outcome;
    throw new OrchestratorError("STORAGE_LOCKED", {
      message: `${heldBy === null ? "Another process" : `Process ${heldBy}`} uses the data folder.`,
      ...(heldBy !== null && { details: { pid: heldBy } }),
    });
  }

  /** Whether the lock's file is still where it was put: if not, another process may use a folder of the same path. */
  isInPlace(): boolean {
    return guarded(() => this.#lock.isInPlace());
  }

  /** Lets the folder go. */
  release(): void {
    guarded(() => this.#lock.release());
  }
}

function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw storageError(error);
  }
}
