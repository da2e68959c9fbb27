import { OrchestratorError } from "../errors.ts";

/** Whether a storage may be used: not before `open`, and not after `close`. */
export class Lifetime {
  #state: "new" | "open" | "closed" = "new";

  /** Allows use. A storage is opened once. */
  begin(): void {
    this.#state = "open";
  }

  /** Ends use for good. True when it was in use until now. */
  end(): boolean {
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    return wasOpen;
  }

  /** @throws {OrchestratorError} `STORAGE_CLOSED` after the end; `INTERNAL` before `open`, which is a mistake in the program. */
  check(): void {
    if (this.#state === "closed") throw new OrchestratorError("STORAGE_CLOSED");
    if (this.#state === "new") throw notOpen("The storage was used before it was opened.");
  }

  /** @throws {OrchestratorError} `STORAGE_CLOSED` after the end; `INTERNAL` when it was opened before. */
  checkNew(): void {
    if (this.#state === "closed") throw new OrchestratorError("STORAGE_CLOSED");
    if (this.#state === "open") throw notOpen("The storage was opened twice.");
  }
}

function notOpen(message: string): OrchestratorError {
  return new OrchestratorError("INTERNAL", { message });
}
