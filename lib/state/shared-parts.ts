/** Resources that are about several things, some of which others may be about, too: the packages of two lists. */
import type { DeclaredPart, ResourceSharing, ResourceType, ResourceTypes } from "./resource-type.ts";
import { type ResolvedResource, resourceKey } from "./resource.ts";

/** A type whose resources share parts. */
export type SharingType = ResourceType & { readonly sharing: ResourceSharing };

/** A resource that declares a part. */
export interface PartClaim extends DeclaredPart {
  resource: ResolvedResource;
}

/** Two resources that contradict each other in a part. */
export interface PartContradiction {
  first: ResolvedResource;
  second: ResolvedResource;
  /** What both are about, e.g. "package:nginx". */
  identity: string;
}

/** The type of a resource, where its resources share parts. */
export function sharingType(resource: { type: string }, types: ResourceTypes): SharingType | null {
  const type = types.get(resource.type);
  return type?.sharing ? (type as SharingType) : null;
}

/** What resources declare, by type and part; of those that are skipped and those that can't be read, nothing. */
export function claimedParts(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
): Map<SharingType, Map<string, PartClaim[]>> {
  const found = new Map<SharingType, Map<string, PartClaim[]>>();
  for (const resource of resources) {
    const type = resource.skip ? null : sharingType(resource, types);
    const spec = type?.schema.safeParse(resource.spec);
    if (!type || !spec?.success) continue;
    const parts = found.get(type) ?? new Map<string, PartClaim[]>();
    found.set(type, parts);
    const claim = { key: resourceKey(resource), spec: spec.data, resource };
    for (const part of type.sharing.parts(spec.data)) {
      const claims = parts.get(part);
      if (claims) claims.push(claim);
      else parts.set(part, [claim]);
    }
  }
  return found;
}

/** Finds resources that say of a part what can't be so at once. Those with one identity are compared as a whole elsewhere. */
export function findContradictions(
  claimed: ReadonlyMap<SharingType, ReadonlyMap<string, readonly PartClaim[]>>,
): PartContradiction[] {
  const found: PartContradiction[] = [];
  const pairs = new Set<string>();
  for (const [type, parts] of claimed)
    for (const [part, claims] of parts) {
      const identities = new Set<string>();
      const distinct = claims.filter(
        ({ resource: { identity } }) => !identities.has(identity) && identities.add(identity),
      );
      for (const [at, second] of distinct.entries()) {
        const first = distinct.slice(0, at).find(({ spec }) => type.sharing.contradicts(spec, second.spec));
        const pair = first && `${first.key} ${second.key}`;
        if (!first || pair === undefined || pairs.has(pair)) continue;
        pairs.add(pair);
        found.push({
          first: first.resource,
          second: second.resource,
          identity: `${type.namespace ?? type.type}:${part}`,
        });
      }
    }
  return found;
}
