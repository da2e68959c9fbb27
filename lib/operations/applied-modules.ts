/**
 * What is known of the modules of one agent: which it has, who brought them, what calls named for it, and what an apply makes of that.
 * An apply of some modules says nothing of the others.
 */
import { namedOf, type NamedModules } from "../module-format/module-reference.ts";
import type { ResourceResult } from "../state/result.ts";
import type { AgentStateDocument, AppliedModule, Grounds, OperationDocument } from "./documents.ts";

type State = Readonly<AgentStateDocument> | null;
type Operation = Readonly<OperationDocument>;

/** What is known of each module of an agent, by name. */
export function modulesOf(state: State): ReadonlyMap<string, Readonly<AppliedModule>> {
  return new Map(Object.entries(state?.modules ?? {}));
}

/** The modules that an agent has, so that others may require them. */
export function presentModules(state: State): Set<string> {
  return new Set(
    [...modulesOf(state)].flatMap(([name, { applied, leaving }]) => (applied && !leaving ? name : [])),
  );
}

/** The revision that an agent has of each module. */
export function revisionsOf(modules: AgentStateDocument["modules"]): Map<string, number> {
  return new Map(
    Object.entries(modules ?? {}).flatMap(([name, { applied }]) =>
      applied ? [[name, applied.revision] as const] : [],
    ),
  );
}

/** The modules that an assignment brought before, and neither it nor anybody else wants any more. */
export function droppedBy(
  assignment: string,
  {
    state,
    wanted,
    isWanted,
  }: { state: State; wanted: readonly string[]; isWanted: (name: string) => boolean },
): string[] {
  return [...modulesOf(state)].flatMap(([name, { assignments }]) => {
    const isOthers = wanted.includes(name) || isWanted(name) || namedOf(state?.named, name) !== undefined;
    return assignments.includes(assignment) && !isOthers ? name : [];
  });
}

/** What an apply takes for given, at this moment. */
export function groundsOf(
  state: State,
  { removed, ...named }: Pick<Grounds, "about" | "only_params"> & { removed: readonly string[] },
): Grounds {
  const known = modulesOf(state);
  const operations = removed.flatMap((name) => {
    const operationId = known.get(name)?.operation_id;
    return operationId === undefined ? [] : [[name, operationId] as const];
  });
  return { ...named, named: namedFor(state, named), removed: Object.fromEntries(operations) };
}

/** What calls named, as far as it counts. */
function namedFor(
  state: State,
  { about, only_params }: Pick<Grounds, "about" | "only_params">,
): Grounds["named"] {
  const counting = Object.entries(state?.named ?? {}).filter(([name]) => about?.includes(name) ?? true);
  if (!only_params) return Object.fromEntries(counting);
  return Object.fromEntries(
    counting.flatMap(([name, { params }]) => (params ? [[name, { params }] as const] : [])),
  );
}

/** Whether an apply that waited would take away or change what was asked for since it was made. */
export function isOvertaken(
  {
    operation_id,
    grounds,
    modules,
    named: ownWord = {},
  }: Pick<Operation, "operation_id" | "grounds" | "modules" | "named">,
  state: State,
): boolean {
  if (!grounds) return false;
  const known = modulesOf(state);
  // Somebody's word came between and brought a newer revision, as an apply over a freeze does: it stays.
  const hasNewer = modules.some(({ name, revision }) => {
    const module = known.get(name);
    if (!module?.applied || Object.hasOwn(ownWord, name)) return false;
    return module.operation_id > operation_id && module.applied.revision > revision;
  });
  if (hasNewer) return true;
  const brings = new Set(modules.map(({ name }) => name));
  // A call that names what it brings anyway, and says nothing more of it, changes nothing of it.
  const named = Object.entries(namedFor(state, grounds)).filter(
    ([name, how]) => Object.hasOwn(grounds.named, name) || !brings.has(name) || Object.keys(how).length > 0,
  );
  if (!isSameNaming(Object.fromEntries(named), grounds.named)) return true;
  return Object.entries(grounds.removed).some(([name, operationId]) => {
    const module = known.get(name);
    const expected = [operationId, ...(grounds.ahead ?? [])];
    return module && !module.leaving && !expected.includes(module.operation_id);
  });
}

function isSameNaming(one: NamedModules, other: NamedModules): boolean {
  const text = (named: NamedModules): string =>
    JSON.stringify(Object.entries(named).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(other);
}

/** Whether the newest apply about a module put all of it in place, or was to bring no more than what had been. */
export function isWhole(module: Readonly<AppliedModule> | undefined): boolean {
  if (module?.applied === undefined || module.doubtful) return false;
  return module.applied.operation_id === module.operation_id;
}

/** How an apply ended: all of it is in place, or some may be, or nobody knows what it did. */
export type ApplyEnd = "applied" | "partial" | "doubtful";

/**
 * What is known of the modules of an agent once an apply has ended, however it ended.
 *
 * @param apply.isRepetition - Whether it was to bring exactly what had been applied before: what it left undone is drift then.
 */
export function modulesAfter(
  state: State,
  operation: Operation,
  {
    results,
    end,
    isRepetition,
  }: { results: readonly ResourceResult[]; end: ApplyEnd; isRepetition: boolean },
): { modules: NonNullable<AgentStateDocument["modules"]>; named: NonNullable<AgentStateDocument["named"]> } {
  const {
    operation_id,
    modules: wanted,
    scope,
    sources,
    named: newlyNamed = {},
    extras,
    begun_at,
  } = operation;
  const isApplied = end === "applied";
  const at = begun_at === undefined ? {} : { begun_at };
  const after = new Map(modulesOf(state));
  const names = new Set(wanted.map(({ name }) => name));
  for (const name of scope ?? [...after.keys()]) {
    const before = after.get(name);
    if (names.has(name) || !before) continue;
    const isThere = results.some((result) => result.module === name && isLeft(result));
    if (end === "doubtful") after.set(name, { ...before, doubtful: true });
    else if (isApplied && !isThere) after.delete(name);
    else after.set(name, { ...before, operation_id, ...at, leaving: true });
  }
  for (const { name, revision } of wanted) {
    const before = after.get(name);
    const isStillWhole = isRepetition && isWhole(before);
    if (end === "doubtful" && isStillWhole) continue;
    const applied = isApplied || isStillWhole ? { revision, operation_id } : before?.applied;
    const assignments =
      sources && Object.hasOwn(sources, name) ? sources[name]! : (before?.assignments ?? []);
    if (end === "doubtful" && before) after.set(name, { ...before, doubtful: true });
    else {
      const doubt = end === "doubtful" ? { doubtful: true as const } : {};
      after.set(name, { revision, operation_id, assignments, ...at, ...(applied && { applied }), ...doubt });
    }
  }
  const gone = new Set(extras?.remove_modules);
  const named = Object.entries({ ...state?.named, ...newlyNamed }).filter(([name]) => !gone.has(name));
  return { modules: Object.fromEntries(after), named: Object.fromEntries(named) };
}

/** Why an apply does not come to what it was to take away. */
const leftFor: ReadonlySet<string> = new Set(["unattended", "cancelled", "dependency"]);

/** Of what an apply was to take away: whether it may be there still. */
export function isLeft({ outcome, skipped_because }: ResourceResult): boolean {
  return outcome === "failed" || (skipped_because !== undefined && leftFor.has(skipped_because));
}
