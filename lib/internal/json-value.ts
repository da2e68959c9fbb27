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
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false;
    const below: unknown[] = [];
    for (const item of level) if (!isPart(item, below)) return false;
    level = below;
  }
  return true;
}

/** Whether a value is JSON as far as itself goes; adds what is in it to `below`. */
function isPart(value: unknown, below: unknown[]): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  if (Array.isArray(value)) {
    for (const item of value) below.push(item);
    return true;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) {
    if (key === "__proto__") return false;
    below.push((value as Record<string, unknown>)[key]);
  }
  return true;
}
