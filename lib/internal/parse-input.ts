import type { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import { toIssues, type SchemaFault } from "./schema-issues.ts";

/** Checks what a caller sent against a schema; `VALIDATION_FAILED` names every fault with its path. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new OrchestratorError("VALIDATION_FAILED", {
    issues: toIssues(result.error.issues as SchemaFault[]),
  });
}
