import { isOrchestratorError } from "../errors.ts";

/** Of so many calls at once on one document each still gets through: every round, one of them wins. */
const maxAttempts = 100;

/**
 * Does something that reads documents and commits on what it read, and does it again where somebody else changed one of
 * them in the meantime (`REVISION_CONFLICT`).
 *
 * @param attempt - Must read anew each time it is called. Told how often it was called before.
 */
export async function retryOnConflict<Result>(attempt: (before: number) => Promise<Result>): Promise<Result> {
  for (let before = 0; ; before += 1) {
    try {
      return await attempt(before);
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT") || before + 1 === maxAttempts) throw error;
    }
  }
}
