import type { Clock } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";

/** Time that frames may take in one turn of the event loop, milliseconds. */
const mostMs = 5;

/**
 * Spreads frames over turns of the event loop: those of many peers, or of one that sends ahead, may all be there in one moment. It counts
 * what the frames of one turn take; past it the next ones wait for a later turn.
 */
export class FrameTurns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #usedMs = 0;
  #isRefilling = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether frames are to wait. */
  get isFull(): boolean {
    return this.#usedMs >= mostMs;
  }

  /** Does what a frame needs, and counts how long it takes until it returns. */
  spend<Result>(work: () => Result): Result {
    const from = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.#usedMs += this.#clock.monotonic() - from;
      this.#refillLater();
    }
  }

  /** Calls back in a later turn, when it has room; in the order of the calls. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#refillLater();
  }

  #refillLater(): void {
    if (this.#isRefilling) return;
    this.#isRefilling = true;
    void nextTurn().then(() => this.#refill());
  }

  #refill(): void {
    this.#isRefilling = false;
    this.#usedMs = 0;
    // Who waits again meanwhile waits for the turn after this one.
    for (let left = this.#waiting.length; left > 0 && !this.isFull; left -= 1) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#refillLater();
  }
}
