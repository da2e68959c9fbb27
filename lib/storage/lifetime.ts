import { OrchestratorError } from "../errors.ts";
import type { ForeignChange } from "./storage.ts";

/** Whether a storage may be used: not before `open`, and not after `close`. */
export class Lifetime {
  #state: "new" | "open" | "closed" = "new";
  readonly #end = new AbortController();

  /** Allows use. A storage is opened once. */
  begin(): void {
    this.#state = "open";
  }

  /** Ends use for good. True when it was in use until now. */
  end(): boolean {
    const wasOpen = this.#state === "open";
    this.#state = "closed";
    this.#end.abort();
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

  /** The `watch` of a storage that no other process can change: nothing comes, until the signal or the end. */
  watchNothing(signal: AbortSignal): AsyncIterable<ForeignChange> {
    const next = async (): Promise<IteratorReturnResult<undefined>> => {
      if (!signal.aborted) this.check();
      await whenAborted(AbortSignal.any([signal, this.#end.signal]));
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) };
  }
}

async function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function notOpen(message: string): OrchestratorError {
  return new OrchestratorError("INTERNAL", { message });
}
