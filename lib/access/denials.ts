import type { Clock } from "../clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** How many refusals of one operator are recorded a minute. */
const recordedPerMinute = 20;

/** Decides which refusals are worth a record of their own: a Viewer with a loop must not fill the audit log. */
export class Denials {
  readonly #limiter: RateLimiter;
  readonly #unrecorded = new Map<string, number>();

  constructor(clock: Clock) {
    this.#limiter = new RateLimiter(clock, recordedPerMinute);
  }

  /** Counts a refusal. Null where it is not recorded; else how many before it were not. */
  next(operatorId: string): number | null {
    const before = this.#unrecorded.get(operatorId) ?? 0;
    if (!this.#limiter.tryTake(operatorId)) {
      this.#unrecorded.set(operatorId, before + 1);
      return null;
    }
    this.#unrecorded.delete(operatorId);
    return before;
  }
}
