/** How operations end: what no agent told, and whether what one tells still counts. */
import { OrchestratorError, type ErrorCode } from "../errors.ts";
import { mayPass } from "../internal/is-lasting.ts";
import type { OperationDocument } from "./documents.ts";
import type { Outcome } from "./outcomes.ts";

/** The agent was away, and nobody wanted to wait. */
export const offline = failure("AGENT_OFFLINE", "The agent was not connected in time.");
/** A maintenance window kept it from beginning for as long as it was to wait. */
export const heldTooLong = failure(
  "MAINTENANCE_WINDOW",
  "A maintenance window held it until its time to wait was over.",
);
/** Its rollout was paused for as long as it was to wait. */
export const pausedTooLong = failure(
  "COMMAND_EXPIRED",
  "Its rollout was paused until its time to wait was over.",
);
/** It can't be sent at all, e.g. because it is too large: nothing runs, and nothing will be heard. Throws an error that may pass. */
export function unsent(error: unknown): Outcome {
  if (mayPass(error)) throw error;
  const { code, message } = error as OrchestratorError;
  return { status: "failed", error: { code, message } };
}
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
/** As {@link unheard}, of what waited in the backup that was restored: its agent may have been given it since the backup was made. */
export const unheardSinceBackup: Outcome = {
  status: "unknown",
  onlyQueued: true,
  error: { code: "AGENT_TIMEOUT", message: "It waited in the backup, and its agent was not heard since." },
};
/** The agent was asked, and has no record of it: what was sent to it never arrived, and may not begin any more. */
export const notRun: Outcome = {
  status: "failed",
  error: { code: "COMMAND_EXPIRED", message: "Not run: the agent has no record of it." },
};

function failure(code: ErrorCode, message: string): Outcome {
  return { status: "failed", onlyQueued: true, error: { code, message } };
}

/**
 * Whether a result that an agent sends of an operation is the first.
 *
 * @param isFromBackup - Whether it was made before a restore: what waits here may have been sent since the backup was made.
 * @throws {OrchestratorError} `PROTOCOL_ERROR` where the operation is another agent's, or was never sent.
 */
export function isFirstResult(
  { node_id, status }: Readonly<OperationDocument>,
  nodeId: string,
  isFromBackup: boolean,
): boolean {
  if (node_id === nodeId && (status !== "queued" || isFromBackup))
    return status === "queued" || status === "running" || status === "unknown";
  throw new OrchestratorError("PROTOCOL_ERROR", {
    message: "The agent sent a result of an operation that is not its own.",
  });
}
