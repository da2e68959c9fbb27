/** Versions of what is read and changed, so that a change can be made only to what was seen. */
import { OrchestratorError, type Issue } from "./errors.ts";
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
 * @throws {OrchestratorError} `PRECONDITION_FAILED`; `VALIDATION_FAILED` for options that are none: a program without types may give them, and
 * a condition that nobody looks at would be none.
 */
export function requireVersion(
  { revision }: Pick<StoredDocument, "revision">,
  options: ChangeOptions | undefined,
): void {
  if (options === undefined) return;
  const issues = faultsOf(options);
  if (issues.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues });
  const { ifVersion } = options;
  if (ifVersion === undefined || ifVersion.includes(revision)) return;
  throw new OrchestratorError("PRECONDITION_FAILED", { details: { version: revision } });
}

function faultsOf(options: unknown): Issue[] {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return [{ path: [], message: "must be an object, such as { ifVersion: [1] }" }];
  const unknown = Object.keys(options).filter((name) => name !== "ifVersion");
  const { ifVersion } = options as { ifVersion?: unknown };
  // The client takes one version.
  const isList = Array.isArray(ifVersion) && ifVersion.every((version) => Number.isSafeInteger(version));
  return [
    ...unknown.map((name) => ({ path: [name], message: "is no option of a change" })),
    ...(ifVersion === undefined || isList
      ? []
      : [{ path: ["ifVersion"], message: "must be a list of versions" }]),
  ];
}
