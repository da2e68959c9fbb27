import type { Clock, Timer } from "../../lib/clock.ts";

/** The clocks of one side: they pass with those of the test, and each can be moved by itself. */
export class SideClock implements Clock {
  /** How far the wall clock is off, milliseconds. */
  wallOffsetMs = 0;
  /** How far the count that never goes back is ahead; only ever more: what the other side slept through. */
  aheadMs = 0;
  readonly #base: Clock;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now() + this.wallOffsetMs;
  }

  monotonic(): number {
    return this.#base.monotonic() + this.aheadMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#base.setTimer(delayMs, callback);
  }
}
