import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";

/** Most keys remembered: past it the one not seen for longest is forgotten, so that a flood of keys can't fill memory. */
const maxKeys = 10_000;

/** What one call costs. In a millisecond as much comes back as a minute has calls: sums of whole numbers, so that none is a bit too small. */
const callCost = 60_000;

interface Bucket {
  /** What was taken and has not come back. */
  owed: number;
  atMs: number;
}

/** Allows each key a number of calls a minute, with a burst of as many (a token bucket). */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Takes one call of a key; `RATE_LIMITED` with `details.retry_after_seconds` where none is left. */
  take(key: string): void {
    const missing = this.#take(key);
    if (missing === 0) return;
    const waitSeconds = Math.ceil(missing / this.#perMinute / 1_000);
    throw new OrchestratorError("RATE_LIMITED", { details: { retry_after_seconds: waitSeconds } });
  }

  /** Takes one call of a key where one is left; tells whether. */
  tryTake(key: string): boolean {
    return this.#take(key) === 0;
  }

  /** Tells how much of a call is missing: 0 where it was taken. */
  #take(key: string): number {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(key) ?? { owed: 0, atMs: now };
    const owed = Math.max(0, known.owed - (now - known.atMs) * this.#perMinute);
    const missing = Math.max(0, owed + callCost - callCost * this.#perMinute);
    // Deleting first moves the key to the end: the map's order is then the order of last use.
    this.#buckets.delete(key);
    this.#buckets.set(key, missing > 0 ? known : { owed: owed + callCost, atMs: now });
    this.#forgetOldest();
    return missing;
  }

  #forgetOldest(): void {
    if (this.#buckets.size <= maxKeys) return;
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}
