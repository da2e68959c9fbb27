import { isOrchestratorError, type OrchestratorError } from "../errors.ts";

/**
 * Whether an error says something of what was asked, which stays so until somebody changes it. Faults of the storage and of the program, and what
 * may be over in a moment, say nothing of it.
 */
export function isLasting(error: unknown): error is OrchestratorError {
  if (!isOrchestratorError(error) || error.retryable) return false;
  return !error.code.startsWith("STORAGE_") && error.code !== "INTERNAL";
}
