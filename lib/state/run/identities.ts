/** What the resources of a run are about on this machine: two paths that lead to one thing are one identity here. */
import type { Host } from "../../host/host.ts";
import { identityKey, type Prior, type ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { claimsOn, distinct, withClaims } from "./claims.ts";
import { declaredIdentity } from "./prepared.ts";
import { RealPaths } from "./real-paths.ts";

/** Names things for the length of a run. */
export class Identities {
  readonly #types: ResourceTypes;
  readonly #paths: RealPaths;
  readonly #known = new Map<ResolvedResource, string>();

  /** @param desired - Links among them are taken for made. */
  constructor({ files, isConfined }: Host, types: ResourceTypes, desired: readonly ResolvedResource[]) {
    this.#types = types;
    const links = linksOf(desired);
    const now = new RealPaths({ files, isConfined });
    const reals = new Map([...links].map(([path, target]) => [now.of(path), target]));
    this.#paths = links.size === 0 ? now : new RealPaths({ files, isConfined, links: reals });
  }

  /** What a resource is about, across types that share a namespace. */
  of(resource: ResolvedResource): string {
    const known = this.#known.get(resource);
    if (known !== undefined) return known;
    const found = this.#find(resource);
    this.#known.set(resource, found);
    return found;
  }

  /** A path with every link among the folders above it followed. */
  realPath(path: string): string {
    return this.#paths.of(path);
  }

  /** What is applied, by identity, each thing once: of what was applied by two paths, what stood before the first. */
  merge(applied: readonly AppliedResource[]): Map<string, AppliedResource> {
    const merged = new Map<string, AppliedResource>();
    for (const entry of applied) {
      const identity = this.of(entry.resource);
      const first = merged.get(identity);
      const isOurs = first !== undefined && (first.prior !== null || first.changed === true);
      const claims = first ? distinct([...claimsOn(entry), ...claimsOn(first)]) : null;
      merged.set(identity, claims ? withClaims(isOurs ? first : entry, claims) : entry);
    }
    return merged;
  }

  /** What is applied, with the path that it is declared with now in what stood before: the one that it had may be gone some day. */
  respell(entry: AppliedResource, { spec }: ResolvedResource): AppliedResource {
    const { prior } = entry;
    const { path: from } = prior?.spec ?? {};
    const { path: to } = spec;
    if (!prior || typeof from !== "string" || typeof to !== "string" || from === to) return entry;
    if (this.realPath(from) !== this.realPath(to)) return entry;
    return { ...entry, prior: movePrior(prior, from, to) };
  }

  #find(resource: ResolvedResource): string {
    const { identity, spec } = resource;
    const type = this.#types.get(resource.type);
    const declared = declaredIdentity(resource, this.#types);
    if (!type) return declared;
    const path = type.namespace === "path" ? identity : type.identityBeginsWithPath ? spec["path"] : null;
    if (typeof path !== "string" || !identity.startsWith(path)) return declared;
    const real = this.realPath(path);
    return real === path ? declared : identityKey(type, real + identity.slice(path.length));
  }
}

/** What stood at one path, as what stood at another one; unchanged where it is about something else. */
export function movePrior(prior: Prior, from: string, to: string): Prior {
  const { path, inside } = prior.spec;
  if (path !== from) return prior;
  const entries = Array.isArray(inside) && { inside: inside.map((entry) => movedEntry(entry, from, to)) };
  return { ...prior, spec: { ...prior.spec, path: to, ...entries } };
}

function movedEntry<T>(entry: T, from: string, to: string): T {
  const path: unknown = (entry as { path?: unknown }).path;
  if (typeof path !== "string" || !path.startsWith(`${from}/`)) return entry;
  return { ...entry, path: to + path.slice(from.length) };
}

/** The links that the run makes or takes away, with their targets. */
function linksOf(desired: readonly ResolvedResource[]): Map<string, string | null> {
  const links = new Map<string, string | null>();
  for (const { type, spec, skip } of desired) {
    const { path, ensure, target } = spec;
    if (type !== "symlink" || skip || typeof path !== "string") continue;
    links.set(path, ensure !== "absent" && typeof target === "string" ? target : null);
  }
  return links;
}
