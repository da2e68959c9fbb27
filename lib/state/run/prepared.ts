/** What follows from a resource alone, worked out once: a drift check looks at the same baseline again and again. */
import { OrchestratorError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import { identityKeyAmong, type ResourceType, type ResourceTypes } from "../resource-type.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";

/** Puts secrets into properties; what holds none stays the same object. */
export type Reveal = (spec: JsonObject) => JsonObject;

/** A resource in the words of its type, or why that can't be. */
export interface ReadResource {
  /** Type and spec to converge to; null where there is nothing to converge to. */
  target: { type: ResourceType; spec: unknown } | null;
  /** Why it can't be worked with at all. */
  fault: OrchestratorError | null;
}

interface Prepared {
  types: ResourceTypes;
  key: string;
  identity: string;
  /** Not before somebody asks: of what is applied, most is never read. */
  read: ReadResource | null;
}

const preparedResources = new WeakMap<ResolvedResource, Prepared>();

/** Module and id. */
export function keyOf(resource: ResolvedResource, types: ResourceTypes): string {
  return prepare(resource, types).key;
}

/** What it is about as it says itself, across types. */
export function declaredIdentity(resource: ResolvedResource, types: ResourceTypes): string {
  return prepare(resource, types).identity;
}

/** The resource by the schema of its type. */
export function read(resource: ResolvedResource, types: ResourceTypes): ReadResource {
  const prepared = prepare(resource, types);
  prepared.read ??= readNow(resource, types);
  return prepared.read;
}

/** The same with what only the machine may know in it. Not remembered: the resource lives longer than the run. */
export function readRevealed(
  resource: ResolvedResource,
  { types, reveal }: { types: ResourceTypes; reveal: Reveal },
): ReadResource {
  const spec = reveal(resource.spec);
  return spec === resource.spec ? read(resource, types) : readNow({ ...resource, spec }, types);
}

/** The fault of properties, now or from before, that the schema of their type refuses. */
export function invalid(what: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message: `${what} can't be read by this agent.` });
}

/** The fault of a resource, now or from before, whose type is not there. */
export function unknownType(type: string): OrchestratorError {
  const message = `This agent knows no resource type "${type}".`;
  return new OrchestratorError("UNKNOWN_RESOURCE_TYPE", { message });
}

function prepare(resource: ResolvedResource, types: ResourceTypes): Prepared {
  const known = preparedResources.get(resource);
  if (known?.types === types) return known;
  const [key, identity] = [resourceKey(resource), identityKeyAmong(types, resource)];
  const prepared = { types, key, identity, read: null };
  preparedResources.set(resource, prepared);
  return prepared;
}

function readNow(resource: ResolvedResource, types: ResourceTypes): ReadResource {
  const type = types.get(resource.type);
  if (!type) return { target: null, fault: unknownType(resource.type) };
  const spec = type.schema.safeParse(resource.spec);
  if (!spec.success) return { target: null, fault: invalid("The properties") };
  return { target: { type, spec: spec.data }, fault: null };
}
