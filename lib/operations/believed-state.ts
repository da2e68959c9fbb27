/** What is believed of one machine: what the newest apply left, against what is desired now. */
import type { Context } from "../context.ts";
import { resourceKey, type ResolvedResource } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import { readAgentState } from "./agent-states.ts";
import { loadReport } from "./operation-results.ts";
import type { OperationStore } from "./operation-store.ts";
import type { BelievedResource, BelievedState } from "./schemas.ts";
import type { Snapshots } from "./snapshots.ts";

export async function believe(
  parts: { context: Context; store: OperationStore; snapshots: Snapshots },
  nodeId: string,
  desired: readonly ResolvedResource[],
): Promise<BelievedState> {
  const state = await readAgentState(parts.context.storage, nodeId);
  const lastApply = state?.value.last_apply;
  const operation = lastApply ? await parts.store.find(lastApply.operation_id) : null;
  const results = operation ? (await loadReport(parts.context, operation)).results : [];
  const desiredKeys = new Set(desired.map(resourceKey));
  const asked = operation ? await parts.snapshots.load(operation.snapshot) : [];
  const askedKeys = new Set(asked.map(resourceKey));
  const applied = results.filter((result) =>
    askedKeys.has(resourceKey(result)) ? isInPlace(result) : isStuck(result),
  );
  const appliedKeys = new Set(applied.map(resourceKey));
  return {
    node_id: nodeId,
    as_of: lastApply?.at ?? null,
    ...(lastApply && { operation_id: lastApply.operation_id }),
    applied: applied.map(toBelieved),
    pending_removals: applied.filter((result) => !desiredKeys.has(resourceKey(result))).map(toBelieved),
    unapplied: desired
      .filter((resource) => resource.skip === undefined && !appliedKeys.has(resourceKey(resource)))
      .map(toBelieved),
  };
}

/** In place after an apply that was asked for it. */
function isInPlace({ outcome, action }: ResourceResult): boolean {
  return (outcome === "unchanged" || outcome === "changed") && action !== "remove";
}

/** In place after an apply that was to remove it, and did not come to that or failed. */
function isStuck({ outcome, skipped_because }: ResourceResult): boolean {
  return outcome === "failed" || skipped_because === "unattended" || skipped_because === "cancelled";
}

function toBelieved({ module, resource_id, type, identity }: BelievedResource): BelievedResource {
  return { module, resource_id, type, identity };
}
