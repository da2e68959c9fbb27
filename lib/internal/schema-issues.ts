import type { Issue } from "../errors.ts";

/** A fault as a schema reports it, whichever library it is of; only what is used here. */
export interface SchemaFault {
  path: readonly PropertyKey[];
  message: string;
  code?: string | undefined;
  /** The fields that are not known. */
  keys?: readonly string[];
  /** What is wrong with a key of a record. */
  issues?: readonly { message: string }[];
}

/**
 * What a schema found, as issues of an error: each field that is not known has a path of its own, one that is missing is
 * said to be, and a key that is not acceptable says what one is.
 */
export function toIssues(faults: readonly SchemaFault[]): Issue[] {
  return faults.flatMap(({ path, message, code, keys = [], issues = [] }) => {
    const steps = path.map((step) => (typeof step === "number" ? step : String(step)));
    if (keys.length > 0)
      return keys.map((key) => ({ path: [...steps, key], message: "There is no such field." }));
    return [
      {
        path: steps,
        message: isMissing({ code, message }) ? "This field is missing." : (issues[0]?.message ?? message),
      },
    ];
  });
}

/** The value itself is not among what a schema tells. */
function isMissing({ code, message }: Pick<SchemaFault, "code" | "message">): boolean {
  return code === "invalid_type" && message.endsWith("received undefined");
}
