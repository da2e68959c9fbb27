/** What somebody at a terminal agrees to before an apply of one machine. */
import type { OperationDetail } from "fleetwright";
import { confirm, firstLines } from "./ask.ts";
import type { Ask } from "./ask.ts";
import { describeCounts, describeHeads } from "./show-results.ts";
import { toLine } from "./text.ts";

/** Binds an apply to what somebody agreed to: a plan says modules and params itself. */
export type Agreed = { plan_id: string } | { max_removals: number };

/** What was said beforehand. */
interface Said {
  allowEmpty?: boolean;
  maxRemovals?: number;
}

/** Where nobody was asked nothing goes. It is not bound to a plan: nobody was shown one. */
export const nothingRemoved: Agreed = { max_removals: 0 };

/**
 * Lists what a plan would remove and asks.
 *
 * @throws {Declined}
 */
export async function agreeToRemovals(ask: Ask, plan: OperationDetail, said: Said): Promise<Agreed> {
  const { removed } = plan.counts;
  if (removed === 0) return nothingRemoved;
  // A plan in which something failed can't be applied as such; then the number of removals is what binds.
  const planned = plan.status === "succeeded" ? { plan_id: plan.operation_id } : null;
  // Nobody is asked what would be refused after a yes.
  if (removesAll(plan) && said.allowEmpty !== true) return nothingRemoved;
  if (removed > (said.maxRemovals ?? Infinity)) return planned ?? nothingRemoved;
  const removals = plan.resources.filter(
    ({ action, outcome }) => action === "remove" && outcome === "would_change",
  );
  await confirm(ask, {
    told: [
      toLine(`${plan.agent_name}: ${describeCounts(plan.counts)}`),
      ...firstLines(describeHeads(removals)),
    ],
    question: removed === 1 ? "Remove it?" : "Remove them?",
    otherwise: "Nothing was changed.",
  });
  return planned ?? { max_removals: removed };
}

/** Whether nothing is desired any more: that must be said in so many words. */
function removesAll({ scope, modules }: OperationDetail): boolean {
  return scope === undefined && modules.length === 0;
}
