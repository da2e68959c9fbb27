/** How far a rollout is, counted as its operations change: never by looking at all of them again. */
import type { OperationDocument } from "../operations/documents.ts";
import type { MemberCounts, RolloutDocument } from "./documents.ts";
import { memberStatusSchema, type MemberStatus, type RolloutStatus } from "./schemas.ts";
import { toNumber } from "./targets.ts";

/** What ended otherwise than it should. A cancelled operation was somebody's wish. */
const failures: readonly MemberStatus[] = ["failed", "partial", "timed_out", "interrupted", "unknown"];

export function noCounts(): MemberCounts {
  return Object.fromEntries(memberStatusSchema.options.map((status) => [status, 0])) as MemberCounts;
}

export class Progress {
  readonly #counts = noCounts();
  readonly #statuses = new Map<string, MemberStatus>();

  /** An operation was made or changed. */
  note({ operation_id, status }: Readonly<OperationDocument>): void {
    const before = this.#statuses.get(operation_id);
    if (before !== undefined) this.#counts[before] -= 1;
    this.#statuses.set(operation_id, status);
    this.#counts[status] += 1;
  }

  /** Agents for which no operation could be made. */
  refuse(agents: number): void {
    this.#counts.failed += agents;
  }

  /** Operations that have not ended. */
  get open(): number {
    return this.#counts.queued + this.#counts.running;
  }

  get failures(): number {
    return failures.reduce((sum, status) => sum + this.#counts[status], 0);
  }

  /** How many agents of a rollout have each status. */
  countsOf({ matched, status }: Pick<RolloutDocument, "matched" | "status">): MemberCounts {
    const counts = { ...this.#counts };
    const begun = Object.values(counts).reduce((sum, count) => sum + count, 0);
    counts[isOver(status) ? "cancelled" : "waiting"] += matched - begun;
    return counts;
  }
}

/** Whether nothing will be begun any more. */
export function isOver(status: RolloutStatus): boolean {
  return status !== "running" && status !== "paused";
}

/** Whether it has ended. */
export function hasEnded(status: RolloutStatus): boolean {
  return isOver(status) && status !== "stopping";
}

/** How a rollout ends whose every agent was begun. */
export function resultOf(counts: MemberCounts): "succeeded" | "partial" | "failed" {
  const { succeeded, partial, ...others } = counts;
  const rest = Object.values(others).reduce((sum, count) => sum + count, 0);
  if (partial + rest === 0) return "succeeded";
  return succeeded + partial > 0 ? "partial" : "failed";
}

/** Why a rollout goes no further after a batch; null where it may. */
export function whyStop(
  { strategy, batch, begun, batches }: Readonly<RolloutDocument>,
  failed: number,
  isBatchOver: boolean,
): string | null {
  const { canary, max_failures } = strategy;
  if (isBatchOver && canary !== undefined && batch === 0) {
    return failed > 0 ? `The canary failed on ${failed} of ${begun} agents.` : null;
  }
  // Within a batch only a number that was asked for counts: a share of those begun may yet be kept.
  if (!isBatchOver && typeof max_failures !== "number") return null;
  const allowed = toNumber(max_failures ?? 0, begun);
  if (failed <= allowed) return null;
  return `${failed} of ${begun} agents failed up to batch ${batch + 1} of ${batches}; ${allowed} may.`;
}
