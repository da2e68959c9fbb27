/** How often the same line may be logged in one window. */
const linesEach = 100;
const windowMs = 10_000;
/** Messages that are told apart; more share one budget. */
const maxMessages = 1000;
const others = "other messages";

/** Keeps one message from filling the log, whatever causes it: each has its own share of lines. */
export class LineBudget {
  readonly #leftOut: (message: string, lines: number) => void;
  readonly #now: () => number;
  #counts = new Map<string, number>();
  #startedMs: number;

  /**
   * @param leftOut - Told, once a window is over, how many lines of a message were left out in it.
   * @param now - Milliseconds of a clock that never goes back.
   */
  constructor(
    leftOut: (message: string, lines: number) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#leftOut = leftOut;
    this.#now = now;
    this.#startedMs = now();
  }

  /** Whether one more line with this message may be written. */
  take(message: string): boolean {
    const nowMs = this.#now();
    if (nowMs - this.#startedMs >= windowMs) this.#renew(nowMs);
    const key = this.#counts.has(message) || this.#counts.size < maxMessages ? message : others;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= linesEach;
  }

  #renew(nowMs: number): void {
    const counts = this.#counts;
    this.#counts = new Map();
    this.#startedMs = nowMs;
    for (const [message, count] of counts) if (count > linesEach) this.#leftOut(message, count - linesEach);
  }
}
