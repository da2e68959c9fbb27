import { errorTable, isOrchestratorError } from "../errors.ts";
import { startOf } from "../internal/canonical-json.ts";
import type { PeerError } from "../wire/messages.ts";

const maxMessageLength = 4096;

/** Writes an error as it goes to the orchestrator. One that was not thrown on purpose says no more than `INTERNAL`. */
export function toPeerError(error: unknown): PeerError {
  if (!isOrchestratorError(error)) return { code: "INTERNAL", message: errorTable.INTERNAL.message };
  const { code, message, details } = error;
  return {
    code,
    message: startOf(message, maxMessageLength),
    ...(Object.keys(details).length > 0 && { details }),
  };
}
