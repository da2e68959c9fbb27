/** The keys that a schema knows at a place, for the question whether another was meant. */
import type { z } from "zod";
import { didYouMean } from "./check-options.ts";

interface Inside {
  innerType?: z.core.$ZodType;
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
  valueType?: z.core.$ZodType;
  options?: readonly z.core.$ZodType[];
}

/** The keys of the map at a path; none where it is no map of keys that are known. */
function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(shapeOf(schema));
  const { element, valueType } = insideOf(schema);
  const next = typeof key === "number" ? element : (fieldOf(schema, String(key)) ?? valueType);
  return next ? keysAt(next, rest) : [];
}

/** Where a key stands that is not known there. */
interface KeyPlace {
  /** Of the value that holds it, however deep. Default: one that knows no key. */
  schema?: z.core.$ZodType;
  path?: readonly PropertyKey[];
  /** Keys that the whole value may have beside those of the schema. */
  also?: readonly string[] | undefined;
}

/** What is said of a key that a schema does not know at a place, with the one that may have been meant. */
export function notKnown(key: string, { schema, path = [], also = [] }: KeyPlace): string {
  const known = schema ? keysAt(schema, path) : [];
  return `"${key}" is not known here${didYouMean(key, path.length === 0 ? [...known, ...also] : known) || "."}`;
}

/** The schemas of the keys of a map, of all kinds that it may be of; none where it is no map of keys that are known. */
function shapeOf(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> {
  const { shape, options = [] } = insideOf(schema);
  return shape ?? Object.assign({}, ...options.map(shapeOf));
}

/** The schema of one key of a map; null where it knows no such key. */
export function fieldOf(schema: z.core.$ZodType, key: string): z.core.$ZodType | null {
  const shape = shapeOf(schema);
  // Also where it is called as what every object has, such as `constructor`.
  return Object.hasOwn(shape, key) ? (shape[key] ?? null) : null;
}

/** What a schema is made of, without what says that it may be absent. */
function insideOf(schema: z.core.$ZodType): Inside {
  const inside = schema._zod.def as Inside;
  return inside.innerType ? insideOf(inside.innerType) : inside;
}
