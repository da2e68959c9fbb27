/** Rollouts as callers see them. */
import { toTimestamp } from "../clock.ts";
import type { Freeze } from "../maintenance/maintenance-service.ts";
import type { OperationDocument } from "../operations/documents.ts";
import { toCounts } from "../state/result.ts";
import type { RefusalDocument, RolloutDocument } from "./documents.ts";
import { endOfRefusal, isOver, memberStatusOf, noCounts, type Progress } from "./progress.ts";
import type { Rollout, RolloutMember } from "./schemas.ts";
import type { Targets } from "./targets.ts";

type Operation = Readonly<OperationDocument>;

/**
 * @param known.progress - How far it is, where it has not ended.
 * @param known.held - How many of its operations maintenance windows hold.
 * @param known.toWall - Tells when a fleet time is, by the wall clock.
 */
export function toRollout(
  rollout: Readonly<RolloutDocument>,
  known: { progress: Progress | undefined; held: number; toWall: (ms: number) => number },
): Rollout {
  const { progress, held, toWall } = known;
  const { strategy, not_before, requested_by, batch, ...others } = rollout;
  const { begun: _1, targets: _2, ending: _3, epoch: _4, plan, ...stored } = others;
  const { recap: _5, cancelled_by: _6, ...shown } = stored;
  const recap = rollout.kind === "run" ? undefined : (progress?.recap ?? rollout.recap);
  const isPausing = !isOver(rollout.status) && not_before !== undefined;
  return {
    ...shown,
    rollout: strategy,
    modules: [...rollout.modules],
    batch: batch + 1,
    ...(isPausing && { next_batch_at: toTimestamp(toWall(not_before)) }),
    ...(held > 0 && { held }),
    // An earlier version knew fewer statuses.
    counts: { ...noCounts(), ...(progress?.countsOf(rollout) ?? rollout.counts) },
    ...(recap && { recap }),
    ...(plan !== undefined && { plan_rollout_id: plan }),
    requested_by: requested_by.name,
  };
}

/** A stretch of the agents of a rollout, and what is known of each. */
export interface Stretch {
  /** Places in the list of agents, the second exclusive. */
  from: number;
  to: number;
  operations: ReadonlyMap<string, Operation>;
  refusals: ReadonlyMap<string, Readonly<RefusalDocument>>;
  /** What keeps an operation from beginning; null where nothing does. */
  freezeOf: (operation: Operation) => Freeze | null;
}

/** A stretch of the agents of a rollout, in its order. */
export function toMembers(
  rollout: Readonly<RolloutDocument>,
  targets: Targets,
  { from, to, operations, refusals, freezeOf }: Stretch,
): RolloutMember[] {
  let batch = 0;
  return targets.agents.slice(from, to).map(({ node_id, name }, index) => {
    const at = from + index;
    while (at >= targets.ends[batch]!) batch += 1;
    const member = { node_id, name, batch: batch + 1 };
    const operation = operations.get(node_id);
    if (operation) return { ...member, ...toOutcome(operation, freezeOf(operation)) };
    const refusal = refusals.get(node_id);
    if (refusal) return { ...member, ...toRefused(refusal) };
    return { ...member, ...notBegun(rollout, at) };
  });
}

function toOutcome(
  operation: Operation,
  freeze: Freeze | null,
): Pick<RolloutMember, "operation_id" | "status" | "held_by" | "summary" | "error"> {
  const { operation_id, error } = operation;
  const status = memberStatusOf(operation);
  if (freeze) {
    const summary = `held by a maintenance window until ${freeze.until}`;
    return { operation_id, status, held_by: freeze, summary };
  }
  return { operation_id, status, summary: summarize(operation), ...(error && { error }) };
}

function toRefused(refusal: Readonly<RefusalDocument>): Pick<RolloutMember, "status" | "summary" | "error"> {
  const { error } = refusal;
  return { status: memberStatusOf(endOfRefusal(refusal)), summary: error.message, error };
}

function notBegun(
  { status, begun, reason = "" }: Readonly<RolloutDocument>,
  at: number,
): Pick<RolloutMember, "status" | "summary" | "error"> {
  if (at < begun) return { status: "unknown", summary: "The operation is not kept any more." };
  if (!isOver(status)) return { status: "waiting", summary: "" };
  return { status: "cancelled", summary: reason, error: { code: "CANCELLED", message: reason } };
}

/** What goes comes first, and not once more among the changes. */
function summarize({ error, counts, kind, status }: Operation): string {
  if (error) return error.message;
  if (kind === "run") return status === "succeeded" ? "done" : "";
  const { removed, changed, would_change, ...others } = toCounts(counts);
  const isPlanned = would_change > 0;
  const told: [count: number, what: string][] = [
    [removed, isPlanned ? "would be removed" : "removed"],
    [isPlanned ? changed : changed - removed, "changed"],
    [isPlanned ? would_change - removed : would_change, "would change"],
    ...(["unknown", "unchanged", "failed", "skipped"] as const).map((outcome): [number, string] => [
      others[outcome],
      outcome,
    ]),
  ];
  return told
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(", ");
}
