import { OrchestratorError } from "../errors.ts";

/**
 * That a plan is not true any more, since something else is desired now: `PLAN_STALE`.
 *
 * @param planId - What names the plan: an operation, or a rollout.
 * @param why - For people, behind a colon.
 */
export function planStale(planId: string, why: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("PLAN_STALE", {
    message: `The plan is not true any more: ${why}.`,
    details: { plan_id: planId, reason: "desired" },
    cause,
  });
}
