import type { Clock } from "./clock.ts";

/** How far the wall clock may part from the time that has passed and still be right, milliseconds. */
const toleratedMs = 60_000;
/** How long it goes on steadily after a jump until it is believed, milliseconds. */
const believedAfterMs = 3_600_000;

/**
 * Notices that the wall clock was set, or stood still with the machine: it is held against the clock that never jumps. A
 * jump is told until the clock is set right again, or has gone on steadily for an hour.
 */
export class ClockWatch {
  readonly #clock: Clock;
  /** Wall clock less the clock that never jumps: as believed, and as it has been since the last jump. */
  #believedMs: number;
  #newest: { offsetMs: number; since: number };

  /** @param startMs - What the wall clock should say now, milliseconds since 1970. */
  constructor(clock: Clock, startMs: number) {
    this.#clock = clock;
    this.#believedMs = startMs - clock.monotonic();
    this.#newest = { offsetMs: this.#believedMs, since: clock.monotonic() };
  }

  /** By how much the wall clock is ahead of what it should say (less than 0: behind), milliseconds; 0 where it is right. Looks now. */
  look(): number {
    const now = this.#clock.monotonic();
    const offsetMs = this.#clock.now() - now;
    if (Math.abs(offsetMs - this.#newest.offsetMs) > toleratedMs) this.#newest = { offsetMs, since: now };
    const aheadMs = offsetMs - this.#believedMs;
    if (Math.abs(aheadMs) > toleratedMs && now - this.#newest.since < believedAfterMs) return aheadMs;
    // Followed in small steps: what a time server corrects bit by bit in a year is no jump.
    this.#believedMs = offsetMs;
    return 0;
  }
}
