/** What a run must know of modules that it is not about: what they were applied with stays so. */
import { OrchestratorError } from "../../errors.ts";
import { buriedConflict, findBuried, findDifferences, type ResourceConflict } from "../conflicts.ts";
import type { ResourceTypes } from "../resource-type.ts";
import { type ResolvedResource, resourceKey, type StayingThings } from "../resource.ts";
import type { AppliedResource } from "./applied-resource.ts";
import { claimsOn, type Scope } from "./claims.ts";
import type { Identities } from "./identities.ts";
import { read } from "./prepared.ts";
import { desiredItem, mapSaid, modesOf, pathsOf, placesOf, saidBy, type StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

type Target = NonNullable<StateItem["target"]>;

/** What modules were applied with that a run is not about. */
export function outsideOf(
  applied: ReadonlyMap<string, AppliedResource>,
  scope: Scope,
): readonly ResolvedResource[] {
  return scope.isAll ? [] : [...applied.values()].flatMap((entry) => scope.outside(entry));
}

/**
 * Tells each item that asks for it which paths are declared: those of the run, of modules that it is not about, and of what was applied
 * and is not desired any more, as long as the run does not take it away.
 *
 * @param failed - Things that the run could not take away.
 */
export function tellDeclared(
  items: readonly StateItem[],
  run: Pick<StateRun, "mode" | "holdRemovals" | "applied" | "scope" | "identities" | "types">,
  failed: ReadonlySet<string> = new Set(),
): void {
  const { mode, holdRemovals, applied, scope } = run;
  const staysAnyway = mode === "check" || holdRemovals === true;
  const leavers = (): ResolvedResource[] => {
    const wanted = new Set(items.flatMap(({ removal, identity }) => (removal ? [] : [identity])));
    return [...applied].flatMap(([identity, entry]) => {
      if (wanted.has(identity)) return [];
      const stays = staysAnyway || failed.has(identity);
      return claimsOn(entry).filter((claim) => scope.has(claim) && (stays || claim.removal === "keep"));
    });
  };
  const desired = items.filter(({ removal }) => !removal);
  tellDeclaredPaths(desired, run, () => [
    ...outsideOf(applied, scope).map((resource) => ({ resource, isDropped: false })),
    ...leavers().map((resource) => ({ resource, isDropped: !staysAnyway && resource.removal === "keep" })),
  ]);
}

/**
 * Tells each item that asks for it which paths the items are about, and what they say of them. Those that are skipped are about none.
 *
 * @param beside - Gives resources that are no items and declare their paths all the same; what is let go says nothing of them any more.
 */
export function tellDeclaredPaths(
  items: readonly StateItem[],
  { identities, types }: { identities: Identities; types: ResourceTypes },
  beside: () => readonly { resource: ResolvedResource; isDropped: boolean }[] = () => [],
): void {
  if (!items.some(({ target }) => target?.type.planning?.withDeclaredPaths)) return;
  const others = beside().map((each) => ({ ...each, ...read(each.resource, types) }));
  const declaring = [...items.map((item) => ({ ...item, isDropped: false })), ...others].flatMap(
    ({ target, resource, isDropped }) => (target && !resource.skip ? [{ target, isDropped }] : []),
  );
  const said = declaring.flatMap(({ target, isDropped }) => (isDropped ? [] : saidBy(target, identities)));
  const withReal = (path: string): { path: string; real: string } => ({
    path,
    real: identities.realPath(path),
  });
  const declared = declaring.flatMap(({ target }) => placesOf(target, identities)).map(withReal);
  const places = mapSaid((aspect) => said.flatMap((each) => each[aspect]).map(withReal));
  for (const item of items) {
    const { target } = item;
    const { planning } = target?.type ?? {};
    if (!target || !planning?.withDeclaredPaths) continue;
    const [own = ""] = pathsOf(target);
    const folder = identities.realPath(own);
    const spell = (paths: readonly { path: string; real: string }[]): string[] => {
      const inside = paths.filter(({ real }) => real.startsWith(`${folder}/`));
      return [...paths.map(({ path }) => path), ...inside.map(({ real }) => own + real.slice(folder.length))];
    };
    const spec = planning.withDeclaredPaths(
      target.spec,
      spell(declared),
      mapSaid((aspect) => spell(places[aspect])),
    );
    item.target = { type: target.type, spec };
  }
}

/** What modules were applied with that share things with the items: of these, too, some may watch what is changed. */
export function sharersOf(
  items: readonly StateItem[],
  {
    applied,
    types,
    scope,
  }: { applied: ReadonlyMap<string, AppliedResource>; types: ResourceTypes; scope: Scope },
): StateItem[] {
  const modules = new Set(items.flatMap(({ others }) => others.map(({ module }) => module)));
  if (modules.size === 0) return [];
  return [...applied].flatMap(([identity, entry]) =>
    scope
      .outside(entry)
      .filter(({ module }) => modules.has(module))
      .map((resource) => desiredItem(resource, { types, identity }, null)),
  );
}

/**
 * Refuses a resource that contradicts what another module was applied with.
 *
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function requireSameThing(
  resource: ResolvedResource,
  others: readonly ResolvedResource[],
  { types, identity }: { types: ResourceTypes; identity: string },
): void {
  const [conflict] = findDifferences([...others, resource], types, () => identity);
  if (conflict) throw contradictsApplied(conflict);
}

/**
 * Refuses what is wanted below what is to be gone. The machine knows which paths lead to one folder, and what modules were applied with
 * that the run is not about.
 *
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function refuseBuried(
  desired: readonly ResolvedResource[],
  outside: readonly ResolvedResource[],
  { types, identities }: Pick<StateRun, "types" | "identities">,
): void {
  const waysTo = (path: string): string[] => {
    const places = identities.inHomes(path);
    return [...new Set([...places, ...places.map((place) => identities.realPath(place))])];
  };
  const stays = new Set(outside);
  const found = findBuried([...desired, ...outside], types, { waysTo });
  const buried = found.find(({ clearing, below }) => !stays.has(clearing) || !stays.has(below));
  if (!buried) return;
  const conflict = buriedConflict(buried);
  if (stays.has(buried.clearing)) throw contradictsApplied(conflict);
  if (stays.has(buried.below))
    throw contradictsApplied({ ...conflict, first: conflict.second, second: conflict.first });
  throw new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
}

/** The refusal of what contradicts another module, the first of the two, that was applied and stays. */
export function contradictsApplied({ message, first: { module } }: ResourceConflict): OrchestratorError {
  return new OrchestratorError("RESOURCE_CONFLICT", {
    message: `${message} Module ${module} was applied apart from this and stays as it is.`,
    details: { module },
  });
}

/** Has each item keep what the run is about and was applied to its thing before: who is not done this time has no less claim on it. */
export function holdClaims(
  items: readonly StateItem[],
  { applied, scope }: { applied: ReadonlyMap<string, AppliedResource>; scope: Scope },
): void {
  const byThing = new Map<string, Set<string>>();
  for (const { identity, key } of items) byThing.set(identity, (byThing.get(identity) ?? new Set()).add(key));
  for (const item of items) {
    const entry = applied.get(item.identity);
    if (!entry) continue;
    item.held = claimsOn(entry).filter((claim) => {
      const key = resourceKey(claim);
      return scope.has(claim) && key !== item.key && byThing.get(item.identity)?.has(key);
    });
  }
}

/**
 * Tells each removal that asks for it what stays: what one made on its way may be declared by another by now. Paths that come with the
 * run come after it.
 *
 * @param outside - What modules were applied with that the run is not about.
 */
export function tellStaying(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  { identities, types, applied }: Pick<StateRun, "identities" | "types" | "applied">,
): void {
  const asking = items.filter(({ removal, target }) => removal && target && asksForStaying(target));
  if (asking.length === 0) return;
  const own = items.filter(({ removal, resource }) => !removal || resource.removal === "keep");
  const declared = [...own.map(({ resource }) => resource), ...outside].filter(({ skip }) => !skip);
  const things = new Set(declared.filter(isWanted).map((resource) => identities.of(resource)));
  const targetOf = ({ target, resource }: Pick<StateItem, "target" | "resource">): StateItem["target"] =>
    target ?? read(resource, types).target;
  const there = [
    ...own.filter(({ resource, identity }) => !resource.skip && applied.has(identity)),
    ...outside.filter(({ skip }) => !skip).map((resource) => ({ resource, target: null })),
  ];
  const wanted = there.filter(({ resource }) => isWanted(resource)).map(targetOf);
  const coming = own.filter(({ resource }) => isWanted(resource)).map(targetOf);
  const realsOf = (all: readonly StateItem["target"][], places = placesOf): string[] => {
    const paths = all.flatMap((target) => (target ? places(target, identities) : []));
    return [...new Set(paths.map((path) => identities.realPath(path)))];
  };
  const reals = {
    now: realsOf(wanted),
    later: realsOf([...wanted, ...coming]),
    declared: realsOf(there.map(targetOf)),
    modes: realsOf(wanted, modesOf),
  };
  const staying: StayingThings = {
    pathsIn: (path, when = "now") =>
      identities.inHomes(path).flatMap((place) => {
        const real = identities.realPath(place);
        return reals[when].flatMap((each) => (isWithin(each, real) ? [path + each.slice(real.length)] : []));
      }),
    has: (type, identity) => things.has(`${type}:${identity}`),
  };
  for (const item of asking) {
    const { type, spec } = keepMode(keepText(item.target!, staying), staying);
    item.target = { type, spec: type.removing?.withStaying?.(spec, staying) ?? spec };
  }
}

const goesEmpty = (spec: unknown): boolean => (spec as { remove_empty?: unknown }).remove_empty === true;

function asksForStaying({ type: { removing }, spec }: Target): boolean {
  return removing?.withStaying !== undefined || (removing?.partOf !== undefined && goesEmpty(spec));
}

/** A file that was made for a part of it stays where another resource is about it, also as a whole. */
function keepText(target: Target, staying: StayingThings): Target {
  const { type, spec } = target;
  const path = goesEmpty(spec) ? textOf(target) : undefined;
  if (path?.startsWith("/") !== true || !staying.pathsIn(path).includes(path)) return target;
  return { type, spec: { ...(spec as object), remove_empty: false } };
}

/** A mode that another resource says, too, is its own by now. */
function keepMode(target: Target, staying: StayingThings): Target {
  const { type, spec } = target;
  const { path, mode } = spec as { path?: unknown; mode?: unknown };
  if (typeof path !== "string" || mode === undefined) return target;
  if (!staying.pathsIn(path, "modes").includes(path)) return target;
  return { type, spec: { ...(spec as object), mode: undefined } };
}

function textOf({ type, spec }: Target): string | undefined {
  try {
    return type.removing?.partOf?.(spec) ?? undefined;
  } catch {
    // It is no part of a text then.
    return undefined;
  }
}

/** Whether a resource is to be there, and is not skipped. */
export function isWanted({ skip, spec }: ResolvedResource): boolean {
  return !skip && spec["ensure"] !== "absent";
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether what modules that the run is not about were applied with lies below the path of an item, or, of a folder that stays for it, is it. */
export function holdsOutside(
  { resource, target: own }: Pick<StateItem, "resource" | "target">,
  { applied, scope, identities, types }: Pick<StateRun, "applied" | "scope" | "identities" | "types">,
): boolean {
  const { path } = resource.spec;
  if (typeof path !== "string") return false;
  const real = identities.realPath(path);
  const { stays } = (own?.spec ?? {}) as { stays?: unknown };
  return outsideOf(applied, scope).some((other) => {
    const { target } = read(other, types);
    const places = (target ? placesOf(target, identities) : []).map((place) => identities.realPath(place));
    return places.some((place) => place.startsWith(`${real}/`) || (stays === true && place === real));
  });
}

/** Whether an item that is told which paths are declared is about a folder in which a thing stands. */
export function mayTake(
  { removal, target, resource }: StateItem,
  thing: StateItem,
  { identities }: Pick<StateRun, "identities">,
): boolean {
  const { path } = resource.spec;
  if (removal || !target?.type.planning?.withDeclaredPaths || typeof path !== "string") return false;
  const places = thing.target ? placesOf(thing.target, identities) : [];
  return places.some((place) => identities.realPath(place).startsWith(`${identities.realPath(path)}/`));
}

/** Whether its module lets go of what it does not want any more. */
export function isLetGo({ removal, resource }: StateItem): boolean {
  return removal && resource.removal === "keep";
}
