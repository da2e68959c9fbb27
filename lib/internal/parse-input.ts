import type { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import type { Issue } from "../errors.ts";
import { isWellFormed } from "./canonical-json.ts";
import { toIssues, type SchemaFault } from "./schema-issues.ts";

/**
 * Checks what a caller sent against a schema; `VALIDATION_FAILED` names every fault with its path. Half a character is none of text:
 * it has no form in UTF-8, so that what was sent, what is hashed and what reaches a machine would differ.
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  const issues = result.success
    ? [...halfCharacters(result.data, [])]
    : toIssues(result.error.issues as SchemaFault[]);
  if (result.success && issues.length === 0) return result.data;
  throw new OrchestratorError("VALIDATION_FAILED", { issues });
}

/** Goes down what JSON can carry, which the schema has bounded. */
function* halfCharacters(value: unknown, path: Issue["path"]): Generator<Issue> {
  if (typeof value === "string") {
    if (!isWellFormed(value)) yield { path, message: "is no text: half of a character" };
  } else if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) yield* halfCharacters(entry, [...path, index]);
  } else if (isPlain(value)) {
    for (const [name, entry] of Object.entries(value)) {
      if (!isWellFormed(name)) yield { path, message: "A key holds half of a character." };
      else yield* halfCharacters(entry, [...path, name]);
    }
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
