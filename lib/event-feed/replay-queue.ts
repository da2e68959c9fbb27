/**
 * Has readers that are far behind take turns: one page of the log at a time over all of them, and a rest after each, so that those who are
 * up to date, and everything else, keep most of the time.
 *
 *   waiting ──its turn──▶ reading ──▶ rest, three times as long ──▶ the next that waits
 */
import type { Clock, Timer } from "../clock.ts";

/** How long nothing is read after a page, in times that the page took: replays get about a quarter of a core. */
const restOfPage = 3;
/** What telling a page counts at most, in times that reading one took: a reader that is slow waits, and does nothing. */
const mostOfTelling = 4;

export class ReplayQueue {
  readonly #clock: Clock;
  /** In the order in which they asked. */
  readonly #waiting = new Set<() => void>();
  #isReading = false;
  #pageMs = 0;
  #restUntil = -Infinity;
  #rest: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Reads a page when its turn has come; null where the signal aborts before. Who comes again waits behind all others.
   *
   * @param toldMs - How long it took its reader to tell the page before, milliseconds: that is rested for as well.
   */
  async read<Page>(
    { signal, toldMs }: { signal: AbortSignal; toldMs: number },
    readPage: () => Promise<Page>,
  ): Promise<Page | null> {
    this.#restUntil += restOfPage * Math.min(toldMs, mostOfTelling * this.#pageMs);
    if (!(await this.#turn(signal))) return null;
    const from = this.#clock.monotonic();
    try {
      return await readPage();
    } finally {
      const now = this.#clock.monotonic();
      this.#pageMs = now - from;
      // What was told meanwhile is still to be rested for.
      this.#restUntil = Math.max(this.#restUntil, from) + (restOfPage + 1) * this.#pageMs;
      this.#isReading = false;
      this.#goOn();
    }
  }

  /** Resolves with true when a turn has come, with false when the signal aborts before. */
  #turn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting.delete(begin);
        this.#goOn();
        resolve(false);
      };
      const begin = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(begin);
      this.#goOn();
    });
  }

  #goOn(): void {
    this.#rest?.cancel();
    this.#rest = null;
    const [begin] = this.#waiting;
    if (this.#isReading || !begin) return;
    const restMs = this.#restUntil - this.#clock.monotonic();
    if (restMs > 0) {
      this.#rest = this.#clock.setTimer(restMs, () => this.#goOn());
      return;
    }
    this.#waiting.delete(begin);
    this.#isReading = true;
    begin();
  }
}
