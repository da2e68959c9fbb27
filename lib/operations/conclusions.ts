/** How operations end without a word from the agent. */
import type { ErrorCode } from "../errors.ts";
import type { Outcome } from "./outcomes.ts";

export const offline = failure("AGENT_OFFLINE", "The agent was not connected in time.");
export const cancelled: Outcome = { status: "cancelled", onlyQueued: true };
export const rejected: Outcome = {
  ...failure("AGENT_NOT_APPROVED", "The agent was rejected."),
  status: "cancelled",
};
export const unheard: Outcome = {
  status: "unknown",
  error: { code: "AGENT_TIMEOUT", message: "Nothing was heard by the deadline." },
};

function failure(code: ErrorCode, message: string): Outcome {
  return { status: "failed", onlyQueued: true, error: { code, message } };
}
