import type { Clock, Timer } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";

interface PendingTimer {
  dueMs: number;
  order: number;
  callback: () => void;
}

/**
 * A clock that moves only when told: years pass in a second and a failure repeats exactly.
 *
 * Timers fire in the order of their due time, then of their setting, with `now()` at their due time.
 */
export class FakeClock implements Clock {
  #wallMs: number;
  #elapsedMs = 0;
  #order = 0;
  readonly #timers = new Set<PendingTimer>();

  /** @param startMs - Wall clock at the start, milliseconds since 1970. Default 2030-01-01T00:00:00Z. */
  constructor(startMs = 1_893_456_000_000) {
    this.#wallMs = startMs;
  }

  /** Whole milliseconds, as of a real wall clock, also where a timer fell due between two. */
  now(): number {
    return Math.floor(this.#wallMs);
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** How many timers are set. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Lets time pass, firing what falls due and letting promises settle after each timer. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#elapsedMs + byMs;
    for (let next = this.#nextDue(endMs); next; next = this.#nextDue(endMs)) {
      this.#moveTo(Math.max(next.dueMs, this.#elapsedMs));
      this.#timers.delete(next);
      next.callback();
      await nextTurn();
    }
    this.#moveTo(endMs);
    await nextTurn();
  }

  /**
   * Moves both clocks and fires nothing, as where a process gets no time for what is due: that follows with the next
   * {@link advance}.
   */
  leap(byMs: number): void {
    this.#moveTo(this.#elapsedMs + byMs);
  }

  /** Moves the wall clock alone, as an administrator or a wrong time server would, and as a machine that was suspended finds it. */
  jump(byMs: number): void {
    this.#wallMs += byMs;
  }

  #moveTo(elapsedMs: number): void {
    this.#wallMs += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }

  #nextDue(endMs: number): PendingTimer | undefined {
    let first: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueMs > endMs) continue;
      if (!first || timer.dueMs < first.dueMs || (timer.dueMs === first.dueMs && timer.order < first.order)) {
        first = timer;
      }
    }
    return first;
  }
}
