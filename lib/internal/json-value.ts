/** Any JSON value, checked in one pass over it: a schema that tries one alternative after another costs many times the value. */
import { z } from "zod";

/** Levels of lists and objects in a value; beyond it a value is no JSON to us. */
const maxDepth = 1000;

/**
 * Makes a schema of any JSON value. Its description is that of `z.json()`; the check is linear, and takes the value as it is
 * instead of a copy. Refuses numbers that JSON can't carry and members named `__proto__`.
 */
export function linearJson(): z.ZodJSONSchema {
  const schema = z.json();
  const run: (typeof schema)["_zod"]["run"] = (payload) => {
    if (!isJsonValue(payload.value)) {
      payload.issues.push({ code: "custom", input: undefined, inst: schema, message: "not a JSON value" });
    }
    return payload;
  };
  // The one alternative to writing the description of it a second time.
  schema._zod.run = run;
  schema._zod.parse = run;
  return schema;
}

/** Whether JSON can carry a value without loss. Cost: linear, without recursion. */
export function isJsonValue(value: unknown): boolean {
  if (!isContainer(value)) return isScalar(value);
  let level: object[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const below: object[] = [];
    // What is in the last level would be one too deep.
    for (const container of level)
      if (!hasJsonMembers(container, depth < maxDepth ? below : null)) return false;
    level = below;
  }
  return true;
}

/**
 * Whether a list or an object is JSON as far as itself and its scalars go; adds the lists and objects in it to `below`. Scalars, which most
 * of a large value is, are looked at where they stand: to collect them first took twice as long.
 *
 * @param below - Null where it must be empty.
 */
function hasJsonMembers(container: object, below: object[] | null): boolean {
  if (Array.isArray(container)) {
    for (const item of container as unknown[]) if (!isJsonMember(item, below)) return false;
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(container);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(container)) {
    if (key === "__proto__" || !isJsonMember((container as Record<string, unknown>)[key], below))
      return false;
  }
  return true;
}

function isJsonMember(value: unknown, below: object[] | null): boolean {
  if (below === null) return false;
  if (!isContainer(value)) return isScalar(value);
  below.push(value);
  return true;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value === "string" || typeof value === "boolean";
}
