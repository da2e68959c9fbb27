import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";
import type { ResourceResult } from "./result.ts";

/**
 * What a plan says, as a text that is the same for two plans only where they say the same of every resource: what is done,
 * why, and every value before and after. How long it took to find out is left out.
 *
 * Of a sensitive resource only what a reader of the plan sees is compared.
 */
export function planText(results: readonly ResourceResult[]): string {
  const said = results.map((result) => {
    const { duration_ms: _took, attempts: _tries, message: _sentence, ...rest } = result;
    return rest;
  });
  return canonicalJson(said as unknown as Json);
}
