import type { Freeze } from "../maintenance/maintenance-service.ts";
import { toCounts } from "../state/result.ts";
import type { OperationDocument } from "./documents.ts";
import { shownKind } from "./operation-kinds.ts";
import type { Operation } from "./schemas.ts";

/**
 * The operation as callers see it: these fields and no other, whatever else is stored beside them.
 *
 * @param freeze - What keeps it from beginning; null where nothing does.
 */
export function toOperation(operation: Readonly<OperationDocument>, freeze: Freeze | null = null): Operation {
  const { operation_id, node_id, agent_name, status, scope, modules, counts, requested_by } = operation;
  const { command, exit_code } = operation;
  const { rollout_id, assignment, plan_id, created_at, started_at, finished_at, duration_ms, error } =
    operation;
  return {
    operation_id,
    kind: shownKind(operation),
    node_id,
    agent_name,
    status,
    ...(freeze && { held_by: freeze }),
    ...(operation.override_window && { override_window: true }),
    ...(rollout_id !== undefined && { rollout_id }),
    ...(assignment !== undefined && { assignment }),
    ...(scope && { scope: [...scope] }),
    ...(plan_id !== undefined && { plan_id }),
    modules: [...modules],
    ...(command !== undefined && { command }),
    ...(exit_code !== undefined && { exit_code }),
    counts: toCounts(counts),
    requested_by,
    created_at,
    ...(started_at !== undefined && { started_at }),
    ...(finished_at !== undefined && { finished_at }),
    ...(duration_ms !== undefined && { duration_ms }),
    ...(error !== undefined && { error }),
  };
}
