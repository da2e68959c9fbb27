/** What is believed of one machine: what the newest apply about each module left, against what is desired now. */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { isLasting } from "../internal/is-lasting.ts";
import { resourceKey, type ResolvedResource } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import { readAgentState } from "./agent-states.ts";
import { isLeft, modulesOf } from "./applied-modules.ts";
import { believedModules } from "./believed-modules.ts";
import type { AgentStateDocument } from "./documents.ts";
import { loadReport } from "./operation-results.ts";
import type { OperationStore } from "./operation-store.ts";
import type { BelievedResource, BelievedState } from "./schemas.ts";
import type { Scopes } from "./scopes.ts";
import type { Snapshots } from "./snapshots.ts";

interface Parts {
  context: Context;
  store: OperationStore;
  snapshots: Snapshots;
  scopes: Scopes;
  agents: AgentService;
}

/**
 * What is applied is told also where nobody can say what is desired: whoever is to set that right needs it most.
 *
 * @throws {OrchestratorError} `NOT_FOUND` for an agent that is not known.
 */
export async function believe(parts: Parts, nodeId: string): Promise<BelievedState> {
  const { desired, error } = await whatIsDesired(parts, nodeId);
  const state = (await readAgentState(parts.context.storage, nodeId))?.value ?? null;
  const applied = await inPlace(parts, state);
  const desiredKeys = new Set(desired?.map(resourceKey));
  const appliedKeys = new Set(applied.map(resourceKey));
  const lastApply = state?.last_apply;
  return {
    node_id: nodeId,
    as_of: lastApply?.at ?? null,
    ...(lastApply && { operation_id: lastApply.operation_id }),
    applied: applied.map(toBelieved),
    pending_removals: desired
      ? applied.filter((result) => !desiredKeys.has(resourceKey(result))).map(toBelieved)
      : [],
    unapplied: (desired ?? [])
      .filter((resource) => resource.skip === undefined && !appliedKeys.has(resourceKey(resource)))
      .map(toBelieved),
    modules: believedModules(state),
    ...(error && { error }),
  };
}

/** All that is desired of an agent now, or why that can't be worked out. */
async function whatIsDesired(
  { scopes, agents }: Parts,
  nodeId: string,
): Promise<{ desired?: readonly ResolvedResource[]; error?: BelievedState["error"] }> {
  try {
    return { desired: (await scopes.everything(nodeId)).resources };
  } catch (error) {
    if (!isLasting(error)) throw error;
    // NOT_FOUND may be the agent's own.
    await agents.registry.read(nodeId);
    return { error: { code: error.code, message: error.message } };
  }
}

/** What the newest apply about each module left of it. */
async function inPlace(parts: Parts, state: Readonly<AgentStateDocument> | null): Promise<ResourceResult[]> {
  const modules = modulesOf(state);
  const named = [...modules.values()].map(({ operation_id }) => operation_id);
  // An earlier version knew of no modules: each apply was about all.
  const operationIds = state?.modules
    ? [...new Set(named)].sort()
    : [state?.last_apply?.operation_id ?? []].flat();
  const applied: ResourceResult[] = [];
  for (const operationId of operationIds) {
    const operation = await parts.store.find(operationId);
    if (!operation) continue;
    const { results } = await loadReport(parts.context, operation);
    const asked = new Set((await parts.snapshots.load(operation.snapshot)).map(resourceKey));
    for (const result of results) {
      const module = modules.get(result.module);
      if (state?.modules && module?.operation_id !== operationId) continue;
      if (module?.forgotten?.includes(result.resource_id)) continue;
      if (asked.has(resourceKey(result)) ? isInPlace(result) : isLeft(result)) applied.push(result);
    }
  }
  return applied;
}

/** In place after an apply that was asked for it. */
function isInPlace({ outcome, action }: ResourceResult): boolean {
  return (outcome === "unchanged" || outcome === "changed") && action !== "remove";
}

function toBelieved({ module, resource_id, type, identity }: BelievedResource): BelievedResource {
  return { module, resource_id, type, identity };
}
