/** Two resources about the same thing: equal ones are one, different ones are a fault. So are those that contradict each other in a part. */
import { holdsSecret } from "../internal/secret-mark.ts";
import { WorkBudget } from "../internal/work.ts";
import type { Json } from "../json.ts";
import { resourceIdentityKey } from "./definition.ts";
import type { ResourceTypes } from "./resource-type.ts";
import { type ResolvedResource, resourceKey } from "./resource.ts";
import { claimedParts, findContradictions, type PartContradiction } from "./shared-parts.ts";
import { type Fight, findFights, sharedTexts, type TextClaim } from "./text-edits.ts";

/** Two resources that can't both be as they say: they describe one thing differently, or undo each other's changes. */
export interface ResourceConflict {
  first: { module: string; resource_id: string };
  second: { module: string; resource_id: string };
  /** What both are about, e.g. "path:/etc/motd". */
  identity: string;
  message: string;
}

/** What telling whether resources undo each other's changes may cost, in steps: what costs more is told by the machine. */
const mostSteps = 5_000_000;

/** A budget for {@link findConflicts}. */
export function conflictBudget(): WorkBudget {
  return new WorkBudget(mostSteps);
}

/**
 * Finds every resource that contradicts an earlier one, or of which one undoes what the other does. Those whose condition does not
 * hold are left out. What depends on a secret is told by the machine, and so is what costs more than the budget.
 */
export function findConflicts(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
  budget: WorkBudget = conflictBudget(),
): ResourceConflict[] {
  const fights = findFights(knownClaims(resources, types), budget);
  return [
    ...findDifferences(resources, types),
    ...fights.map(fightConflict),
    ...findBuried(resources, types).map(buriedConflict),
  ];
}

/** A resource that wants something below a folder that another has gone. */
export interface Buried {
  clearing: ResolvedResource;
  below: ResolvedResource;
  folder: string;
}

/** What a search for what is buried knows beside the resources. */
export interface BuriedSearch {
  /** Under which condition a resource is wanted; undefined = always. Default: all are wanted. */
  conditionOf?: (resource: ResolvedResource) => unknown;
  /** All the ways to call a path. Default: as it is declared. */
  waysTo?: (path: string) => readonly string[];
}

/** Finds what is wanted below a folder that is to be gone: whichever comes first, one of the two fails or undoes the other. */
export function findBuried(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
  { conditionOf = () => undefined, waysTo = (path) => [path] }: BuriedSearch = {},
): Buried[] {
  const cleared = new Map<string, ByCondition<ResolvedResource>>();
  for (const resource of resources) {
    const folder = resource.skip ? null : (types.get(resource.type)?.clears?.(resource.spec) ?? null);
    for (const way of folder === null ? [] : waysTo(folder))
      addByCondition(cleared, way, { value: resource, condition: conditionOf(resource) });
  }
  if (cleared.size === 0) return [];
  return resources.flatMap((below) => {
    const paths = below.skip ? [] : wantedPaths(below, types).flatMap(waysTo);
    for (const folder of paths.flatMap(foldersAbove)) {
      const clearing = firstMeeting(cleared.get(folder), conditionOf(below));
      if (clearing) return [{ clearing, below, folder }];
    }
    return [];
  });
}

/** The first under each condition, in their order; undefined = without one. */
export type ByCondition<T> = Map<unknown, T>;

/** Adds what is about `key`, unless another under the same condition is there. */
export function addByCondition<T>(
  all: Map<string, ByCondition<T>>,
  key: string,
  { value, condition }: { value: T; condition: unknown },
): void {
  const known = all.get(key);
  if (!known) all.set(key, new Map([[condition, value]]));
  else if (!known.has(condition)) known.set(condition, value);
}

/** One that certainly is wanted where something under `condition` is. Different conditions may exclude each other; a run finds out. */
export function firstMeeting<T>(known: ByCondition<T> | undefined, condition: unknown): T | undefined {
  if (condition === undefined) return known?.values().next().value;
  return known?.get(condition) ?? known?.get(undefined);
}

/** The paths that a resource wants to be there. */
function wantedPaths({ type, spec }: ResolvedResource, types: ResourceTypes): readonly string[] {
  if (spec["ensure"] === "absent" || spec["ensure"] === "unmounted") return [];
  const { path } = spec;
  return types.get(type)?.paths?.(spec) ?? (typeof path === "string" ? [path] : []);
}

function foldersAbove(path: string): string[] {
  const steps = path.split("/");
  return steps.slice(2).map((_, at) => steps.slice(0, at + 2).join("/"));
}

/** The same as a conflict. */
export function buriedConflict({ clearing, below, folder }: Buried): ResourceConflict {
  const conflict = conflictOf(clearing, below, `path:${folder}`);
  const message = `${resourceKey(clearing)} has ${folder} gone, and ${resourceKey(below)} wants something in it.`;
  return { ...conflict, message };
}

/** The texts that resources are about, each with the resource, as far as no more must be known than they say. */
export function textClaims(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
): TextClaim<ResolvedResource>[] {
  return resources.flatMap((resource) => {
    const edits = resource.skip ? undefined : types.get(resource.type)?.edits?.(resource.spec);
    const identity = resourceIdentityKey(resource, types);
    return (edits ?? []).map((edit) => ({ resource, identity, text: edit.of, edit }));
  });
}

/** Of claims on texts that several are about, those without a secret. */
function knownClaims(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
): TextClaim<ResolvedResource>[] {
  const shared = [...sharedTexts(textClaims(resources, types)).values()].flat();
  return shared.filter(({ resource }) => !holdsSecret(resource.spec));
}

/** What each resource is about, by keys that only those share which may contradict each other. */
export function conflictKeys(resource: ResolvedResource, types: ResourceTypes): string[] {
  return [
    resourceIdentityKey(resource, types),
    ...textClaims([resource], types).map(({ text }) => textKey(text)),
  ];
}

const textPrefix = "text of ";

/** The key of a text, unlike that of every thing. */
export function textKey(text: string): string {
  return `${textPrefix}${text}`;
}

/** Whether a key is that of a text. */
export function isTextKey(key: string): boolean {
  return key.startsWith(textPrefix);
}

/** A fight, as a conflict. */
export function fightConflict({ first, second, text, isWhole }: Fight<ResolvedResource>): ResourceConflict {
  const conflict = conflictOf(first, second, text.startsWith("/") ? `path:${text}` : text);
  return { ...conflict, message: `${fightMessage(first, second, text)} ${fightAdvice(isWhole)}` };
}

function fightMessage(first: ResolvedResource, second: ResolvedResource, text: string): string {
  return `${resourceKey(first)} and ${resourceKey(second)} undo each other's changes of ${text}: each apply would make both again.`;
}

/** What to do about a fight. */
export function fightAdvice(isWhole: boolean): string {
  return isWhole
    ? "One of them says the whole text: put there what the other wants, or leave the text to the other."
    : "Let only one of them say it.";
}

/**
 * Finds every resource that describes a thing, or a part of one, otherwise than an earlier one. Those whose condition does not hold
 * are left out.
 *
 * @param identityOf - What a resource is about. Default: what it says itself; a machine knows which paths are one.
 */
export function findDifferences(
  resources: readonly ResolvedResource[],
  types: ResourceTypes,
  identityOf: (resource: ResolvedResource) => string = (resource) => resourceIdentityKey(resource, types),
): ResourceConflict[] {
  const first = new Map<string, ResolvedResource>();
  const conflicts: ResourceConflict[] = [];
  for (const resource of resources) {
    if (resource.skip) continue;
    const identity = identityOf(resource);
    const other = first.get(identity);
    if (!other) first.set(identity, resource);
    else if (!describeTheSame(other, resource)) conflicts.push(conflictOf(other, resource, identity));
  }
  return [...conflicts, ...findContradictions(claimedParts(resources, types)).map(partConflict)];
}

/** A contradiction in a part, as a conflict. */
export function partConflict({ first, second, identity }: PartContradiction): ResourceConflict {
  return conflictOf(first, second, identity);
}

function conflictOf(first: ResolvedResource, second: ResolvedResource, identity: string): ResourceConflict {
  return {
    first: { module: first.module, resource_id: first.resource_id },
    second: { module: second.module, resource_id: second.resource_id },
    identity,
    message: `${resourceKey(first)} and ${resourceKey(second)} describe ${identity} differently.`,
  };
}

/** Of two paths that are one, or two names of an account, it does not matter which is written. */
function describeTheSame(a: ResolvedResource, b: ResolvedResource): boolean {
  if (a.type !== b.type) return false;
  if (a.identity === b.identity) return equalJson(a.spec, b.spec);
  const name = typeof a.spec["path"] === "string" ? "path" : "user";
  return equalJson({ ...a.spec, [name]: null }, { ...b.spec, [name]: null });
}

function equalJson(a: Json, b: Json): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((entry, index) => equalJson(entry, b[index] ?? null));
  }
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && equalJson(a[name] ?? null, b[name] ?? null));
}
