/** What the engine knows about one resource while a run lasts. */
import { isOrchestratorError, type OrchestratorError } from "../../errors.ts";
import { type PathsSaid, type Prior, type ResourceType, type ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource, StayingThings } from "../resource.ts";
import type { Change } from "../result.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { distinct, withClaims } from "./claims.ts";
import type { Identities, Placed } from "./identities.ts";
import { invalid, keyOf, read, readRevealed, type Reveal, unknownType } from "./prepared.ts";
import { movePrior } from "./real-paths.ts";

/** One thing to look at and perhaps to change: a desired resource, or what one that is not desired any more came from. */
export interface StateItem {
  readonly resource: ResolvedResource;
  /** Module and id. */
  readonly key: string;
  /** What it is about, across types. Another thing where a link on the way is led elsewhere while the run lasts. */
  identity: string;
  /** The resource as it is noted when it was applied: with the links on the way followed. */
  noted: ResolvedResource;
  /** Whether the resource is to be taken away, which is: its prior is converged to. */
  readonly removal: boolean;
  /** Of a removal: whether the last run failed at it, too. */
  readonly isStuck: boolean;
  /** Type and spec to converge to; null where there is nothing to converge to. */
  target: { type: ResourceType; spec: unknown } | null;
  /** Why it can't be worked with at all. */
  readonly fault: OrchestratorError | null;
  /** What an earlier run left to come back to; null = nothing. */
  known: Prior | null;
  /** Whether an earlier run changed it. */
  isOurs: boolean;
  /** What stood before, as far as it was asked for; `known` until then. */
  prior: Prior | null;
  /** Whether what stood before has been handed to the caller, by this run or an earlier one. */
  captured: boolean;
  /** Whether this run changed it, or can't tell that it did not. */
  begun: boolean;
  /** Of a removal that did not succeed: whether the thing stands as it did before us all the same. */
  isAsBefore: boolean;
  /** Of a removal: whether it leaves what another resource, which stays, has in the same text. */
  isShared: boolean;
  /** What the last check found; null where there was none or it failed. */
  changes: Change[] | null;
  /** Why the last check failed. */
  error: unknown;
  /** How many changes the run had made when it was checked. */
  checkedAt: number;
  /** The item before it that is about the same thing and says the same. */
  sameAs: StateItem | null;
  /** What modules that the run is not about say of the thing. */
  others: readonly ResolvedResource[];
  /** What else the run is about and was applied to the thing before. */
  held: readonly ResolvedResource[];
  /** What its results do not show: what is or was sensitive itself, or quotes what stands around it. */
  hides: "nothing" | "diffs" | "values";
}

type Target = NonNullable<StateItem["target"]>;

/**
 * Notes whose results would show what a sensitive resource put on the machine: a diff quotes the lines around a change, and
 * what was sensitive until now is what stands there.
 */
export function hideSecrets(
  items: readonly StateItem[],
  applied: readonly AppliedResource[],
  { types, identities }: { types: ResourceTypes; identities: Identities },
): void {
  const secrets: ResolvedResource[] = [];
  const note = (resource: ResolvedResource): void => void (resource.sensitive && secrets.push(resource));
  for (const { resource } of items) note(resource);
  for (const { resource, others } of applied) {
    note(resource);
    others?.forEach(note);
  }
  if (secrets.length === 0) return;
  const hidden = new Set(secrets.map((resource) => identities.of(resource)));
  const realPathsOf = (target: StateItem["target"]): string[] =>
    target ? pathsOf(target).map((path) => identities.realPath(path)) : [];
  const paths = new Set(secrets.flatMap((resource) => realPathsOf(read(resource, types).target)));
  for (const item of items) {
    if (hidden.has(item.identity)) item.hides = "values";
    else if (realPathsOf(item.target).some((path) => paths.has(path))) item.hides = "diffs";
  }
}

/** The paths that a resource makes or edits, but for those in the home of an account. */
export function pathsOf(target: Target): readonly string[] {
  return declaredPaths(target).filter((path) => path.startsWith("/"));
}

/** The paths that a resource makes or edits, on this machine. */
export function placesOf(target: Target, identities: Identities): readonly string[] {
  return declaredPaths(target).flatMap((path) => identities.inHomes(path));
}

/** Those of them whose mode it says. */
export function modesOf({ type, spec }: Target, identities: Identities): readonly string[] {
  const { mode } = spec as { mode?: unknown };
  const paths = type.modes?.(spec) ?? (mode === undefined ? [] : ownPath(spec));
  return paths.flatMap((path) => identities.inHomes(path));
}

/** What a resource says of paths, on this machine. */
export function saidBy(target: Target, identities: Identities): PathsSaid {
  const { ensure, owner, group } = target.spec as Record<string, unknown>;
  const own = placesOf(target, identities);
  const edits = target.type.edits?.(target.spec) ?? [];
  // That a line is absent says of its file that it is there.
  const wantsNothing = ensure === "absent" && edits.some(({ isWhole }) => isWhole === true);
  return {
    absent: wantsNothing ? own : [],
    whole: edits.some(({ isWhole }) => isWhole === true) ? own : [],
    content: edits.flatMap(({ of, takesAny }) =>
      takesAny || !/^[/~]/.test(of) ? [] : identities.inHomes(of),
    ),
    mode: modesOf(target, identities),
    owner: owner === undefined ? [] : own,
    group: group === undefined ? [] : own,
  };
}

/** What is worked out of each thing that may be said of paths. */
export function mapSaid<To>(to: (aspect: keyof PathsSaid) => To): Record<keyof PathsSaid, To> {
  const [absent, whole, content] = [to("absent"), to("whole"), to("content")];
  return { absent, whole, content, mode: to("mode"), owner: to("owner"), group: to("group") };
}

function declaredPaths({ type, spec }: Target): readonly string[] {
  return type.paths?.(spec) ?? ownPath(spec);
}

function ownPath(spec: unknown): readonly string[] {
  const { path } = spec as { path?: unknown };
  return typeof path === "string" ? [path] : [];
}

/** Makes the item of a desired resource. */
export function desiredItem(
  resource: ResolvedResource,
  { types, identity, reveal }: { types: ResourceTypes; identity: string; reveal?: Reveal | undefined },
  known: AppliedResource | null,
): StateItem {
  const { target, fault } = reveal ? readRevealed(resource, { types, reveal }) : read(resource, types);
  return newItem({ resource, key: keyOf(resource, types), identity, removal: false, target, fault }, known);
}

/** What is to be noted of an item that was worked on: what we changed, or found as it is to be. */
export function toApplied(item: StateItem): AppliedResource {
  const { noted, prior, isOurs, begun, others, held } = item;
  const changed = prior === null && (isOurs || begun) && { changed: true as const };
  const entry = { ...toCaptured(item), ...changed };
  // Most things are of one module, and a run notes thousands.
  if (others.length === 0 && held.length === 0) return entry;
  return withClaims(entry, distinct([noted, ...others, ...held]));
}

/** An item and what stood before it, as both are noted. */
export function toCaptured({
  resource,
  noted,
  prior,
}: StateItem): Pick<AppliedResource, "resource" | "prior"> {
  const { path: declared } = resource.spec;
  const { path: real } = noted.spec;
  const isMoved = prior !== null && typeof declared === "string" && typeof real === "string";
  return { resource: noted, prior: isMoved ? movePrior(prior, declared, real) : prior };
}

/**
 * Tells an item which thing it is about on this machine, and what is known of that.
 *
 * @param entry - What is applied to the thing; null = nothing.
 */
export function place(item: StateItem, { identity, noted }: Placed, entry: AppliedResource | null): void {
  const { path: declared } = item.resource.spec;
  const { path: real } = noted.spec;
  const prior = entry?.prior ?? null;
  const isMoved = prior !== null && typeof declared === "string" && typeof real === "string";
  // With the path that it is declared with.
  const known = isMoved ? movePrior(prior, real, declared) : prior;
  Object.assign(item, { identity, noted, ...knownOf(entry && { ...entry, prior: known }) });
}

/**
 * Makes the item that takes a resource away.
 *
 * @param others - What modules that the run is not about say of the thing: it stays for them.
 */
export function removalItem(
  entry: AppliedResource,
  { types, identity }: { types: ResourceTypes; identity: string },
  others: readonly ResolvedResource[] = [],
): StateItem {
  const { resource, prior } = entry;
  const base = { resource, key: keyOf(resource, types), identity, removal: true, target: null, fault: null };
  if (others.length > 0) return { ...newItem(base, entry), others };
  if (!prior || resource.removal === "keep") return newItem(base, entry);
  const type = types.get(prior.type);
  if (!type) return newItem({ ...base, fault: unknownType(prior.type) }, entry);
  const declared = read(resource, types).target;
  const wanted = declared?.type.removing?.asDeclared?.(prior, declared.spec) ?? prior;
  const target = readPrior(type, wanted);
  if (!target) return newItem({ ...base, fault: invalid("What stood before") }, entry);
  const gone = declared?.type.removing?.gone?.(declared.spec, prior);
  const goneType = gone && types.get(gone.type);
  const going = gone && goneType ? readPrior(goneType, gone) : null;
  return newItem({ ...base, target: going ? inTurn(going, target) : target }, entry);
}

function readPrior(type: ResourceType, { spec }: Prior): Target | null {
  const found = (type.removing?.priorSchema ?? type.schema).safeParse(spec);
  return found.success ? { type, spec: found.data } : null;
}

type Making = ResourceType["apply"];

/** What comes to one and then to the other, as one target: as long as there is something to do for the first, only that is told. */
function inTurn(first: Target, last: Target): Target {
  let gone = first.spec;
  const look: ResourceType["check"] = async (_spec, host, signal) => {
    try {
      return await first.type.check(gone, host, signal);
    } catch (error) {
      // What stands there is none of its own any more: what stood before, or what somebody else put there.
      if (isOrchestratorError(error) && error.details["kind"] !== undefined) return [];
      throw error;
    }
  };
  const making =
    (by: (type: ResourceType) => Making): Making =>
    async (...[spec, , host, signal]) => {
      const going = await look(null, host, signal);
      if (going.length > 0) await by(first.type)(gone, going, host, signal);
      const coming = await last.type.check(spec, host, signal);
      if (coming.length > 0) await by(last.type)(spec, coming, host, signal);
    };
  const type = {
    checksWithPrograms: first.type.checksWithPrograms === true || last.type.checksWithPrograms === true,
    check: async (...call: Parameters<typeof look>): Promise<Change[]> => {
      const going = await look(...call);
      return going.length > 0 ? going : last.type.check(...call);
    },
    apply: making(({ apply }) => apply),
    planning: {
      ...last.type.planning,
      foresee: making(({ planning, apply }) => (planning?.foresee ?? apply) as Making),
    },
    removing: {
      ...last.type.removing,
      withStaying(spec: unknown, staying: StayingThings): unknown {
        gone = first.type.removing?.withStaying?.(gone, staying) ?? gone;
        return last.type.removing?.withStaying?.(spec, staying) ?? spec;
      },
    },
  };
  return { type: Object.assign(Object.create(last.type) as ResourceType, type), spec: last.spec };
}

type FixedParts = Pick<StateItem, "resource" | "key" | "identity" | "removal" | "target" | "fault">;

function newItem(parts: FixedParts, entry: AppliedResource | null): StateItem {
  const { known, isOurs, prior, captured } = knownOf(entry);
  return {
    resource: parts.resource,
    key: parts.key,
    identity: parts.identity,
    noted: parts.resource,
    removal: parts.removal,
    isStuck: parts.removal && entry?.stuck === true,
    target: parts.target,
    fault: parts.fault,
    known,
    isOurs,
    prior,
    captured,
    begun: false,
    isAsBefore: false,
    isShared: false,
    changes: null,
    error: null,
    checkedAt: 0,
    sameAs: null,
    others: [],
    held: [],
    hides: "nothing",
  };
}

function knownOf(entry: AppliedResource | null): Pick<StateItem, "known" | "isOurs" | "prior" | "captured"> {
  const known = entry?.prior ?? null;
  const isOurs = known !== null || entry?.changed === true;
  return { known, isOurs, prior: known, captured: isOurs };
}
