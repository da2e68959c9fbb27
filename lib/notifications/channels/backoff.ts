/** When a message that was not delivered is tried again. */

const firstMs = 5_000;
const longestMs = 3_600_000;

/** From this attempt for one message on a channel counts as failing: some two and a half minutes after the first. */
export const failingAttempts = 6;

/** For how long a message is tried, milliseconds. */
export const triedForMs = 86_400_000;

/**
 * How long to wait after an attempt, milliseconds: 5 s after the first, twice as long after each, an hour at most, with a quarter more or
 * less by chance, so that receivers which were gone do not get everything in one moment.
 *
 * @param attempts - How many there were, from 1.
 * @param chance - From 0 to 1.
 */
export function backoffMs(attempts: number, chance: number): number {
  const steady = Math.min(longestMs, firstMs * 2 ** Math.min(attempts - 1, 30));
  return Math.round(steady * (0.75 + chance / 2));
}
