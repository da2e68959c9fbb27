/** What the resources of a plan would bring that nobody can know before they are done, and which of them another waits for. */
import type { OrchestratorError } from "../../errors.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import { watchedIds } from "../triggers.ts";

/** A resource that would be done before. */
export interface Bringer {
  resource: ResolvedResource;
  /** Folder below which it may bring what nobody can tell; "/" = accounts and programs too, null = nothing. */
  below: string | null;
  /** The paths that it makes or edits. */
  paths: readonly string[];
  /** Whether it is taken away: what goes brings nothing. */
  isRemoval: boolean;
  /** The key of what it waits for itself, where nothing else makes it one. */
  until: string | null;
}

/** What was asked about that is only foreseen. */
export interface AskedInVain {
  /** Whether anything was, so that the answer counts for nothing. */
  isInVain: boolean;
  /** What a program was asked about: accounts, paths and names of files. */
  about: readonly string[];
}

/** On what the finding of a check rests beside the machine that was looked at. */
export interface Resting extends AskedInVain {
  /** Whether it looked at something below a folder that nobody has said anything of. */
  hasLookedBelow: (folder: string) => boolean;
  /** Whether it found that something is not there, as it is to be. */
  isAbsent: boolean;
  /** Places that its type names; "/" = whatever nobody can know. */
  places: readonly string[];
}

/** The resources that would be done before, or begun, in their order. */
export class Bringers {
  readonly #done: Bringer[] = [];

  get isEmpty(): boolean {
    return this.#done.length === 0;
  }

  add(bringer: Bringer): void {
    this.#done.push(bringer);
  }

  /** The key of the one for want of which something failed; null where that is not why. */
  wantedFor(
    resource: ResolvedResource,
    error: OrchestratorError,
    { isInVain, about, places }: Pick<Resting, keyof AskedInVain | "places">,
  ): string | null {
    const isOne =
      places.length > 0
        ? (each: Bringer) => isIn(each, places, resource) || names(resource, each)
        : isInVain
          ? () => true
          : mayBring(error);
    return this.#last(resource, this.#done.filter(isOne), about);
  }

  /** The key of the one on which the finding of a check rests; null where it holds whatever comes before. */
  restedOn(resource: ResolvedResource, resting: Resting, isRemoval: boolean): string | null {
    if (this.isEmpty) return null;
    const { hasLookedBelow, isAbsent, places, isInVain, about } = resting;
    const isOne = (each: Bringer): boolean => {
      const { below } = each;
      if (below !== null && below !== "/" && hasLookedBelow(below)) return true;
      if (places.length > 0 && isIn(each, places, resource)) return true;
      if (below !== "/" || isRemoval) return false;
      return names(resource, each) || (isAbsent && !each.isRemoval);
    };
    const found = isInVain && places.includes("/") ? this.#done : this.#done.filter(isOne);
    return this.#last(resource, found, about);
  }

  /** What it names itself is what it waits for, or else what it asked about; of others nobody knows more than that the last may be the one. */
  #last(resource: ResolvedResource, among: readonly Bringer[], about: readonly string[]): string | null {
    const found =
      among.findLast((each) => names(resource, each)) ??
      among.findLast((each) => about.some((word) => isAbout(each, word))) ??
      among.at(-1);
    return found ? (found.until ?? resourceKey(found.resource)) : null;
  }
}

/** A resource by its id where it is of the same module, and in full where it is of another. */
export function toId(key: string, module: string): string {
  const within = resourceKey({ module, resource_id: "" });
  return key.startsWith(within) ? key.slice(within.length) : key;
}

/** Whether a resource says itself that it needs or watches another. */
function names(resource: ResolvedResource, { resource: other }: Bringer): boolean {
  if (other.module !== resource.module) return false;
  return resource.requires.includes(other.resource_id) || watchedIds(resource).includes(other.resource_id);
}

/** Whether a resource comes after another on purpose: in its module, or in one that requires it. */
function follows(resource: ResolvedResource, { resource: other }: Bringer): boolean {
  return other.module === resource.module || resource.requires_modules?.includes(other.module) === true;
}

/** Whether it changes something in one of these places, or may bring what nobody knows to where they are. */
function isIn(bringer: Bringer, places: readonly string[], resource: ResolvedResource): boolean {
  const { below, paths } = bringer;
  return places.some((place) => {
    if (place === "/") return below !== null && !bringer.isRemoval && follows(resource, bringer);
    const isClose = below !== null && below !== "/" && (isWithin(below, place) || isWithin(place, below));
    return isClose || paths.some((path) => isWithin(path, place));
  });
}

/** Whether it brings an account, a path, or a file of a name. Who changes the root folder brings nothing of what is in it. */
function isAbout({ resource, paths }: Bringer, word: string): boolean {
  const isOf = (path: string): boolean => isWithin(word, path) || path.endsWith(`/${word}`);
  return resource.identity === word || paths.some((path) => path !== "/" && isOf(path));
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/** Which earlier resources may bring what this failed for want of. */
function mayBring(error: OrchestratorError): (earlier: Bringer) => boolean {
  const { errno, missing, path } = error.details;
  // A disk that is read-only may be mounted anew before.
  const isMissing = errno === "ENOENT" || errno === "EROFS" || missing === true;
  if (error.code !== "COMMAND_FAILED" && !isMissing) return () => false;
  return ({ below }) =>
    below === "/" || (below !== null && typeof path === "string" && path.startsWith(`${below}/`));
}
