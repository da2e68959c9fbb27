import type { Clock, Timer } from "../clock.ts";

/** Shortest time between two steps, milliseconds. */
const leastStepMs = 10;

/** Work on many things that is spread evenly over a time. */
export interface Spread {
  /** Resolves when all of it is done or it was ended. */
  readonly done: Promise<void>;
  /** Does nothing more. */
  end(): void;
}

/** Does something with each of many things, spread evenly over a time: the first after a step, the last when the time is over. */
export function spread<Item>(
  items: readonly Item[],
  { clock, overMs, each }: { clock: Clock; overMs: number; each: (item: Item) => void },
): Spread {
  const startMs = clock.monotonic();
  const dueMs = (index: number): number => (overMs * (index + 1)) / items.length;
  let next = 0;
  let timer: Timer | undefined;
  let finish = (): void => {};
  const done = new Promise<void>((resolve) => (finish = resolve));
  const step = (): void => {
    const passedMs = clock.monotonic() - startMs;
    for (; next < items.length && dueMs(next) <= passedMs; next += 1) each(items[next]!);
    if (next < items.length) timer = clock.setTimer(Math.max(leastStepMs, dueMs(next) - passedMs), step);
    else finish();
  };
  step();
  return {
    done,
    end() {
      timer?.cancel();
      finish();
    },
  };
}
