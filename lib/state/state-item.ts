/** What the engine knows about one resource while a run lasts. */
import { OrchestratorError } from "../errors.ts";
import type { Prior, ResourceType, ResourceTypes } from "./resource-type.ts";
import { identityKey } from "./resource-type.ts";
import { type ResolvedResource, resourceKey } from "./resource.ts";
import type { Change } from "./result.ts";

/** What was applied to a machine, and what to come back to when it is no longer desired. */
export interface AppliedResource {
  resource: ResolvedResource;
  /** What stood before our first change; null = we never changed it, or there is nothing to come back to. */
  prior: Prior | null;
}

/** One thing to look at and perhaps to change: a desired resource, or what one that is not desired any more came from. */
export interface StateItem {
  readonly resource: ResolvedResource;
  /** Module and id. */
  readonly key: string;
  /** What it is about, across types. */
  readonly identity: string;
  /** Whether the resource is to be taken away, which is: its prior is converged to. */
  readonly removal: boolean;
  /** Type and spec to converge to; null where there is nothing to converge to. */
  readonly target: { type: ResourceType; spec: unknown } | null;
  /** Why it can't be worked with at all. */
  readonly fault: OrchestratorError | null;
  /** What stood before; null = not captured yet. */
  prior: Prior | null;
  /** Whether what stood before is known to the caller, or has been asked for in this run. */
  captured: boolean;
  /** What the last check found; null where there was none or it failed. */
  changes: Change[] | null;
  /** Why the last check failed. */
  error: unknown;
  /** How many changes the run had made when it was checked. */
  checkedAt: number;
}

/** Specs that were parsed before: a drift check looks at the same baseline again and again. */
const parsed = new WeakMap<ResolvedResource, { type: ResourceType; spec: unknown }>();

/** Makes the item of a desired resource. */
export function desiredItem(
  resource: ResolvedResource,
  types: ResourceTypes,
  applied: AppliedResource | undefined,
): StateItem {
  const prior = applied?.prior ?? null;
  const type = types.get(resource.type);
  if (!type) {
    const message = `This agent knows no resource type "${resource.type}".`;
    return newItem({ resource, prior, fault: new OrchestratorError("UNKNOWN_RESOURCE_TYPE", { message }) });
  }
  let target = parsed.get(resource);
  if (target?.type !== type) {
    const spec = type.schema.safeParse(resource.spec);
    if (!spec.success) return newItem({ resource, type, prior, fault: invalid("The properties") });
    target = { type, spec: spec.data };
    parsed.set(resource, target);
  }
  return newItem({ resource, type, prior, target });
}

/** Makes the item that takes a resource away. */
export function removalItem({ resource, prior }: AppliedResource, types: ResourceTypes): StateItem {
  const ownType = types.get(resource.type);
  const base = { resource, prior, removal: true, ...(ownType && { type: ownType }) };
  if (!prior) return newItem(base);
  const type = types.get(prior.type);
  const spec = type && (type.priorSchema ?? type.schema).safeParse(prior.spec);
  if (!type || !spec?.success) return newItem({ ...base, fault: invalid("What stood before") });
  return newItem({ ...base, target: { type, spec: spec.data } });
}

function newItem(parts: {
  resource: ResolvedResource;
  prior: Prior | null;
  type?: ResourceType;
  removal?: boolean;
  target?: StateItem["target"];
  fault?: OrchestratorError;
}): StateItem {
  const { resource, prior, type } = parts;
  return {
    resource,
    key: resourceKey(resource),
    identity: type ? identityKey(type, resource.identity) : `${resource.type}:${resource.identity}`,
    removal: parts.removal ?? false,
    target: parts.target ?? null,
    fault: parts.fault ?? null,
    prior,
    captured: prior !== null,
    changes: null,
    error: null,
    checkedAt: 0,
  };
}

function invalid(what: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message: `${what} can't be read by this agent.` });
}
