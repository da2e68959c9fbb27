/** What the engine knows about one resource while a run lasts. */
import { isOrchestratorError, type OrchestratorError } from "../../errors.ts";
import type { Prior, ResourceType, ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import type { Change } from "../result.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { distinct, withClaims } from "./claims.ts";
import type { Identities } from "./identities.ts";
import { invalid, keyOf, read, readRevealed, type Reveal, unknownType } from "./prepared.ts";

/** One thing to look at and perhaps to change: a desired resource, or what one that is not desired any more came from. */
export interface StateItem {
  readonly resource: ResolvedResource;
  /** Module and id. */
  readonly key: string;
  /** What it is about, across types. */
  readonly identity: string;
  /** Whether the resource is to be taken away, which is: its prior is converged to. */
  readonly removal: boolean;
  /** Of a removal: whether the last run failed at it, too. */
  readonly isStuck: boolean;
  /** Type and spec to converge to; null where there is nothing to converge to. */
  target: { type: ResourceType; spec: unknown } | null;
  /** Why it can't be worked with at all. */
  readonly fault: OrchestratorError | null;
  /** What an earlier run left to come back to; null = nothing. */
  readonly known: Prior | null;
  /** Whether an earlier run changed it. */
  readonly isOurs: boolean;
  /** What stood before, as far as it was asked for; `known` until then. */
  prior: Prior | null;
  /** Whether what stood before has been handed to the caller, by this run or an earlier one. */
  captured: boolean;
  /** Whether this run changed it, or can't tell that it did not. */
  begun: boolean;
  /** Of a removal that did not succeed: whether the thing stands as it did before us all the same. */
  isAsBefore: boolean;
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

/**
 * Tells each item that asks for it which paths the items are about. Those that are skipped are about none.
 *
 * @param beside - Gives resources that are no items and declare their paths all the same.
 */
export function tellDeclaredPaths(
  items: readonly StateItem[],
  { identities, types }: { identities: Identities; types: ResourceTypes },
  beside: () => readonly ResolvedResource[] = () => [],
): void {
  if (!items.some(({ target }) => target?.type.planning?.withDeclaredPaths)) return;
  const others = beside().map((resource) => ({ resource, ...read(resource, types) }));
  const paths = [...items, ...others].flatMap(({ target, resource }) =>
    target && !resource.skip ? pathsOf(target) : [],
  );
  const reals = paths.map((path) => identities.realPath(path));
  for (const item of items) {
    const { target } = item;
    const { planning } = target?.type ?? {};
    if (!target || !planning?.withDeclaredPaths) continue;
    const [own = ""] = pathsOf(target);
    const real = identities.realPath(own);
    const inside = reals.filter((path) => path.startsWith(`${real}/`));
    const spelled = real === own ? inside : inside.map((path) => own + path.slice(real.length));
    const spec = planning.withDeclaredPaths(target.spec, [...paths, ...spelled]);
    item.target = { type: target.type, spec };
  }
}

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

/** The paths that a resource makes or edits. */
export function pathsOf({ type, spec }: NonNullable<StateItem["target"]>): readonly string[] {
  if (type.paths) return type.paths(spec);
  const path: unknown = (spec as { path?: unknown }).path;
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
export function toApplied({ resource, prior, isOurs, begun, others, held }: StateItem): AppliedResource {
  const entry = { resource, prior, ...(prior === null && (isOurs || begun) && { changed: true as const }) };
  // Most things are of one module, and a run notes thousands.
  if (others.length === 0 && held.length === 0) return entry;
  return withClaims(entry, distinct([resource, ...others, ...held]));
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

type Target = NonNullable<StateItem["target"]>;

function readPrior(type: ResourceType, { spec }: Prior): Target | null {
  const found = (type.removing?.priorSchema ?? type.schema).safeParse(spec);
  return found.success ? { type, spec: found.data } : null;
}

type Making = ResourceType["apply"];

/** What comes to one and then to the other, as one target: as long as there is something to do for the first, only that is told. */
function inTurn(first: Target, last: Target): Target {
  const look: ResourceType["check"] = async (_spec, host, signal) => {
    try {
      return await first.type.check(first.spec, host, signal);
    } catch (error) {
      // What stands there is none of its own any more: what stood before, or what somebody else put there.
      if (isOrchestratorError(error) && error.details["kind"] !== undefined) return [];
      throw error;
    }
  };
  const making =
    (by: (type: ResourceType) => Making): Making =>
    async (...[, , host, signal]) => {
      const going = await look(null, host, signal);
      if (going.length > 0) await by(first.type)(first.spec, going, host, signal);
      const coming = await last.type.check(last.spec, host, signal);
      if (coming.length > 0) await by(last.type)(last.spec, coming, host, signal);
    };
  const type = {
    checksWithPrograms: first.type.checksWithPrograms === true || last.type.checksWithPrograms === true,
    check: async (...call: Parameters<typeof look>): Promise<Change[]> => {
      const going = await look(...call);
      return going.length > 0 ? going : last.type.check(last.spec, call[1], call[2]);
    },
    apply: making(({ apply }) => apply),
    planning: {
      ...last.type.planning,
      foresee: making(({ planning, apply }) => (planning?.foresee ?? apply) as Making),
    },
  };
  return { type: Object.assign(Object.create(last.type) as ResourceType, type), spec: last.spec };
}

type FixedParts = Pick<StateItem, "resource" | "key" | "identity" | "removal" | "target" | "fault">;

function newItem(parts: FixedParts, entry: AppliedResource | null): StateItem {
  const known = entry?.prior ?? null;
  const isOurs = known !== null || entry?.changed === true;
  return {
    resource: parts.resource,
    key: parts.key,
    identity: parts.identity,
    removal: parts.removal,
    isStuck: parts.removal && entry?.stuck === true,
    target: parts.target,
    fault: parts.fault,
    known,
    isOurs,
    prior: known,
    captured: isOurs,
    begun: false,
    isAsBefore: false,
    changes: null,
    error: null,
    checkedAt: 0,
    sameAs: null,
    others: [],
    held: [],
    hides: "nothing",
  };
}
