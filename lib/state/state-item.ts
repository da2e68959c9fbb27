/** What the engine knows about one resource while a run lasts. */
import { OrchestratorError } from "../errors.ts";
import type { Prior, ResourceType, ResourceTypes } from "./resource-type.ts";
import { identityKey } from "./resource-type.ts";
import { type ResolvedResource, resourceKey } from "./resource.ts";
import type { Change } from "./result.ts";

/** What was applied to a machine, and what to come back to when it is no longer desired. */
export interface AppliedResource {
  resource: ResolvedResource;
  /** What stood before our first change; null = we never changed it, or there is nothing to come back to. */
  prior: Prior | null;
}

/** One thing to look at and perhaps to change: a desired resource, or what one that is not desired any more came from. */
export interface StateItem {
  readonly resource: ResolvedResource;
  /** Module and id. */
  readonly key: string;
  /** What it is about, across types. */
  readonly identity: string;
  /** Whether the resource is to be taken away, which is: its prior is converged to. */
  readonly removal: boolean;
  /** Type and spec to converge to; null where there is nothing to converge to. */
  target: { type: ResourceType; spec: unknown } | null;
  /** Why it can't be worked with at all. */
  readonly fault: OrchestratorError | null;
  /** What stood before; null = not captured yet. */
  prior: Prior | null;
  /** Whether what stood before is known to the caller, or has been asked for in this run. */
  captured: boolean;
  /** What the last check found; null where there was none or it failed. */
  changes: Change[] | null;
  /** Why the last check failed. */
  error: unknown;
  /** How many changes the run had made when it was checked. */
  checkedAt: number;
  /** The item before it that is about the same thing and says the same. */
  sameAs: StateItem | null;
  /** What its results do not show: what is or was sensitive itself, or quotes what stands around it. */
  hides: "nothing" | "diffs" | "values";
}

/** What follows from a resource alone, worked out once: a drift check looks at the same baseline again and again. */
interface Prepared {
  types: ResourceTypes;
  key: string;
  identity: string;
  target: StateItem["target"];
  fault: OrchestratorError | null;
}

const preparedResources = new WeakMap<ResolvedResource, Prepared>();

/** What a resource is about, across types that share a namespace. */
export function identityOf(resource: ResolvedResource, types: ResourceTypes): string {
  return prepare(resource, types).identity;
}

/** Tells each item that asks for it which paths the items are about. Those that are skipped are about none. */
export function placeAmid(items: readonly StateItem[]): void {
  if (!items.some(({ target }) => target?.type.amid)) return;
  const paths = items.flatMap(({ target, resource }) => (target && !resource.skip ? pathsOf(target) : []));
  for (const item of items) {
    const { target } = item;
    if (target?.type.amid) item.target = { type: target.type, spec: target.type.amid(target.spec, paths) };
  }
}

/**
 * Notes whose results would show what a sensitive resource put on the machine: a diff quotes the lines around a change, and
 * what was sensitive until now is what stands there.
 */
export function hideSecrets(
  items: readonly StateItem[],
  applied: readonly AppliedResource[],
  types: ResourceTypes,
): void {
  const all = [...items.map(({ resource }) => resource), ...applied.map(({ resource }) => resource)];
  const secrets = all.filter(({ sensitive }) => sensitive).map((resource) => prepare(resource, types));
  if (secrets.length === 0) return;
  const identities = new Set(secrets.map(({ identity }) => identity));
  const paths = new Set(secrets.flatMap(({ target }) => (target ? pathsOf(target) : [])));
  for (const item of items) {
    if (identities.has(item.identity)) item.hides = "values";
    else if (item.target && pathsOf(item.target).some((path) => paths.has(path))) item.hides = "diffs";
  }
}

function pathsOf({ type, spec }: NonNullable<StateItem["target"]>): readonly string[] {
  if (type.paths) return type.paths(spec);
  const path: unknown = (spec as { path?: unknown }).path;
  return typeof path === "string" ? [path] : [];
}

/** Makes the item of a desired resource. */
export function desiredItem(
  resource: ResolvedResource,
  types: ResourceTypes,
  prior: Prior | null,
): StateItem {
  const { key, identity, target, fault } = prepare(resource, types);
  return newItem({ resource, key, identity, removal: false, target, fault }, prior);
}

/** Makes the item that takes a resource away. */
export function removalItem({ resource, prior }: AppliedResource, types: ResourceTypes): StateItem {
  const { key, identity } = prepare(resource, types);
  const base = { resource, key, identity, removal: true, target: null, fault: null };
  if (!prior) return newItem(base, null);
  const type = types.get(prior.type);
  const spec = type && (type.priorSchema ?? type.schema).safeParse(prior.spec);
  if (!type || !spec?.success) return newItem({ ...base, fault: invalid("What stood before") }, prior);
  return newItem({ ...base, target: { type, spec: spec.data } }, prior);
}

type FixedParts = Pick<StateItem, "resource" | "key" | "identity" | "removal" | "target" | "fault">;

function newItem(parts: FixedParts, prior: Prior | null): StateItem {
  const { resource, key, identity, removal, target, fault } = parts;
  const captured = prior !== null;
  const found = { changes: null, error: null, checkedAt: 0, sameAs: null, hides: "nothing" as const };
  return { resource, key, identity, removal, target, fault, prior, captured, ...found };
}

function prepare(resource: ResolvedResource, types: ResourceTypes): Prepared {
  const known = preparedResources.get(resource);
  if (known?.types === types) return known;
  const prepared = { types, key: resourceKey(resource), ...read(resource, types) };
  preparedResources.set(resource, prepared);
  return prepared;
}

function read(
  resource: ResolvedResource,
  types: ResourceTypes,
): Pick<Prepared, "identity" | "target" | "fault"> {
  const type = types.get(resource.type);
  if (!type) {
    const message = `This agent knows no resource type "${resource.type}".`;
    const fault = new OrchestratorError("UNKNOWN_RESOURCE_TYPE", { message });
    return { identity: `${resource.type}:${resource.identity}`, target: null, fault };
  }
  const identity = identityKey(type, resource.identity);
  const spec = type.schema.safeParse(resource.spec);
  if (!spec.success) return { identity, target: null, fault: invalid("The properties") };
  return { identity, target: { type, spec: spec.data }, fault: null };
}

function invalid(what: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message: `${what} can't be read by this agent.` });
}
