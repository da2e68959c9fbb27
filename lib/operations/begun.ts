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
 * if it began now. Not waited for: a start must not fail for want of space.
 */
export async function bringNear(
  context: Context,
  store: OperationStore,
  operation: Operation,
): Promise<void> {
  const latest = context.fleetTime.now() + longestMs(context, operation);
  const isFar = ({ status, deadline_at = 0 }: Operation): boolean =>
    status === "running" && deadline_at > latest;
  if (!isFar(operation)) return;
  await store.update(systemCaller, operation.operation_id, (before): Changed | null =>
    isFar(before) ? { operation: { ...before, deadline_at: latest } } : null,
  );
}

/** How long an operation may take until its result is no longer awaited. */
function longestMs({ options }: Context, { timeout_seconds }: Operation): number {
  return (timeout_seconds + options.operationGraceSeconds) * 1000;
}
