/** Removes events that streams need no more: those past `eventRetentionCount` as they are written, those past `eventRetentionHours` every hour. */
import type { Context } from "../context.ts";
import { eventLog } from "../feed/event-record.ts";
import { hourMs } from "../internal/durations.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { OldestEntries } from "../upkeep/oldest-entries.ts";
import { keepRetention } from "../upkeep/retention.ts";

/** The count is looked at once for so many events, or for a twentieth of those that are kept. */
const mostBetween = 1_000;

export class EventRetention {
  readonly #context: Context;
  readonly #oldest: OldestEntries;
  readonly #work: BackgroundWork;

  constructor(context: Context) {
    this.#context = context;
    this.#oldest = new OldestEntries(context, eventLog);
    this.#work = new BackgroundWork(context);
  }

  /** Removes what is old from now on. The function returned ends it. */
  keep(): () => Promise<void> {
    const end = keepRetention(this.#context, "events", { round: () => this.#round() });
    const unlisten = this.#context.feed.listenToRecords(({ sequence }) => {
      if (sequence % this.#step === 0) this.#work.do(() => this.#trim(sequence));
    });
    return async () => {
      unlisten();
      await Promise.all([end(), this.#work.stop()]);
    };
  }

  async *#round(): AsyncGenerator<void> {
    const { storage, retentionClock, options } = this.#context;
    const before = (await retentionClock.now()) - options.eventRetentionHours * hourMs;
    const { base, head } = await storage.readLog(eventLog, { limit: 1 });
    const old = await this.#oldest.lastBefore(before, base.sequence + 1);
    // The newest stays whatever its age: a reader whose place it is comes back to it.
    yield void (await storage.trimLog(eventLog, Math.min(old + 1, head.sequence)));
    yield void (await this.#trim(head.sequence));
  }

  /** Leaves room for the events until the next time, and for those that come while it trims. */
  #trim(newest: number): Promise<number> {
    const { storage, options } = this.#context;
    return storage.trimLog(eventLog, newest - options.eventRetentionCount + 2 * this.#step + 1);
  }

  get #step(): number {
    return Math.min(mostBetween, Math.ceil(this.#context.options.eventRetentionCount / 20));
  }
}
