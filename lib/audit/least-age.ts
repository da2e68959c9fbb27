/**
 * What may be removed from the audit log at all: nothing that is not over yet, and nothing that is younger than the least age. By the
 * time by which everything is removed for its age: a wall clock that jumped ahead makes nothing old.
 */
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { dayMs } from "../internal/durations.ts";

export class LeastAge {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** 0 where there is none. */
  get leastDays(): number {
    return this.#context.options.auditMinimumAgeDays;
  }

  /** Refuses an instant (milliseconds since 1970) in the future, and one from which on events are too young. */
  async requireOld(beforeMs: number): Promise<void> {
    const { retentionClock } = this.#context;
    const latestMs = (await retentionClock.now()) - this.leastDays * dayMs;
    if (beforeMs <= latestMs) return;
    const reasons = [
      this.leastDays > 0 ? `events are kept for at least ${inDays(this.leastDays)}` : "it is in the future",
      ...(retentionClock.isHeld ? ["the clock of the server is far ahead, and not believed yet"] : []),
    ];
    throw refused("before", `must not be later than ${toTimestamp(latestMs)}: ${reasons.join("; ")}`);
  }

  /** Refuses a retention under which events would go that are too young; null keeps all. */
  requireRetention(days: number | null): void {
    if (days !== null && days < this.leastDays)
      throw refused(
        "retention_days",
        `must not be less than ${inDays(this.leastDays)}, the least age of events`,
      );
  }
}

function inDays(count: number): string {
  return count === 1 ? "a day" : `${count} days`;
}

function refused(field: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }] });
}
