/** A value that JSON can carry without loss. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** An object that JSON can carry without loss. */
export type JsonObject = { [key: string]: Json };

/** Whether values of a type are JSON: nothing in them that is lost on the way, as functions and dates are. */
type AsJson<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends (...args: never[]) => unknown
    ? never
    : Value extends readonly (infer Item)[]
      ? readonly AsJson<Item>[]
      : Value extends object
        ? { [Key in keyof Value]: AsJson<Value[Key]> }
        : never;

/**
 * A document as the storage takes it: a copy, since what is stored belongs to the storage. The one place that says so to the
 * compiler.
 */
export function toJsonObject<Document extends object>(document: Document & AsJson<Document>): JsonObject {
  return { ...document } as unknown as JsonObject;
}

/** Whether two values are the same JSON, whatever the order of members; those that are `undefined` are not there. */
export function isSameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isSameJson(item, other[at]))
    );
  }
  const names = Object.keys(one).filter((name) => one[name] !== undefined);
  const count = Object.keys(other).filter((name) => other[name] !== undefined).length;
  return (
    names.length === count &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name], other[name]))
  );
}
