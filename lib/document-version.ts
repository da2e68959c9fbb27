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
 * @throws {OrchestratorError} `PRECONDITION_FAILED`; `VALIDATION_FAILED` for what is no list.
 */
export function requireVersion(
  { revision }: Pick<StoredDocument, "revision">,
  { ifVersion }: ChangeOptions = {},
): void {
  if (ifVersion === undefined) return;
  // The client takes one version; a program without types may give one here, too.
  if (!Array.isArray(ifVersion)) {
    const issues = [{ path: ["ifVersion"], message: "must be a list of versions" }];
    throw new OrchestratorError("VALIDATION_FAILED", { issues });
  }
  if (ifVersion.includes(revision)) return;
  throw new OrchestratorError("PRECONDITION_FAILED", { details: { version: revision } });
}
