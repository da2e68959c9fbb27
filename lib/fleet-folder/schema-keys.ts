/** The keys that a schema knows at a place, for the question whether another was meant. */
import type { z } from "zod";
import type { Issue } from "../errors.ts";

interface Inside {
  innerType?: z.core.$ZodType;
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
}

/** The keys of the map at a path; none where it is no map of keys that are known. */
export function keysAt(schema: z.core.$ZodType, path: Issue["path"]): string[] {
  const [key, ...rest] = path;
  const shape = shapeOf(schema);
  if (key === undefined) return Object.keys(shape);
  const next = typeof key === "number" ? insideOf(schema).element : shape[key];
  return next ? keysAt(next, rest) : [];
}

/** The schemas of the keys of a map; none where it is no map of keys that are known. */
export function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  return insideOf(schema).shape ?? {};
}

/** What a schema is made of, without what says that it may be absent. */
function insideOf(schema: z.core.$ZodType): Inside {
  const inside = schema._zod.def as Inside;
  return inside.innerType ? insideOf(inside.innerType) : inside;
}
