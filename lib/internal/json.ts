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
