/** A timer that was set. */
export interface Timer {
  /** Stops it; nothing happens when it has fired. */
  cancel(): void;
}

/** Time, injected so that a test can run years in a second and a seed can replay a failure. */
export interface Clock {
  /** Wall clock: milliseconds since 1970. May jump either way. */
  now(): number;
  /** Milliseconds from some start, never backwards: use it for durations and deadlines. */
  monotonic(): number;
  /** Calls back once after a delay in milliseconds, of any length: when {@link Clock.monotonic} has moved on by that much, or later. */
  setTimer(delayMs: number, callback: () => void): Timer;
}

/** The longest delay that a timeout of Node holds, 24.8 days: one that is longer ends at once. It may also end a millisecond early. */
const longestTimeoutMs = 2_147_483_647;

/**
 * Makes a clock of the process's own time.
 *
 * @param keepsAlive - Whether the process lives as long as a timer is set: for a program that has nothing else to wait for.
 */
export function createSystemClock({ keepsAlive }: { keepsAlive: boolean }): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    setTimer(delayMs, callback) {
      const dueMs = performance.now() + delayMs;
      const arm = (leftMs: number): NodeJS.Timeout => {
        const armed = setTimeout(look, Math.min(leftMs, longestTimeoutMs));
        return keepsAlive ? armed : armed.unref();
      };
      const look = (): void => {
        const leftMs = dueMs - performance.now();
        if (leftMs > 0) timer = arm(leftMs);
        else callback();
      };
      let timer = arm(delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
  };
}

/** The process's own clock. Its timers do not keep the process alive. */
export const systemClock: Clock = createSystemClock({ keepsAlive: false });

/** Writes an instant as RFC 3339 in UTC with milliseconds, the form of every timestamp at a boundary. */
export function toTimestamp(atMs: number): string {
  return new Date(atMs).toISOString();
}
