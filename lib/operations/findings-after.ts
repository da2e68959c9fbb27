/** What lists of agents tell of an apply that has ended. */
import type { FindingsDocument } from "../agents/documents.ts";
import { type ApplyEnd, revisionsOf } from "./applied-modules.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";

type Findings = Omit<FindingsDocument, "node_id">;

/**
 * What is known of an agent after an apply of it; null where nothing changes.
 *
 * @param after.state - What is known of the machine then; null where this apply says nothing of it.
 */
export function findingsAfter(
  before: Findings,
  operation: Readonly<OperationDocument>,
  { state, end }: { state: Readonly<AgentStateDocument> | null; end: ApplyEnd | null },
): Findings | null {
  const { operation_id, status, scope, created_at, finished_at = created_at } = operation;
  const known = state ? withModules(before, state) : before;
  // Ids are in order of time: what turns up late is no news where a newer apply has ended.
  const isOvertaken = (before.last_apply?.operation_id ?? "") > operation_id;
  if (isOvertaken || status === "queued" || status === "running") return state ? known : null;
  const { drift, ...rest } = known;
  // Whatever had drifted was put right where everything was applied.
  const isSettled = end === "applied" && state !== null && scope === undefined;
  const last_apply = { operation_id, status, finished_at };
  return { ...rest, last_apply, ...(drift && !isSettled && { drift }) };
}

/** The same with the modules that are in place. */
export function withModules(before: Findings, { modules }: Readonly<AgentStateDocument>): Findings {
  const { modules: _, ...rest } = before;
  const revisions = Object.fromEntries(revisionsOf(modules));
  return { ...rest, ...(Object.keys(revisions).length > 0 && { modules: revisions }) };
}
