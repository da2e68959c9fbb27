import type { Clock } from "./clock.ts";

/** Those who wait for one thing, each for so long at most. */
export class Waiters {
  readonly #wakes = new Set<() => void>();

  /** Resolves when all are let go, or after a time, milliseconds. */
  async wait(clock: Clock, waitMs: number): Promise<void> {
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    this.#wakes.add(wake);
    const timer = clock.setTimer(waitMs, wake);
    await woken;
    timer.cancel();
    this.#wakes.delete(wake);
  }

  letGo(): void {
    for (const wake of this.#wakes) wake();
  }
}
