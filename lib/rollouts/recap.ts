/** What a rollout came to: its agents by what became of them, and their resources by outcome. */
import type { OperationDocument } from "../operations/documents.ts";
import { countOutcomes, toCounts, type Counts } from "../state/result.ts";
import { memberOutcomeSchema, type MemberOutcome, type Recap } from "./schemas.ts";

type Ended = Pick<OperationDocument, "status" | "counts" | "error">;

/** What became of an agent whose operation has ended. */
export function outcomeOf(ended: Readonly<Ended>): MemberOutcome {
  const { status, counts } = ended;
  if (isStale(ended)) return "stale";
  if (status === "cancelled" || status === "unknown") return status;
  if (status !== "succeeded") return "failed";
  const { changed, would_change, unknown } = toCounts(counts);
  return changed + would_change + unknown > 0 ? "changed" : "unchanged";
}

/** Whether nothing was done since the plan that was to be applied is not true any more. */
export function isStale({ status, error }: Pick<Ended, "status" | "error">): boolean {
  return status === "failed" && error?.code === "PLAN_STALE";
}

export function noRecap(): Recap {
  const outcomes = Object.fromEntries(memberOutcomeSchema.options.map((outcome) => [outcome, 0]));
  return { ...(outcomes as Record<MemberOutcome, number>), removing: 0, resources: countOutcomes([]) };
}

/** A recap with the operation of one agent more, or with `times` -1 with one less. */
export function withEnded(recap: Readonly<Recap>, ended: Readonly<Ended>, times: 1 | -1 = 1): Recap {
  const outcome = outcomeOf(ended);
  const counts = toCounts(ended.counts);
  const resources = { ...recap.resources };
  for (const name of Object.keys(resources) as (keyof Counts)[]) resources[name] += times * counts[name];
  return {
    ...recap,
    [outcome]: recap[outcome] + times,
    removing: recap.removing + (counts.removed > 0 ? times : 0),
    resources,
  };
}
