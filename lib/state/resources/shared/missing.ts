import { OrchestratorError } from "../../../errors.ts";
import type { JsonObject } from "../../../json.ts";

/**
 * The error for what is not there and would have to be: `HOST_ERROR` with `missing: true` in its details. A plan takes it for
 * an answer only where no earlier resource of the run may bring it.
 */
export function missing(message: string, details: JsonObject): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message, details: { ...details, missing: true } });
}
