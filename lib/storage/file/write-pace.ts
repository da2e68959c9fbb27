/** Below this usual time of a write, waiting for it costs less than the way through the thread pool and back. */
const quickMs = 0.5;

/** How much the newest write counts: one stall is enough to leave the quick way, some quick writes lead back to it. */
const weight = 0.2;

/** Larger writes always take the thread pool. */
const quickBytes = 64 * 1024;

/**
 * Decides for each write that something waits for whether to make it at once, which holds up the event loop for as long as the disk takes, or
 * in the thread pool, which costs more but holds up nothing. It follows what the disk did lately.
 */
export class WritePace {
  #usualMs = 0;

  /** Whether the next write of this size should be made at once. */
  isQuick(bytes: number): boolean {
    return bytes <= quickBytes && this.#usualMs < quickMs;
  }

  /** Notes how long a write took, either way, in milliseconds. */
  note(tookMs: number): void {
    this.#usualMs += (tookMs - this.#usualMs) * weight;
  }
}
