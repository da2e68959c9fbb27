/** Versions of what is read and changed, so that a change can be made only to what was seen. */
import { OrchestratorError } from "./errors.ts";
import type { StoredDocument } from "./storage/storage.ts";

const versions = new WeakMap<object, number>();

/** How a change is made. */
export interface ChangeOptions {
  /**
   * The versions ({@link versionOf}) it may have now, at least one of which it must have: `PRECONDITION_FAILED` otherwise, also where it
   * changes in the very moment of the call. Absent: whichever it has.
   */
  ifVersion?: readonly number[];
}

/**
 * Tells the version of something that a verb returned: a number that rises with each change of what is stored of it. Null for
 * lists and for what has none.
 */
export function versionOf(value: unknown): number | null {
  return typeof value === "object" && value !== null ? (versions.get(value) ?? null) : null;
}

/** Notes the version of what a verb is going to return, and returns it. */
export function withVersion<Value extends object>(value: Value, version: number): Value {
  versions.set(value, version);
  return value;
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
