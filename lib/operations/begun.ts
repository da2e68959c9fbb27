/** What the beginning of an operation writes, and until when its end is awaited. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import type { OperationDocument } from "./documents.ts";
import type { Changed, OperationStore } from "./operation-store.ts";

type Operation = Readonly<OperationDocument>;

/** The operation as it is from its beginning on, which is now. */
export function toBegun(context: Context, operation: Operation): OperationDocument {
  const now = context.fleetTime.now();
  const times = { begun_at: now, deadline_at: now + longestMs(context, operation) };
  const started_at = context.timestamp();
  return { ...operation, ...context.epochs.mark, status: "running", started_at, ...times };
}

/**
 * An operation that is running when the process starts: a clock that was wrong when it began must not have its end awaited for longer than
 * if it began now.
 */
export async function bringNear(
  context: Context,
  store: OperationStore,
  operation: Operation,
): Promise<Operation> {
  const latest = context.fleetTime.now() + longestMs(context, operation);
  if ((operation.deadline_at ?? 0) <= latest) return operation;
  const change = (): Changed => ({ operation: { ...operation, deadline_at: latest } });
  return (await store.update(systemCaller, operation.operation_id, change)).operation;
}

/** How long an operation may take until its result is no longer awaited. */
function longestMs({ options }: Context, { timeout_seconds }: Operation): number {
  return (timeout_seconds + options.operationGraceSeconds) * 1000;
}
