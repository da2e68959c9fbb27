/** Versions of what is read and changed, so that a change can be made only to what was seen. */
import { OrchestratorError } from "./errors.ts";
import type { StoredDocument } from "./storage/storage.ts";

/** How a change is made. */
export interface ChangeOptions {
  /**
   * The versions (`version` of what a verb returned; of a module its `revision`) it may have now, at least one of which it must have: `PRECONDITION_FAILED` otherwise, also where it
   * changes in the very moment of the call. Absent: whichever it has.
   */
  ifVersion?: readonly number[];
}

/**
 * Refuses a change of another version. The commit that follows must expect the same revision.
 *
 * @throws {OrchestratorError} `PRECONDITION_FAILED`.
 */
export function requireVersion(
  { revision }: Pick<StoredDocument, "revision">,
  { ifVersion }: ChangeOptions = {},
): void {
  if (ifVersion === undefined || ifVersion.includes(revision)) return;
  throw new OrchestratorError("PRECONDITION_FAILED", { details: { version: revision } });
}
