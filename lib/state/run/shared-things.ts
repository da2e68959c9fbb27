/** What a run must know of modules that it is not about: what they were applied with stays so. */
import { OrchestratorError } from "../../errors.ts";
import { findDifferences, type ResourceConflict } from "../conflicts.ts";
import type { ResourceTypes } from "../resource-type.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { claimsOn, type Scope } from "./claims.ts";
import { desiredItem, type StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** What modules were applied with that a run is not about. */
export function outsideOf(
  applied: ReadonlyMap<string, AppliedResource>,
  scope: Scope,
): readonly ResolvedResource[] {
  return scope.isAll ? [] : [...applied.values()].flatMap((entry) => scope.outside(entry));
}

/** What modules were applied with that share things with the items: of these, too, some may watch what is changed. */
export function sharersOf(
  items: readonly StateItem[],
  {
    applied,
    types,
    scope,
  }: { applied: ReadonlyMap<string, AppliedResource>; types: ResourceTypes; scope: Scope },
): StateItem[] {
  const modules = new Set(items.flatMap(({ others }) => others.map(({ module }) => module)));
  if (modules.size === 0) return [];
  return [...applied].flatMap(([identity, entry]) =>
    scope
      .outside(entry)
      .filter(({ module }) => modules.has(module))
      .map((resource) => desiredItem(resource, { types, identity }, null)),
  );
}

/**
 * Refuses a resource that contradicts what another module was applied with.
 *
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function requireSameThing(
  resource: ResolvedResource,
  others: readonly ResolvedResource[],
  { types, identity }: { types: ResourceTypes; identity: string },
): void {
  const [conflict] = findDifferences([...others, resource], types, () => identity);
  if (conflict) throw contradictsApplied(conflict);
}

/** The refusal of what contradicts another module, the first of the two, that was applied and stays. */
export function contradictsApplied({ message, first: { module } }: ResourceConflict): OrchestratorError {
  return new OrchestratorError("RESOURCE_CONFLICT", {
    message: `${message} Module ${module} was applied apart from this and stays as it is.`,
    details: { module },
  });
}

/** Has each item keep what the run is about and was applied to its thing before: who is not done this time has no less claim on it. */
export function holdClaims(
  items: readonly StateItem[],
  { applied, scope }: { applied: ReadonlyMap<string, AppliedResource>; scope: Scope },
): void {
  const byThing = new Map<string, Set<string>>();
  for (const { identity, key } of items) byThing.set(identity, (byThing.get(identity) ?? new Set()).add(key));
  for (const item of items) {
    const entry = applied.get(item.identity);
    if (!entry) continue;
    item.held = claimsOn(entry).filter((claim) => {
      const key = resourceKey(claim);
      return scope.has(claim) && key !== item.key && byThing.get(item.identity)?.has(key);
    });
  }
}

/** Whether what modules that the run is not about were applied with lies below the path of an item. */
export function holdsOutside(
  { resource }: Pick<StateItem, "resource">,
  { applied, scope, identities }: Pick<StateRun, "applied" | "scope" | "identities">,
): boolean {
  const { path } = resource.spec;
  if (typeof path !== "string") return false;
  const below = `${identities.realPath(path)}/`;
  return outsideOf(applied, scope).some(({ spec }) => {
    return typeof spec["path"] === "string" && identities.realPath(spec["path"]).startsWith(below);
  });
}
