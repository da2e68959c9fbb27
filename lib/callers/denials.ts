import type { Clock } from "../clock.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";

/** Decides which refusals are worth a record of their own: a Viewer with a loop, or a stranger, must not fill the audit log. */
export class Denials {
  readonly #limiter: RateLimiter;
  readonly #unrecorded = new Map<string, number>();

  /** @param perMinute - How many of one origin are recorded in a minute. */
  constructor(clock: Clock, perMinute: number) {
    this.#limiter = new RateLimiter(clock, perMinute);
  }

  /** Counts a refusal. Null where it is not recorded; else how many before it were not. */
  next(origin: string): number | null {
    const before = this.#unrecorded.get(origin) ?? 0;
    if (!this.#limiter.tryTake(origin)) {
      this.#unrecorded.set(origin, before + 1);
      return null;
    }
    this.#unrecorded.delete(origin);
    return before;
  }
}
