/** The plan of a whole assignment, as it is to be applied. */
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { planStale } from "../internal/plan-stale.ts";
import type { RolloutDocument } from "./documents.ts";
import { hasEnded } from "./progress.ts";
import { titleOf, type RolloutStore } from "./rollout-store.ts";
import { loadTargets, type Targets } from "./targets.ts";

/** A rollout that planned, and the agents on which it did. */
export interface PlannedRollout {
  rollout: Readonly<RolloutDocument>;
  targets: Targets;
}

/**
 * Reads a plan that may be applied.
 *
 * @throws {OrchestratorError} `NOT_FOUND` where it is no plan of this assignment; `INVALID_TRANSITION` where it has not ended, or told nothing;
 * `PLAN_STALE` where it is so old that what it said is not kept.
 */
export async function readPlanned(
  context: Context,
  store: RolloutStore,
  { assignment, rolloutId }: { assignment: string; rolloutId: string },
): Promise<PlannedRollout> {
  const { value: rollout } = await store.read(rolloutId);
  const { kind, status } = rollout;
  if (kind !== "plan" || rollout.assignment !== assignment)
    throw new OrchestratorError("NOT_FOUND", {
      message: `Rollout ${rolloutId} is no plan of assignment ${assignment}; it is ${articles[kind]} of ${titleOf(rollout)}.`,
    });
  if (status !== "succeeded" && status !== "partial") {
    const message = `The plan ${hasEnded(status) ? `ended ${status}` : "has not ended"}; make another.`;
    throw new OrchestratorError("INVALID_TRANSITION", { message });
  }
  const query = { index: "by_rollout", equals: [rolloutId], limit: 1 };
  if ((await context.storage.list("operations", query)).items.length === 0)
    throw planStale(rolloutId, "it is too old, and what it said is not kept any more");
  return { rollout, targets: await loadTargets(context, rollout.targets) };
}

/**
 * Refuses a plan of other modules, or other revisions, than the assignment brings now.
 *
 * @throws {OrchestratorError} `PLAN_STALE`.
 */
export function requireSameModules(
  { rollout_id, modules }: Readonly<RolloutDocument>,
  now: RolloutDocument["modules"],
): void {
  const told = ({ name, revision }: { name: string; revision: number }): string => `${name}@${revision}`;
  const [planned, desired] = [modules.map(told), now.map(told)];
  if (JSON.stringify(planned) === JSON.stringify(desired)) return;
  const why = `it is of ${planned.join(", ")}, and the assignment brings ${desired.join(", ")} now`;
  throw planStale(rollout_id, why);
}

const articles = { apply: "an apply", plan: "a plan", run: "a run" } as const;
