/** What an apply may be bound to before it changes anything: what a plan said, or a number of removals. */
import { toTimestamp } from "../clock.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { planText } from "../state/plan-text.ts";
import { countOutcomes, type ResourceResult } from "../state/result.ts";
import type { MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import { fitResult } from "./result-size.ts";

/** How many of the removals that are too many are named. */
const namedRemovals = 5;

/**
 * Gets what an apply would do, and throws where it may not: `PLAN_STALE`, `TOO_MANY_REMOVALS`. Null where it may do whatever it
 * finds to be done.
 */
export function limitsOf(
  command: MessageOf<OrchestratorMessage, "apply">,
  host: Host,
): ((foreseen: readonly ResourceResult[]) => void) | null {
  const { plan_digest, max_removals } = command;
  if (plan_digest === undefined && max_removals === undefined) return null;
  return (foreseen) => {
    if (plan_digest !== undefined && digestOf(foreseen, command, host) !== plan_digest)
      throw new OrchestratorError("PLAN_STALE");
    if (max_removals !== undefined) requireFewRemovals(foreseen, max_removals);
  };
}

function requireFewRemovals(foreseen: readonly ResourceResult[], max: number): void {
  const { removed } = countOutcomes(foreseen);
  if (removed <= max) return;
  const removals = foreseen
    .filter(({ action, outcome }) => action === "remove" && outcome === "would_change")
    .map(({ type, identity }) => `${type} ${identity}`);
  const more = removed > namedRemovals ? ` and ${removed - namedRemovals} more` : "";
  const named = removals.slice(0, namedRemovals).join(", ").slice(0, 3000);
  throw new OrchestratorError("TOO_MANY_REMOVALS", {
    message: `It would remove ${named}${more}, and may remove ${max === 0 ? "nothing" : `no more than ${max}`}. Nothing was changed.`,
    details: { removals: removed, max_removals: max },
  });
}

/** As the plan's own results were made to fit into their message. */
function digestOf(
  foreseen: readonly ResourceResult[],
  { operation_id }: { operation_id: string },
  host: Host,
): string {
  const { results } = fitResult({
    type: "result",
    operation_id,
    status: "succeeded",
    results: [...foreseen],
    output: [],
    started_at: toTimestamp(0),
    finished_at: toTimestamp(0),
    duration_ms: 0,
  });
  return host.sha256(toUtf8(planText(results)));
}
