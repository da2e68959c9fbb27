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
  const { operation_id, status, scope, created_at, started_at, finished_at = created_at } = operation;
  const known = state ? withModules(before, state) : before;
  const { begun_at: applied_at = Date.parse(started_at ?? created_at) } = operation;
  // What never began left the machine as it was; what turns up late is no news where another has begun since.
  const isNews = started_at !== undefined && (before.applied_at ?? 0) <= applied_at;
  if (!isNews || status === "queued" || status === "running") return state ? known : null;
  const { drift, failed_drift_check, ...rest } = known;
  // Whatever had drifted was put right where everything was applied.
  const isSettled = end === "applied" && state !== null && scope === undefined;
  return {
    ...rest,
    last_apply: { operation_id, status, finished_at },
    applied_at,
    ...(!isSettled && { ...(drift && { drift }), ...(failed_drift_check && { failed_drift_check }) }),
  };
}

/** The same with the modules that are in place. */
export function withModules(before: KnownFindings, { modules }: Readonly<AgentStateDocument>): KnownFindings {
  const { modules: _, ...rest } = before;
  const revisions = Object.fromEntries(revisionsOf(modules));
  return { ...rest, ...(Object.keys(revisions).length > 0 && { modules: revisions }) };
}
