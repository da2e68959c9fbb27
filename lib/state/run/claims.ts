/** What modules that were applied apart from each other say of one thing: it stays for as long as one of them wants it. */
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { AppliedResource } from "./applied-resource.ts";

/** Every resource that was applied to a thing. */
export function claimsOn({ resource, others = [] }: AppliedResource): readonly ResolvedResource[] {
  return [resource, ...others];
}

/** An entry with these claims on its thing, the first of which describes it. */
export function withClaims(
  { others: _before, ...entry }: AppliedResource,
  [resource = entry.resource, ...others]: readonly ResolvedResource[],
): AppliedResource {
  return { ...entry, resource, ...(others.length > 0 && { others }) };
}

/** The same claims without those that name one resource twice; the first counts. */
export function distinct(claims: readonly ResolvedResource[]): ResolvedResource[] {
  const named = new Set<string>();
  return claims.filter((claim) => !named.has(resourceKey(claim)) && named.add(resourceKey(claim)));
}

const none: readonly ResolvedResource[] = [];

/** The modules that a run is about. What others brought stays as it was applied. */
export class Scope {
  readonly #modules: ReadonlySet<string> | null;

  /** @param modules - Absent = all there are. */
  constructor(modules: readonly string[] | undefined) {
    this.#modules = modules ? new Set(modules) : null;
  }

  /** Whether it is about all. */
  get isAll(): boolean {
    return this.#modules === null;
  }

  has({ module }: Pick<ResolvedResource, "module">): boolean {
    return this.#modules === null || this.#modules.has(module);
  }

  /** What its modules say of a thing. */
  inside(entry: AppliedResource | null | undefined): readonly ResolvedResource[] {
    return entry ? claimsOn(entry).filter((claim) => this.has(claim)) : none;
  }

  /** What other modules say of a thing. */
  outside(entry: AppliedResource | null | undefined): readonly ResolvedResource[] {
    if (!entry || this.#modules === null) return none;
    return claimsOn(entry).filter((claim) => !this.has(claim));
  }
}
