/** What an apply may be bound to before it changes anything: what a plan said, or a number of removals. */
import { toTimestamp } from "../clock.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { startOf } from "../internal/canonical-json.ts";
import { planText } from "../state/plan-text.ts";
import type { Action, ResourceResult } from "../state/result.ts";
import type { ChangeGuard } from "../state/run/state-run.ts";
import type { MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import { fitResult } from "./result-size.ts";

/** Outcomes of what may be changed. */
const mayChange: ReadonlySet<string> = new Set(["would_change", "unknown"]);

/** How many of the removals that are too many are named. */
const namedRemovals = 5;

/**
 * Gets what an apply would do, and throws where it may not: `PLAN_STALE`, `TOO_MANY_REMOVALS`. Null where it may do whatever it
 * finds to be done.
 */
export function limitsOf(
  command: MessageOf<OrchestratorMessage, "apply">,
  host: Host,
): ((foreseen: readonly ResourceResult[]) => ChangeGuard) | null {
  const { plan_digest, max_removals } = command;
  if (plan_digest === undefined && max_removals === undefined) return null;
  return (foreseen) => {
    if (plan_digest !== undefined && digestOf(foreseen, command, host) !== plan_digest)
      throw new OrchestratorError("PLAN_STALE");
    if (max_removals !== undefined) requireFewRemovals(foreseen, max_removals);
    return guardOf(foreseen, { isPlanned: plan_digest !== undefined, maxRemovals: max_removals ?? Infinity });
  };
}

/**
 * Holds an apply to what was foreseen where the machine turns out otherwise on the way: what is unknown settles as it is
 * declared, and nothing else is touched that was to stay. What is unknown may be a removal, too: each counts when it is made.
 */
function guardOf(
  foreseen: readonly ResourceResult[],
  { isPlanned, maxRemovals }: { isPlanned: boolean; maxRemovals: number },
): ChangeGuard {
  const said = new Map(foreseen.map((result) => [nameOf(result), result]));
  let removals = 0;
  return (resource, action) => {
    const plan = said.get(nameOf(resource));
    if (isPlanned && !isFollowing(plan, action))
      throw new OrchestratorError("PLAN_STALE", { message: unplanned(plan) });
    if (action !== "remove") return;
    if (removals === maxRemovals)
      throw new OrchestratorError("TOO_MANY_REMOVALS", {
        message: `It was not known that this would be removed, and no more than ${maxRemovals} may be.`,
        details: { max_removals: maxRemovals },
      });
    removals += 1;
  };
}

type Named = Pick<ResourceResult, "module" | "resource_id" | "type" | "identity">;

function nameOf({ module, resource_id, type, identity }: Named): string {
  return JSON.stringify([module, resource_id, type, identity]);
}

/** What failed in the plan, and did not count, may be tried again. */
function isFollowing(plan: ResourceResult | undefined, action: Action): boolean {
  if (plan?.outcome === "unknown" || plan?.outcome === "failed") return true;
  return plan?.outcome === "would_change" && (action !== "remove" || plan.action === "remove");
}

function unplanned(plan: ResourceResult | undefined): string {
  const said = plan?.outcome === "would_change" ? plan.action : (plan?.outcome ?? "nothing");
  return `The plan said ${said}, and what came before has made it differ. It was left as it is.`;
}

function requireFewRemovals(foreseen: readonly ResourceResult[], max: number): void {
  const removals = foreseen
    .filter(({ action, outcome }) => action === "remove" && mayChange.has(outcome))
    .map(({ type, identity }) => `${type} ${identity}`);
  const removed = removals.length;
  if (removed <= max) return;
  const more = removed > namedRemovals ? ` and ${removed - namedRemovals} more` : "";
  const named = startOf(removals.slice(0, namedRemovals).join(", "), 3000);
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
