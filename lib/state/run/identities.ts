/**
 * What the resources of a run are about on this machine: two paths that lead to one thing are one identity here.
 *
 * A link on the way may be led elsewhere from one run to the next; another thing stands at the same path then. So what is applied is
 * noted as it stands, with the links followed: what the path leads to now is a thing of its own, with something of its own to come
 * back to, and the one before goes.
 */
import { isOrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { startOf } from "../../internal/canonical-json.ts";
import { identityKey, type ResourceType, type ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { findUser, homeOfNew } from "../resources/shared/accounts.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { claimsOn, distinct, withClaims } from "./claims.ts";
import { declaredIdentity, read } from "./prepared.ts";
import { RealPaths, type RealPathsOptions, realPrior } from "./real-paths.ts";

/** What a resource is about, and the resource as it is noted of that: with the links on the way followed. */
export interface Placed {
  identity: string;
  noted: ResolvedResource;
}

/** Names things for the length of a run. */
export class Identities {
  readonly #types: ResourceTypes;
  /** As the run will have it. */
  readonly #paths: RealPaths;
  /** As what is applied stands before the run changes anything. */
  readonly #before: RealPaths;
  /** As it is in the middle of the run. */
  #now: { paths: RealPaths; host: Host; moment: number } | null = null;
  readonly #known = new Map<ResolvedResource, string>();
  readonly #host: Host;
  readonly #homes: Map<string, string>;
  /** Those that the run gives. */
  readonly #comingHomes: ReadonlyMap<string, string>;
  /** What was found of homes: the table of accounts may be long. */
  readonly #placesOfHomes = new Map<string, string[]>();

  /** @param desired - Links among them are taken for made, and accounts for those that there are. */
  constructor(host: Host, types: ResourceTypes, desired: readonly ResolvedResource[]) {
    const looking = lookingAt(host);
    const { files } = host;
    this.#types = types;
    this.#host = host;
    this.#homes = homesOf(desired);
    this.#comingHomes = new Map(this.#homes);
    const links = linksOf(desired);
    const now = new RealPaths(looking);
    const reals = new Map([...links].map(([path, target]) => [now.of(path), target]));
    this.#paths = links.size === 0 ? now : new RealPaths({ ...looking, links: reals });
    // Where somebody took away a link that the run makes again, it led there before.
    const gone = new Map([...reals].filter(([path]) => !stands(path, files)));
    this.#before = gone.size === 0 ? now : new RealPaths({ ...looking, links: gone });
  }

  /** What a resource is about, across types that share a namespace. */
  of(resource: ResolvedResource): string {
    return this.#known.get(resource) ?? this.placed(resource).identity;
  }

  /** What a resource is about, and how it is noted of that, when the run has made its links. */
  placed(resource: ResolvedResource): Placed {
    const placed = this.#place(resource, this.#paths, (name) => this.#comingHome(name));
    this.#known.set(resource, placed.identity);
    return placed;
  }

  /**
   * The same as the machine is now: a link may not have been made, or be led elsewhere meanwhile.
   *
   * @param moment - Another one where anything may have changed since it was asked last.
   */
  placedNow(resource: ResolvedResource, host: Host, moment: number): Placed {
    if (this.#now?.moment !== moment || this.#now.host !== host)
      this.#now = { paths: new RealPaths(lookingAt(host)), host, moment };
    return this.#place(resource, this.#now.paths, (name) => this.#homeNow(name, host));
  }

  /** A path with every link among the folders above it followed. */
  realPath(path: string): string {
    return this.#thingAt(path, this.#paths);
  }

  /** A path that may begin with the home of an account, which may be a link; none where that has none of its own. */
  inHomes(path: string): string[] {
    const [, name = "", below = ""] = /^~([^/]+)(.*)$/.exec(path) ?? [];
    if (name === "") return [path];
    let homes = this.#placesOfHomes.get(name);
    if (!homes) this.#placesOfHomes.set(name, (homes = this.#findHomes(name)));
    return homes.map((home) => home + below);
  }

  /**
   * What is applied, by identity, each thing once, as it stands: of what was applied by two paths, what stood before the first. Agents of
   * earlier versions noted no more than how it was declared; that is then where this leads before the run changes anything.
   */
  merge(applied: readonly AppliedResource[]): Map<string, AppliedResource> {
    const merged = new Map<string, AppliedResource>();
    for (const [name, home] of homesOf(applied.flatMap(claimsOn)))
      if (!this.#homes.has(name)) this.#homes.set(name, home);
    this.#placesOfHomes.clear();
    const real = (path: string): string => safeReal(path, this.#before);
    const home = (name: string): string | undefined => this.#homeNow(name, this.#host);
    for (const each of applied) {
      const placed = claimsOn(each).map((claim) => this.#place(claim, this.#before, home));
      const claims = placed.map(({ noted }) => noted);
      const { prior } = each;
      const isMoved = prior !== null && this.#types.get(prior.type)?.pathIsName !== true;
      const entry = { ...withClaims(each, claims), prior: isMoved ? realPrior(prior, real) : prior };
      const identity = placed[0]!.identity;
      const first = merged.get(identity);
      const isOurs = first !== undefined && (first.prior !== null || first.changed === true);
      const all = first ? distinct([...claims, ...claimsOn(first)]) : null;
      merged.set(identity, all ? withClaims(isOurs ? first : entry, all) : entry);
    }
    return merged;
  }

  /** The home that is declared and the one that there is by now, each also where it is a link that nobody but root can put there. */
  #findHomes(name: string): string[] {
    const declared = this.#homes.get(name);
    const homes = [declared, this.#homeOf(name, declared)].map((home) => (home ?? "").replace(/\/+$/, ""));
    const places = homes.filter((home) => home.startsWith("/"));
    const followed = places
      .filter((home) => this.#isSafe(home) === true)
      .map((home) => this.realPath(`${home}/_`).slice(0, -2));
    return [...new Set([...places, ...followed])];
  }

  /**
   * The real path by which two ways to one thing are known. Whoever leads a way can have it lead to what is his own, or others may change,
   * and no further: else he would choose what of root's is one with a thing of his.
   */
  #thingAt(path: string, paths: RealPaths): string {
    const { real, isLed } = paths.way(path);
    return !isLed || this.#isSafe(real) === false ? real : path;
  }

  /** Whether nobody but root and the agent can put a link at a path; null where that can't be told, and nobody may rest on either. */
  #isSafe(path: string): boolean | null {
    try {
      return this.#host.files.ledBy(path.slice(0, path.lastIndexOf("/")) || "/") === null;
    } catch (error) {
      if (isOrchestratorError(error)) return null;
      throw error;
    }
  }

  #homeOf(name: string, declared: string | undefined): string | undefined {
    try {
      return findUser(this.#host, name)?.home ?? declared ?? homeOfNew(name, this.#host);
    } catch (error) {
      // Who rests on such an account says so himself.
      if (isOrchestratorError(error)) return undefined;
      throw error;
    }
  }

  #identityHere(resource: ResolvedResource, type: ResourceType): string {
    const { identity } = resource;
    const { target } = read(resource, this.#types);
    // A sensitive one may be named by its module and id.
    if (!target || type.identity(target.spec) !== identity) return identity;
    try {
      return type.identityHere?.(target.spec, this.#host) ?? identity;
    } catch (error) {
      if (isOrchestratorError(error)) return identity;
      throw error;
    }
  }

  #comingHome(name: string): string | undefined {
    return this.#comingHomes.get(name) ?? this.#homeOf(name, undefined);
  }

  #homeNow(name: string, host: Host): string | undefined {
    try {
      return findUser(host, name)?.home ?? this.#comingHome(name);
    } catch (error) {
      if (isOrchestratorError(error)) return this.#comingHome(name);
      throw error;
    }
  }

  #place(resource: ResolvedResource, paths: RealPaths, homeOf: (name: string) => string | undefined): Placed {
    const noted = this.#atHome(this.#respelled(resource, paths), paths, homeOf);
    const identity = this.#find(noted, paths);
    if (noted !== resource) this.#known.set(noted, identity);
    return { identity, noted };
  }

  /** The resource with the real path of its thing; as it is where it has none, or its type would not take that. */
  #respelled(resource: ResolvedResource, paths: RealPaths): ResolvedResource {
    const { path } = resource.spec;
    if (typeof path !== "string" || !path.startsWith("/")) return resource;
    if (this.#types.get(resource.type)?.pathIsName === true) return resource;
    const real = safeReal(path, paths);
    const { target } = real === path ? { target: null } : read(resource, this.#types);
    const spec = target?.type.schema.safeParse({ ...resource.spec, path: real });
    if (!target || !spec?.success) return resource;
    // A sensitive one may be named by its module and id.
    const isNamed = target.type.identity(target.spec) === resource.identity;
    const identity = (isNamed ? target.type.identity(spec.data) : null) ?? resource.identity;
    return { ...resource, identity, spec: { ...resource.spec, path: real } };
  }

  /** The resource with the home that it is in; as it is where it is in none, or that is noted. */
  #atHome(
    resource: ResolvedResource,
    paths: RealPaths,
    homeOf: (name: string) => string | undefined,
  ): ResolvedResource {
    if (!this.#types.get(resource.type)?.inHomeOf) return resource;
    const { target } = read(resource, this.#types);
    const { identity } = resource;
    const name =
      target && target.type.identity(target.spec) === identity && target.type.inHomeOf?.(target.spec);
    const home = typeof name === "string" ? homeOf(name)?.replace(/\/+$/, "") : undefined;
    if (home?.startsWith("/") !== true) return resource;
    const real = safeReal(`${home}/_`, paths).slice(0, -2);
    return { ...resource, identity: startOf(`${identity} in ${real}`, 4096) };
  }

  #find(resource: ResolvedResource, paths: RealPaths): string {
    const { identity, spec } = resource;
    const type = this.#types.get(resource.type);
    const declared = declaredIdentity(resource, this.#types);
    if (!type) return declared;
    if (type.identityHere) return identityKey(type, this.#identityHere(resource, type));
    const path = spec["path"] ?? (type.namespace === "path" ? identity : null);
    const isPath = type.namespace === "path" || type.identityBeginsWithPath === true;
    if (typeof path !== "string" || !isPath) return declared;
    const real = this.#thingAt(path, paths);
    // A sensitive one is named by its module and id, and is about a place all the same.
    if (!identity.startsWith(path)) return `${declared} in ${real}`;
    return real === path ? declared : identityKey(type, real + identity.slice(path.length));
  }
}

/** The real path, as it is to be noted: where somebody else leads the way, the path as it is, at whose links the host looks each time. */
function safeReal(path: string, paths: RealPaths): string {
  const { real, isLed } = paths.way(path);
  return isLed ? path : real;
}

function lookingAt(host: Host): RealPathsOptions {
  const { files, isConfined } = host;
  return { files, isConfined, isTrusted: (uid) => uid === 0 || uid === host.ownProcess?.().uid };
}

function stands(path: string, files: Host["files"]): boolean {
  try {
    return files.stat(path) !== null;
  } catch (error) {
    if (isOrchestratorError(error)) return true;
    throw error;
  }
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

/** The homes that accounts are declared with. */
function homesOf(resources: readonly ResolvedResource[]): Map<string, string> {
  const homes = new Map<string, string>();
  for (const { type, spec, skip } of resources) {
    const { name, ensure, home } = spec;
    if (type !== "user" || skip || ensure === "absent" || typeof name !== "string") continue;
    if (typeof home === "string") homes.set(name, home);
  }
  return homes;
}
