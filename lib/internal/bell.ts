/** Wakes whoever waits for something new. */
export class Bell {
  readonly #wakes = new Set<() => void>();

  /** Wakes all who wait now. */
  ring(): void {
    for (const wake of this.#wakes) wake();
  }

  /** Resolves when the bell rings next, or the signal aborts. */
  next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#wakes.add(wake);
      signal.addEventListener("abort", wake, { once: true });
      if (signal.aborted) wake();
    });
  }
}
