/**
 * How far a failure reaches: the rest of its module and the modules that require it; everything, where its resource says so. What could
 * not be taken away keeps what it needs, so that the next try finds that.
 */
import { edgeProperties } from "../graph.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { ResourceResult } from "../result.ts";
import { watchedIds, watchesAny } from "../triggers.ts";

/** What the failures of a run have ended. */
export class Failures {
  /** By module: the resource that failed. */
  readonly #stopped = new Map<string, string>();
  #everything: string | null = null;
  /** By name: the resource that needs it and is there still. */
  readonly #needed = new Map<string, string>();

  /** Notes that a resource failed. */
  note({ module, on_failure }: ResolvedResource, key: string): void {
    if (on_failure === "continue") return;
    if (on_failure === "stop_all") this.#everything ??= key;
    if (!this.#stopped.has(module)) this.#stopped.set(module, key);
  }

  /** Why a resource is not worked on any more; null = it is. */
  reasonFor({ module, requires_modules = [] }: ResolvedResource): string | null {
    if (this.#everything !== null) return `Not begun: the run ended with the failure of ${this.#everything}.`;
    const own = this.#stopped.get(module);
    if (own !== undefined) return `Not begun: its module ended with the failure of ${own}.`;
    const missing = requires_modules.find((name) => this.#stopped.has(name));
    return missing === undefined ? null : `Not begun: its module requires ${missing}, which was not done.`;
  }

  /** Notes that a thing was not taken away, with all that the run is about and was applied to it. */
  noteLeft(claims: readonly ResolvedResource[]): void {
    for (const claim of claims)
      for (const name of namesNeededBy(claim))
        if (!this.#needed.has(name)) this.#needed.set(name, resourceKey(claim));
  }

  /** Why a thing is not taken away yet; null = it is. */
  reasonToStay(claims: readonly ResolvedResource[]): string | null {
    if (this.#needed.size === 0) return null;
    for (const claim of claims) {
      const by = this.#needed.get(resourceKey(claim)) ?? this.#needed.get(allOf(claim.module));
      if (by !== undefined) return `It stays for now: ${by} needs it, and is still there.`;
    }
    return null;
  }
}

/**
 * What must have been done before a resource and was not. One whose condition does not hold here holds up nobody.
 *
 * @param results - Of what is desired, by module and id.
 */
export function missingOf(
  resource: ResolvedResource,
  results: ReadonlyMap<string, ResourceResult>,
): string | undefined {
  const { module, requires } = resource;
  if (requires.length === 0 && !watchesAny(resource)) return undefined;
  return [...requires, ...watchedIds(resource)].find((resource_id) => {
    const result = results.get(resourceKey({ module, resource_id }));
    if (!result || result.skipped_because === "condition") return false;
    return result.outcome === "failed" || result.outcome === "skipped";
  });
}

/** Names of what must be there before a resource, and go after it: keys of resources, and `allOf` modules. */
export function namesNeededBy(resource: ResolvedResource): string[] {
  const { module, requires_modules = [] } = resource;
  const ids = edgeProperties.flatMap((property) => resource[property] ?? []);
  const others = requires_modules.filter((name) => name !== module);
  return [...ids.map((resource_id) => resourceKey({ module, resource_id })), ...others.map(allOf)];
}

/** Stands for each resource of a module; no id is empty. */
export function allOf(module: string): string {
  return resourceKey({ module, resource_id: "" });
}
