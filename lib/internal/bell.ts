/** Wakes whoever waits for something new. */
import type { Clock } from "../clock.ts";

export class Bell {
  readonly #wakes = new Set<() => void>();

  /** Wakes all who wait now. */
  ring(): void {
    for (const wake of this.#wakes) wake();
  }

  /** Resolves when the bell rings next, the signal aborts, or so much time has passed; without `within`, however long that takes. */
  next(signal: AbortSignal, within?: { clock: Clock; ms: number }): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        timer?.cancel();
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = within?.clock.setTimer(within.ms, wake);
      this.#wakes.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      if (signal.aborted) wake();
    });
  }
}
