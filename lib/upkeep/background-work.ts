/** Work that no caller waits for: tried again where it fails, and waited for at the end. */
import type { Clock, Timer } from "../clock.ts";
import { mayPass } from "../internal/is-lasting.ts";
import type { Logger } from "../logger.ts";

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

type Work = () => Promise<unknown>;

export class BackgroundWork {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor({ clock, logger }: { clock: Clock; logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Does something, and does it again later for as long as it fails in a way that may pass, e.g. for want of space. */
  do(work: Work): void {
    this.#try(work, firstRetryMs);
  }

  /** Does something after a delay in milliseconds. */
  after(delayMs: number, work: Work): Timer {
    return this.#later(delayMs, () => this.do(work));
  }

  /** Begins nothing any more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #try(work: Work, retryMs: number): void {
    if (this.#stopped) return;
    const done: Promise<void> = begun(work)
      .catch((error: unknown) => {
        this.#logger.error("What goes on in the background failed.", { error });
        if (!mayPass(error)) return;
        this.#later(retryMs, () => this.#try(work, Math.min(retryMs * 2, longestRetryMs)));
      })
      .finally(() => this.#running.delete(done));
    this.#running.add(done);
  }

  #later(delayMs: number, callback: () => void): Timer {
    if (this.#stopped) return { cancel: () => {} };
    const timer = this.#clock.setTimer(Math.max(0, delayMs), () => {
      this.#timers.delete(handle);
      callback();
    });
    const handle: Timer = {
      cancel: () => {
        timer.cancel();
        this.#timers.delete(handle);
      },
    };
    this.#timers.add(handle);
    return handle;
  }
}

/** Work that throws before it returns a promise, as a storage of the embedder's may, has failed like any other. */
async function begun(work: Work): Promise<void> {
  await work();
}
