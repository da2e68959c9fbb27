import type { Clock } from "../clock.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";

/** Of so many origins it is known how many refusals were not recorded: strangers may come from ever new ones. */
const mostOrigins = 10_000;

/** Decides which refusals are worth a record of their own: a Viewer with a loop, or a stranger, must not fill the audit log. */
export class Denials {
  readonly #limiter: RateLimiter;
  readonly #ofAll: RateLimiter | null;
  readonly #unrecorded = new BoundedCache<number>({ entries: mostOrigins });

  /**
   * @param perMinute - How many of one origin are recorded in a minute.
   * @param ofAll - How many of all origins together. Default: any number.
   */
  constructor(clock: Clock, perMinute: number, ofAll?: number) {
    this.#limiter = new RateLimiter(clock, perMinute);
    this.#ofAll = ofAll === undefined ? null : new RateLimiter(clock, ofAll);
  }

  /** Counts a refusal. Null where it is not recorded; else how many before it were not. */
  next(origin: string): number | null {
    const isRecorded = this.#limiter.tryTake(origin) && (this.#ofAll?.tryTake("") ?? true);
    if (!isRecorded) {
      this.giveBack(origin, 1);
      return null;
    }
    const before = this.#unrecorded.get(origin) ?? 0;
    this.#unrecorded.delete(origin);
    return before;
  }

  /**
   * Has a refusal written, with how many before it were not, unless enough of its origin were. One that can't be written is among those that
   * the next record tells of.
   */
  async record(origin: string, write: (unrecorded: number) => Promise<unknown>): Promise<void> {
    const unrecorded = this.next(origin);
    if (unrecorded === null) return;
    try {
      await write(unrecorded);
    } catch (error) {
      this.giveBack(origin, unrecorded + 1);
      throw error;
    }
  }

  /** Has the next record of an origin tell of refusals that an earlier one should have, but was not written. */
  giveBack(origin: string, count: number): void {
    if (count > 0) this.#unrecorded.set(origin, (this.#unrecorded.get(origin) ?? 0) + count);
  }
}
