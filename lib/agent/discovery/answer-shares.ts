/**
 * Who is answered: an answer costs a signature, and anybody in the network may send announcements with a key of their own.
 *
 * There are 5 answers a second. 2 of them at most are for addresses that were answered in the 4 seconds before, so that whoever announces all
 * the time leaves room for an orchestrator, which announces itself every 5 seconds at most.
 */
import type { Clock } from "../../clock.ts";

const perSecond = { all: 5, again: 2 };
const againMs = 4_000;

export class AnswerShares {
  readonly #clock: Clock;
  /** The answers of the last 4 seconds, by the monotonic clock. */
  #given: { address: string; isAgain: boolean; at: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes an answer for an address where one is left; tells whether. */
  tryTake(address: string): boolean {
    const now = this.#clock.monotonic();
    this.#given = this.#given.filter(({ at }) => now - at < againMs);
    const isAgain = this.#given.some((answer) => answer.address === address);
    const newest = this.#given.filter(({ at }) => now - at < 1_000);
    if (newest.length >= perSecond.all) return false;
    if (isAgain && newest.filter((answer) => answer.isAgain).length >= perSecond.again) return false;
    this.#given.push({ address, isAgain, at: now });
    return true;
  }
}
