import type { Host } from "../host/host.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import type { Prior, ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import { Identities } from "../state/run/identities.ts";
import { movePrior } from "../state/run/real-paths.ts";

/**
 * What the resources of an operation that was cut off are about, as its run named it: whose a folder on the way is may have led it
 * elsewhere since. What the run did not name is named as the machine is now; links that it was to make count as made.
 */
export class ThingNames {
  readonly identities: Identities;
  readonly #types: ResourceTypes;
  readonly #told: ReadonlyMap<string, string>;
  readonly #byText: ReadonlyMap<string, string>;

  /** @param told - What the run named, by how its resources spell it. */
  constructor(
    resources: readonly ResolvedResource[],
    { host, types }: { host: Host; types: ResourceTypes },
    told: ReadonlyMap<string, string> = new Map(),
  ) {
    this.identities = new Identities(host, types, resources);
    this.#types = types;
    this.#told = told;
    this.#byText = new Map(
      resources.map((resource) => [resourceIdentityKey(resource, types), this.of(resource)]),
    );
  }

  /** The identity of what a resource is about. */
  of(resource: ResolvedResource): string {
    return this.#told.get(resourceIdentityKey(resource, this.#types)) ?? this.identities.of(resource);
  }

  /** The same for a result, which has no properties to tell it by. */
  ofResult(result: Pick<ResourceResult, "type" | "identity">): string {
    const text = resourceIdentityKey(result, this.#types);
    return this.#told.get(text) ?? this.#byText.get(text) ?? text;
  }

  /** A resource with the path that it had while the run lasted, and a way to say the same of what stood before it. */
  asNamed(resource: ResolvedResource): { resource: ResolvedResource; move: (prior: Prior) => Prior } {
    const { path } = resource.spec;
    const text = resourceIdentityKey(resource, this.#types);
    const named = this.#told.get(text);
    const stays = { resource, move: (prior: Prior) => prior };
    if (named === undefined || typeof path !== "string" || !resource.identity.startsWith(path)) return stays;
    const kind = text.slice(0, text.length - resource.identity.length);
    const rest = resource.identity.slice(path.length);
    const real = named.slice(kind.length, named.length - rest.length);
    if (real === path || !named.startsWith(kind) || !named.endsWith(rest)) return stays;
    return {
      resource: { ...resource, identity: real + rest, spec: { ...resource.spec, path: real } },
      move: (prior) => movePrior(prior, path, real),
    };
  }
}
