/** What is wrong between the resources of one module: ids and things that are there twice, unknown ids, circles. */
import type { Issue } from "../errors.ts";
import type { JsonObject } from "../internal/json.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import { orderResources } from "../state/graph.ts";

/** A resource of a module. */
export interface DeclaredResource {
  /** Its place among the resources of the module. */
  at: number;
  definition: JsonObject;
  /** Null where it has a fault of its own. */
  resolved: ResolvedResource | null;
}

/** A fault; its path begins with the place of its resource. */
export interface RelationFault {
  path: Issue["path"];
  /** What is wrong; a function where it names the line of another resource. */
  message: string | ((lineOf: (at: number) => number) => string);
}

/** Finds every fault between resources. One circle is told at a time, and none while ids are unknown. */
export function findRelationFaults(
  declared: readonly DeclaredResource[],
  types: ResourceTypes,
): RelationFault[] {
  const duplicates = findDuplicates(declared, types);
  return [...duplicates, ...findOrderFaults(declared)];
}

function findDuplicates(declared: readonly DeclaredResource[], types: ResourceTypes): RelationFault[] {
  const faults: RelationFault[] = [];
  const ids = new Map<string, number>();
  const things = new Map<string, DeclaredResource>();
  for (const resource of declared) {
    const { at, resolved } = resource;
    if (!resolved) continue;
    const key = resourceIdentityKey(resolved, types);
    const sameThing = things.get(key);
    const sameId = ids.get(resolved.resource_id);
    if (sameThing && mayMeet(sameThing.definition, resource.definition)) {
      const thing = `The ${resolved.type} ${resolved.identity}`;
      faults.push({
        path: [at],
        message: (lineOf) => `${thing} is declared on line ${lineOf(sameThing.at)} too.`,
      });
    } else if (sameId !== undefined) {
      const id = `"${resolved.resource_id}"`;
      faults.push({
        path: [at, "id"],
        message: (lineOf) => `${id} is the id of the resource on line ${lineOf(sameId)} too.`,
      });
    }
    if (!sameThing) things.set(key, resource);
    if (sameId === undefined) ids.set(resolved.resource_id, at);
  }
  return faults;
}

/** Whether there is an agent on which both certainly hold. Different conditions may exclude each other; a run finds out. */
function mayMeet(first: JsonObject, second: JsonObject): boolean {
  return first["when"] === undefined || second["when"] === undefined || first["when"] === second["when"];
}

function findOrderFaults(declared: readonly DeclaredResource[]): RelationFault[] {
  const taken = new Set<string>();
  // A resource at fault without a written id has one that nobody knows yet: another may mean it.
  const unknownIds = declared.some(
    ({ resolved, definition }) => !resolved && typeof definition["id"] !== "string",
  );
  const nodes = declared.map(({ at, definition, resolved }) => {
    const written = typeof definition["id"] === "string" ? definition["id"] : null;
    const id = resolved?.resource_id ?? written;
    const isFirst = id !== null && !taken.has(id);
    if (isFirst) taken.add(id);
    return {
      // An id that is no id, because ids hold no control characters: each node needs one of its own.
      id: isFirst ? id : `\u0000${at}`,
      requires: resolved?.requires ?? [],
      run_on: resolved?.run_on ?? [],
    };
  });
  const ordering = orderResources(nodes);
  if (ordering.ok) return [];
  return ordering.faults
    .filter(({ path }) => !(unknownIds && path.length > 1))
    .map(({ path: [index, ...rest], message }) => ({
      path: [declared[index as number]?.at ?? 0, ...rest],
      message,
    }));
}
