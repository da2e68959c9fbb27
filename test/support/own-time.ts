/** Longest that one look at the clock counts, milliseconds: five times what is between two of them. */
const mostMs = 50;

/**
 * Time that this process had since: where the machine lets it do nothing for a while, hardly any passes. For work of this process that may
 * not take long, since it waits for something that it should not wait for.
 */
export class OwnTime implements Disposable {
  #ms = 0;
  #lookedAtMs = performance.now();
  readonly #timer = setInterval(() => this.#look(), mostMs / 5).unref();

  /** Milliseconds since it was made. */
  get ms(): number {
    this.#look();
    return this.#ms;
  }

  #look(): void {
    const nowMs = performance.now();
    this.#ms += Math.min(nowMs - this.#lookedAtMs, mostMs);
    this.#lookedAtMs = nowMs;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
