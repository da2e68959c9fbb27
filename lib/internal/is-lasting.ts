import { isOrchestratorError, isRetryable, type OrchestratorError } from "../errors.ts";

/**
 * Whether an error says something of what was asked, which stays so until somebody changes it. Faults of the storage and of the program, and what
 * may be over in a moment, say nothing of it.
 */
export function isLasting(error: unknown): error is OrchestratorError {
  if (!isOrchestratorError(error) || error.retryable) return false;
  return !error.code.startsWith("STORAGE_") && error.code !== "INTERNAL";
}

/**
 * Whether what nobody waits for is tried again after an error. `STORAGE_FAILED` may be about one call, and an error that is none of ours, such as
 * that of a storage of the embedder's which was out of reach, says nothing of the next try.
 */
export function mayPass(error: unknown): boolean {
  return !isOrchestratorError(error) || isRetryable(error) || error.code === "STORAGE_FAILED";
}
