/**
 * How far a failure reaches: the rest of its module and the modules that require it; everything, where its resource says so. What could
 * not be taken away keeps what it needs, so that the next try finds that.
 */
import { edgeProperties, foldersAbove } from "../graph.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { ResourceResult } from "../result.ts";
import { watchedIds, watchesAny } from "../triggers.ts";
import { claimsOn } from "./claims.ts";
import { read } from "./prepared.ts";
import { placesOf, type StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** What the failures of a run have ended. */
export class Failures {
  /** By module: the resource that failed. */
  readonly #stopped = new Map<string, string>();
  #everything: string | null = null;

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
}

/** What is known of a run where things of it are left. */
type Run = Pick<StateRun, "applied" | "identities" | "types">;

/** Things that were to go and are still there. What they need stays with them, unless something desired takes its place. */
export class LeftThings {
  readonly items: StateItem[] = [];
  readonly #run: Run;
  readonly #desired: readonly StateItem[];
  /** By name: the resource that needs it. */
  readonly #needed = new Map<string, string>();
  /** By folder: what stays in it for the sake of others. */
  readonly #inside = new Map<string, string>();
  #taken: Taken | null = null;

  /** @param items - All of the run. */
  constructor(items: readonly StateItem[], run: Run) {
    this.#run = run;
    this.#desired = items.filter(({ removal, resource }) => !removal && !resource.skip);
  }

  /** Notes one. */
  note(item: StateItem, { outcome }: Pick<ResourceResult, "outcome">): void {
    this.items.push(item);
    for (const claim of this.#claimsOn(item))
      for (const name of namesNeededBy(claim))
        if (!this.#needed.has(name)) this.#needed.set(name, resourceKey(claim));
    if (outcome !== "skipped") return;
    for (const folder of this.#placesOf(item).flatMap(foldersAbove)) this.#inside.set(folder, item.key);
  }

  /** Why a thing is not taken away yet; null = it is. */
  reasonToStay(item: StateItem): string | null {
    if (this.#needed.size === 0) return null;
    const places = this.#placesOf(item);
    const holding = places.flatMap((place) => this.#inside.get(place) ?? []);
    if (holding.length > 0) return `It stays for now: ${holding[0]} is in it, and is still there.`;
    const names = this.#claimsOn(item).flatMap((claim) => [resourceKey(claim), allOf(claim.module)]);
    const by = names.flatMap((name) => this.#needed.get(name) ?? []);
    if (by.length === 0 || this.#isTaken(item, places)) return null;
    return `It stays for now: ${by[0]} needs it, and is still there. \`state forget\` lets go of that.`;
  }

  /** What was applied to it: all of the run, since what others say the same of is not taken away. */
  #claimsOn({ identity }: StateItem): readonly ResolvedResource[] {
    const entry = this.#run.applied.get(identity);
    return entry ? claimsOn(entry) : [];
  }

  /** Its places, also as it was declared: what comes back to nothing may name none, such as the home of a user. */
  #placesOf({ target, resource }: StateItem): string[] {
    const { identities, types } = this.#run;
    const both = [target, read(resource, types).target];
    const places = both.flatMap((each) => (each ? placesOf(each, identities) : []));
    return [...new Set(places.map((place) => identities.realPath(place)))];
  }

  /** Whether something desired is to be at its place, in place of a folder above it, or below what is no folder. */
  #isTaken({ resource }: StateItem, places: readonly string[]): boolean {
    const { at, whole, above } = (this.#taken ??= this.#findTaken());
    return places.some(
      (place) =>
        at.has(place) ||
        foldersAbove(place).some((folder) => whole.has(folder)) ||
        (resource.type !== "directory" && above.has(place)),
    );
  }

  #findTaken(): Taken {
    const taken: Taken = { at: new Set(), whole: new Set(), above: new Set() };
    for (const item of this.#desired) {
      const { path } = item.resource.spec;
      const isWhole = item.resource.type !== "directory" && typeof path === "string";
      for (const place of this.#placesOf(item)) {
        taken.at.add(place);
        if (isWhole) taken.whole.add(place);
        for (const folder of foldersAbove(place)) taken.above.add(folder);
      }
    }
    return taken;
  }
}

/** Places, by real path, that desired things are to have. */
interface Taken {
  at: Set<string>;
  /** Those of things that share them with nothing else, or bring a folder whole. */
  whole: Set<string>;
  /** The folders above them. */
  above: Set<string>;
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
