import { isOrchestratorError } from "../../errors.ts";
import type { StateRun } from "./state-run.ts";

/** What cuts a change in progress; to be let go when that has ended. */
export interface CutSignal {
  signal: AbortSignal;
  release(): void;
}

/**
 * What cuts the change in progress of a type that ends with a cancel: what cuts any, and that somebody cancelled the run. An agent
 * that stops lets it finish.
 */
export function cutByCancel({ deadline, signal }: Pick<StateRun, "deadline" | "signal">): CutSignal {
  const cancelled = new AbortController();
  const note = (): void => {
    if (isOrchestratorError(signal.reason, "CANCELLED")) cancelled.abort(signal.reason);
  };
  if (signal.aborted) note();
  signal.addEventListener("abort", note, { once: true });
  return {
    signal: AbortSignal.any([deadline, cancelled.signal]),
    release: () => signal.removeEventListener("abort", note),
  };
}
