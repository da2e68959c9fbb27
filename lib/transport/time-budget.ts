/** Time of the orchestrator's one thread that agents may take: a bucket for each, by key, also across its connections. */
import type { Clock } from "../clock.ts";

/** What agents may take. */
export interface TimeBudgetLimits {
  /** Milliseconds that each agent gets in every second. */
  perSecondMs: number;
  /** Milliseconds that it can have saved: what the largest honest messages take at once, several times over. */
  savedMs: number;
}

/** Agents in the book before those that have all their time again are taken out of it. */
const sweepAbove = 1000;

interface Account {
  leftMs: number;
  atMs: number;
}

/** Counts the time that each agent takes. */
export class TimeBudgets {
  readonly #clock: Clock;
  readonly #limits: TimeBudgetLimits;
  readonly #accounts = new Map<string, Account>();
  #sweepAt = sweepAbove;

  constructor(clock: Clock, limits: TimeBudgetLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Does a piece of work for an agent and counts how long it takes until it returns. */
  spend<Result>(nodeId: string, work: () => Result): Result {
    const from = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.#take(nodeId, this.#clock.monotonic() - from);
    }
  }

  /** Agents in the book. */
  get size(): number {
    return this.#accounts.size;
  }

  /** Whether an agent has no time left. */
  isSpent(nodeId: string): boolean {
    return this.#accounts.has(nodeId) && this.#left(nodeId) <= 0;
  }

  /**
   * No piece counts for more than can be saved: where the machine stood still in the middle of one, an agent that had taken nothing
   * before is not to blame.
   */
  #take(nodeId: string, ms: number): void {
    const leftMs = this.#left(nodeId) - Math.min(ms, this.#limits.savedMs * 0.9);
    this.#accounts.set(nodeId, { leftMs, atMs: this.#clock.monotonic() });
    if (this.#accounts.size > this.#sweepAt) this.#sweep();
  }

  #left(nodeId: string): number {
    const { perSecondMs, savedMs } = this.#limits;
    const account = this.#accounts.get(nodeId);
    if (!account) return savedMs;
    const gainedMs = ((this.#clock.monotonic() - account.atMs) / 1000) * perSecondMs;
    return Math.min(savedMs, account.leftMs + gainedMs);
  }

  /** Costs as much as the agents that came since the last time. */
  #sweep(): void {
    for (const nodeId of this.#accounts.keys())
      if (this.#left(nodeId) >= this.#limits.savedMs) this.#accounts.delete(nodeId);
    this.#sweepAt = Math.max(sweepAbove, this.#accounts.size * 2);
  }
}
