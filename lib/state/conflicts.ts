/** Two resources about the same thing: equal ones are one, different ones are a fault. So are those that contradict each other in a part. */
import type { Json } from "../json.ts";
import { resourceIdentityKey } from "./definition.ts";
import type { ResourceTypes } from "./resource-type.ts";
import type { ResolvedResource } from "./resource.ts";
import { claimedParts, findContradictions, type PartContradiction } from "./shared-parts.ts";

/** Two resources that describe one thing differently. */
export interface ResourceConflict {
  first: { module: string; resource_id: string };
  second: { module: string; resource_id: string };
  /** What both are about, e.g. "path:/etc/motd". */
  identity: string;
  message: string;
}

/**
 * Finds every resource that contradicts an earlier one. Those whose condition does not hold are left out.
 *
 * @param identityOf - What a resource is about. Default: what it says itself; a machine knows which paths are one.
 */
export function findConflicts(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
  identityOf: (resource: ResolvedResource) => string = (resource) => resourceIdentityKey(resource, types),
): ResourceConflict[] {
  const first = new Map<string, ResolvedResource>();
  const conflicts: ResourceConflict[] = [];
  for (const resource of resources) {
    if (resource.skip) continue;
    const identity = identityOf(resource);
    const other = first.get(identity);
    if (!other) first.set(identity, resource);
    else if (!describeTheSame(other, resource)) conflicts.push(conflictOf(other, resource, identity));
  }
  return [...conflicts, ...findContradictions(claimedParts(resources, types)).map(partConflict)];
}

/** A contradiction in a part, as a conflict. */
export function partConflict({ first, second, identity }: PartContradiction): ResourceConflict {
  return conflictOf(first, second, identity);
}

function conflictOf(first: ResolvedResource, second: ResolvedResource, identity: string): ResourceConflict {
  const name = ({ module, resource_id }: ResolvedResource): string => `${module}/${resource_id}`;
  return {
    first: { module: first.module, resource_id: first.resource_id },
    second: { module: second.module, resource_id: second.resource_id },
    identity,
    message: `${name(first)} and ${name(second)} describe ${identity} differently.`,
  };
}

/** Of two paths that are one it does not matter which is written. */
function describeTheSame(a: ResolvedResource, b: ResolvedResource): boolean {
  if (a.type !== b.type) return false;
  const isOnePath = a.identity !== b.identity && typeof a.spec["path"] === "string";
  return equalJson(a.spec, isOnePath ? { ...b.spec, path: a.spec["path"] ?? null } : b.spec);
}

function equalJson(a: Json, b: Json): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((entry, index) => equalJson(entry, b[index] ?? null));
  }
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && equalJson(a[name] ?? null, b[name] ?? null));
}
