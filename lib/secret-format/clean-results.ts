/** Takes secrets out of what is told of an operation. Words that are ours stay: what something is called, and how it ended. */
import type { ResourceResult } from "../state/result.ts";
import type { Redactor } from "./redactor.ts";

/** Cleans what one result quotes of a machine. */
export function cleanResult(result: ResourceResult, redactor: Redactor): ResourceResult {
  const { changes, message } = result;
  if (redactor.isEmpty || (changes.length === 0 && message === undefined)) return result;
  return {
    ...result,
    changes: changes.map((change) => ({
      ...change,
      before: redactor.redactAll(change.before),
      after: redactor.redactAll(change.after),
      ...(change.diff !== undefined && { diff: redactor.redact(change.diff) }),
    })),
    ...(message !== undefined && { message: redactor.redact(message) }),
  };
}

/** Cleans an error; its code stays. */
export function cleanError<Told extends { message: string; details?: object | undefined }>(
  error: Told,
  redactor: Redactor,
): Told {
  return {
    ...error,
    message: redactor.redact(error.message),
    ...(error.details && { details: redactor.redactAll(error.details) }),
  };
}
