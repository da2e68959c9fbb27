/** Ends of operations that no agent told. */
import type { ErrorCode } from "../errors.ts";
import type { Outcome } from "./outcomes.ts";

/** The agent was away, and nobody wanted to wait. */
export const offline = failure("AGENT_OFFLINE", "The agent was not connected in time.");
/** Somebody cancelled it before it began. */
export const cancelled: Outcome = { status: "cancelled", onlyQueued: true };
/** It would have put back what something else was asked for in the meantime. */
export const overtaken: Outcome = {
  ...failure("REVISION_CONFLICT", "Another apply was asked for in the meantime."),
  status: "cancelled",
};
/** Its agent may not be given work any more. */
export const rejected: Outcome = {
  ...failure("AGENT_NOT_APPROVED", "The agent was rejected."),
  status: "cancelled",
};
/** Nobody knows how it ended, until the agent turns up. */
export const unheard: Outcome = {
  status: "unknown",
  error: { code: "AGENT_TIMEOUT", message: "Nothing was heard by the deadline." },
};

function failure(code: ErrorCode, message: string): Outcome {
  return { status: "failed", onlyQueued: true, error: { code, message } };
}
