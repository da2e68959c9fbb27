/** What lists of agents tell of an apply that has ended. */
import type { KnownFindings } from "../agents/findings.ts";
import { type ApplyEnd, revisionsOf } from "./applied-modules.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";

/**
 * What is known of an agent after an apply of it; null where nothing changes.
 *
 * @param after.state - What is known of the machine then; null where this apply says nothing of it.
 */
export function findingsAfter(
  before: KnownFindings,
  operation: Readonly<OperationDocument>,
  { state, end }: { state: Readonly<AgentStateDocument> | null; end: ApplyEnd | null },
): KnownFindings | null {
  const { operation_id, status, created_at, finished_at = created_at } = operation;
  const known = state ? withModules(before, state) : before;
  if (!isNews(before, operation) || status === "queued" || status === "running") return state ? known : null;
  const { drift, failed_drift_check, ...rest } = known;
  const isStill = !isSettling(before, operation, { state, end });
  return {
    ...rest,
    last_apply: { operation_id, status, finished_at },
    applied_at: appliedAt(operation),
    ...(isStill && { ...(drift && { drift }), ...(failed_drift_check && { failed_drift_check }) }),
  };
}

/** Whether an apply that has ended put right whatever had drifted: it was of everything, and nothing is owed, such as a trigger. */
export function isSettling(
  before: KnownFindings,
  operation: Readonly<OperationDocument>,
  { state, end }: { state: Readonly<AgentStateDocument> | null; end: ApplyEnd | null },
): boolean {
  const isAll = end === "applied" && state !== null && operation.scope === undefined;
  return isAll && operation.status === "succeeded" && isNews(before, operation);
}

/** What never began left the machine as it was; what turns up late is no news where another has begun since. */
function isNews({ applied_at = 0 }: KnownFindings, operation: Readonly<OperationDocument>): boolean {
  return operation.started_at !== undefined && applied_at <= appliedAt(operation);
}

function appliedAt({ begun_at, started_at, created_at }: Readonly<OperationDocument>): number {
  return begun_at ?? Date.parse(started_at ?? created_at);
}

/** The same with the modules that are in place. */
export function withModules(before: KnownFindings, { modules }: Readonly<AgentStateDocument>): KnownFindings {
  const { modules: _, ...rest } = before;
  const revisions = Object.fromEntries(revisionsOf(modules));
  return { ...rest, ...(Object.keys(revisions).length > 0 && { modules: revisions }) };
}
