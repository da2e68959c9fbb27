/** What the beginning of an operation writes, and for how long its end is awaited. */
import type { Context } from "../context.ts";
import type { OperationDocument } from "./documents.ts";
import { returnMs } from "./lanes.ts";

type Operation = Readonly<OperationDocument>;

/** The operation as it is from its beginning on, which is now. */
export function toBegun(context: Context, operation: Operation): OperationDocument {
  const now = context.fleetTime.now();
  const times = { begun_at: now, deadline_at: now + longestMs(context, operation) };
  const started_at = context.timestamp();
  return { ...operation, ...context.epochs.mark, status: "running", started_at, ...times };
}

/**
 * How long to wait from now on for the end of an operation that is running, milliseconds. A clock that was wrong while the process was
 * away must not make that longer than it is at the start, nor end it before the agent could come back and tell.
 *
 * @param isReturning - Whether agents are given time to come back after a start.
 */
export function awaitedMs(context: Context, operation: Operation, isReturning: boolean): number {
  const { deadline_at = 0 } = operation;
  const leftMs = Math.min(deadline_at - context.fleetTime.now(), longestMs(context, operation));
  return isReturning ? Math.max(leftMs, returnMs) : leftMs;
}

/** How long an operation may take until its result is no longer awaited. */
function longestMs({ options }: Context, { timeout_seconds }: Operation): number {
  return (timeout_seconds + options.operationGraceSeconds) * 1000;
}
