import type { Clock, Timer } from "../../lib/clock.ts";

/** What a process is told that calls something after its end. */
export class ProcessEnded extends Error {
  constructor() {
    super("The process has ended.");
  }
}

/**
 * The life of one simulated process. What the process touches is told to it, and each touch may be the last: `end` is kill -9,
 * after which nothing that the process does reaches anybody.
 */
export class Life {
  /** Time as the process sees it; its timers die with it. */
  readonly clock: Clock;
  readonly #timers = new Set<Timer>();
  readonly #endings: (() => void)[] = [];
  #touchesLeft = Infinity;
  #isOver = false;
  #refuse: (error: Error) => void = () => {};
  readonly #over = new Promise<never>((_, reject) => (this.#refuse = reject));

  /** @param offsetMs - How far the wall clock of this process is off. */
  constructor(clock: Clock, offsetMs: () => number = () => 0) {
    this.#over.catch(() => {});
    this.clock = {
      now: () => this.#touched(clock.now() + offsetMs()),
      monotonic: () => this.#touched(clock.monotonic()),
      setTimer: (delayMs, callback) => this.#setTimer(clock, delayMs, callback),
    };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What else ends with it, at the same moment. */
  onEnd(ending: () => void): void {
    this.#endings.push(ending);
  }

  /** Ends it at its n-th touch from now. */
  endAtTouch(n: number): void {
    this.#touchesLeft = n;
  }

  /** The process is about to do something that others could see. */
  touch(): void {
    this.#touchesLeft -= 1;
    if (this.#touchesLeft <= 0) this.end();
  }

  /** As {@link touch}, where a process that has ended must get no further. */
  pass(): void {
    this.touch();
    if (this.#isOver) throw new ProcessEnded();
  }

  /** Waits for something that the process does not live to see where it ends before. */
  outlive<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over]);
  }

  /** Kills it. May be called twice. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) timer.cancel();
    for (const ending of this.#endings) ending();
    this.#refuse(new ProcessEnded());
  }

  #touched(value: number): number {
    this.touch();
    return value;
  }

  #setTimer(clock: Clock, delayMs: number, callback: () => void): Timer {
    this.touch();
    if (this.#isOver) return { cancel: () => {} };
    const timer = clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      callback();
    });
    this.#timers.add(timer);
    return {
      cancel: () => {
        timer.cancel();
        this.#timers.delete(timer);
      },
    };
  }
}
