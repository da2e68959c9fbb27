/** How far a rollout is, counted as its operations change: never by looking at all of them again. */
import type { OperationDocument } from "../operations/documents.ts";
import { countOutcomes } from "../state/result.ts";
import { ChangeGroups } from "./change-groups.ts";
import type { MemberCounts, RefusalDocument, RolloutDocument } from "./documents.ts";
import { isStale, noRecap, withEnded } from "./recap.ts";
import { memberStatusSchema, type MemberStatus, type Recap, type RolloutStatus } from "./schemas.ts";
import { toNumber } from "./targets.ts";

/** What ended otherwise than it should. A cancelled operation was somebody's wish. */
const failures: readonly MemberStatus[] = ["failed", "partial", "timed_out", "interrupted", "unknown"];

/** What nobody knows of an operation of which nothing was heard. */
const unheard = { status: "unknown", counts: countOutcomes([]) } as const;

/** How an agent stands by its operation: one whose plan was not true any more was left out, which is no failure. */
export function memberStatusOf(operation: Pick<OperationDocument, "status" | "error">): MemberStatus {
  return isStale(operation) ? "stale" : operation.status;
}

/** The refusal of an agent as the end of an operation. */
export function endOfRefusal({
  error,
}: Pick<RefusalDocument, "error">): Pick<OperationDocument, "status" | "counts" | "error"> {
  return { status: "failed", counts: countOutcomes([]), error };
}

export function noCounts(): MemberCounts {
  return Object.fromEntries(memberStatusSchema.options.map((status) => [status, 0])) as MemberCounts;
}

/** An operation as it was counted last. */
interface Noted {
  status: MemberStatus;
  /** Of one that has ended: the digest of its end, where it has one. */
  changes: string | undefined;
}

export class Progress {
  /** Agents with equal changes. */
  readonly groups: ChangeGroups = new ChangeGroups();
  readonly #counts = noCounts();
  readonly #noted = new Map<string, Noted>();
  #recap = noRecap();
  #edition = 0;

  /** An operation was made or changed. */
  note(operation: Readonly<OperationDocument>): void {
    const { operation_id, kind, changes } = operation;
    const before = this.#noted.get(operation_id);
    const status = memberStatusOf(operation);
    if (before?.status === status) return;
    this.#edition += 1;
    if (before) this.#counts[before.status] -= 1;
    this.#counts[status] += 1;
    const hasOver = status !== "queued" && status !== "running";
    this.#noted.set(operation_id, { status, changes: hasOver ? this.groups.nameOf(changes) : undefined });
    if (!hasOver || kind === "run") return;
    if (before?.status === "unknown") {
      this.#recap = withEnded(this.#recap, { ...operation, ...unheard }, -1);
      this.groups.leave(before.changes);
    }
    this.#recap = withEnded(this.#recap, operation);
    this.groups.join(operation);
  }

  /** Agents for which no operation could be made. */
  refuse(refusals: readonly Readonly<RefusalDocument>[]): void {
    for (const refusal of refusals) {
      const ended = endOfRefusal(refusal);
      this.#edition += 1;
      this.#counts[memberStatusOf(ended)] += 1;
      this.#recap = withEnded(this.#recap, ended);
      this.groups.join({ ...ended, changes: refusal.changes });
    }
  }

  /** Rises with everything that is counted. */
  get edition(): number {
    return this.#edition;
  }

  /** What the operations that have ended came to. */
  get recap(): Recap {
    return this.#recap;
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

/** Why a rollout goes no further after a batch; null where it may. `stale` were left out, since their plan is not true any more, `cancelled` by somebody. */
export function whyStop(
  { strategy, batch, begun, batches }: Readonly<RolloutDocument>,
  { failed, stale = 0, cancelled = 0 }: { failed: number; stale?: number; cancelled?: number },
  isBatchOver: boolean,
): string | null {
  const { canary, max_failures } = strategy;
  if (isBatchOver && canary !== undefined && batch === 0) {
    if (failed > 0) return `The canary failed on ${failed} of ${begun} agents.`;
    // A canary that tried nothing tells nothing about the rest.
    if (stale === begun) return "The plan is true on no agent of the canary, so nothing was tried there.";
    return stale + cancelled === begun
      ? `The canary was cancelled before it told anything of the rest.`
      : null;
  }
  // Within a batch only a number that was asked for counts: a share of those begun may yet be kept.
  if (!isBatchOver && typeof max_failures !== "number") return null;
  const allowed = toNumber(max_failures ?? 0, begun);
  if (failed <= allowed) return null;
  return `${failed} of ${begun} agents failed up to batch ${batch + 1} of ${batches}; ${allowed} may.`;
}
