import type { Clock } from "../clock.ts";

/** Work in the background that comes again and again. */
export interface Rounds {
  clock: Clock;
  /** From the end of one round to the next, milliseconds. */
  everyMs: number;
  /** Between two slices of a round, so that a long one leaves time for everything else. */
  pauseMs: number;
  /** Does a round, and yields after each slice. */
  round: () => AsyncIterator<void>;
  /** Told of a round that failed; the next one comes all the same. */
  failed: (error: unknown) => void;
}

/** Begins the first round at once. The function returned ends it, and resolves when nothing is under way. */
export function keepRounds({ clock, everyMs, pauseMs, round, failed }: Rounds): () => Promise<void> {
  let isStopped = false;
  let wake = (): void => {};
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = clock.setTimer(ms, resolve);
      wake = () => {
        timer.cancel();
        resolve();
      };
    });
  const doRound = async (): Promise<void> => {
    const slices = round();
    while (!isStopped && (await slices.next()).done !== true) if (!isStopped) await pause(pauseMs);
    // One that is left in the middle lets go of what it holds.
    await slices.return?.();
  };
  const run = async (): Promise<void> => {
    await pause(0);
    while (!isStopped) {
      await doRound().catch(failed);
      if (!isStopped) await pause(everyMs);
    }
  };
  const done = run();
  return () => {
    isStopped = true;
    wake();
    return done;
  };
}
