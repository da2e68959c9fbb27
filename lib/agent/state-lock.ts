import { join } from "node:path";
import { OrchestratorError } from "../errors.ts";
import { takeFileLock, type FileLock } from "../native/file-lock.ts";
import { guarded } from "./durable-file.ts";

/** Keeps a second agent out of a state folder: two would change the machine at once, and each other's journal. */
export class StateLock {
  readonly #path: string;
  readonly #lock: FileLock;

  /**
   * Takes the folder. A process that has ended holds nothing, whatever it left behind; see {@link takeFileLock}.
   *
   * @throws {OrchestratorError} `STORAGE_LOCKED` where a living process holds it; `STORAGE_FULL`, `STORAGE_FAILED`.
   */
  constructor(stateDir: string) {
    this.#path = join(stateDir, "agent.lock");
    // The members that versions know which look at the file alone; where it is the lock here, too, a token.
    const outcome = guarded(this.#path, () =>
      takeFileLock({
        path: this.#path,
        toText: ({ pid, began, token }) =>
          `${JSON.stringify({ pid, began: began === "" ? null : began, ...(token !== "" && { token }) })}\n`,
      }),
    );
    if (!("lock" in outcome)) throw locked(this.#path, outcome.heldBy);
    this.#lock = outcome.lock;
  }

  /** Lets the folder go. */
  release(): void {
    guarded(this.#path, () => this.#lock.release());
  }
}

function locked(path: string, pid: number | null): OrchestratorError {
  return new OrchestratorError("STORAGE_LOCKED", {
    message: "Another agent uses the state folder.",
    details: { path, ...(pid !== null && { pid }) },
  });
}
