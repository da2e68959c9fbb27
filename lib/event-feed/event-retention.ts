/** Removes events that streams need no more: those past `eventRetentionCount` as they are written, those past `eventRetentionHours` every hour. */
import type { Context } from "../context.ts";
import { eventLog } from "../feed/event-record.ts";
import { hourMs } from "../internal/durations.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { OldestEntries } from "../upkeep/oldest-entries.ts";
import { keepRetention } from "../upkeep/retention.ts";

/** The count is looked at once for so many events. */
const countEvery = 1_000;

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
      if (sequence % countEvery === 0) this.#work.do(() => this.#trim(sequence));
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
    yield void (await storage.trimLog(eventLog, old + 1));
    yield void (await this.#trim(head.sequence));
  }

  #trim(newest: number): Promise<number> {
    const { storage, options } = this.#context;
    return storage.trimLog(eventLog, newest - options.eventRetentionCount + 1);
  }
}
