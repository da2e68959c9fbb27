/** What one process does for all with alarms: it tells in sum what flapped. Another takes it over some seconds after this one is gone. */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { SoleDuty } from "../upkeep/sole-duty.ts";
import type { AlarmDamping } from "./alarm-damping.ts";
import type { AlarmWriter } from "./alarm-writer.ts";
import type { FlappingDocument } from "./documents.ts";
import type { StoredFlapping, ThresholdBook } from "./threshold-book.ts";

/** How often is looked at what flaps, milliseconds. */
const lookMs = 60_000;

interface Parts {
  book: ThresholdBook;
  damping: AlarmDamping;
  writer: AlarmWriter;
}

export class AlarmUpkeep {
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  readonly #duty: SoleDuty;
  #timer: Timer | null = null;

  constructor(context: Context, parts: Parts) {
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    this.#duty = new SoleDuty(context, "alarms", {
      began: () => this.#wake(),
      isNeeded: () => parts.book.flapping.size > 0,
    });
    context.feed.follow<FlappingDocument>("flapping_alarms", ({ key, document }) => {
      if (!document) return parts.book.deleteFlapping(key);
      parts.book.setFlapping(document);
      this.#wake();
      void this.#duty.look();
    });
  }

  /** Does what is due, and what will be. */
  start(): Promise<void> {
    return this.#duty.start();
  }

  /** Begins nothing any more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    await this.#work.stop();
    await this.#duty.stop();
  }

  #wake(): void {
    if (!this.#duty.isMine || this.#timer !== null || this.#parts.book.flapping.size === 0) return;
    this.#timer = this.#work.after(lookMs, async () => {
      this.#timer = null;
      // Where it fails it is done again; the next look comes all the same.
      this.#wake();
      for (const flapping of this.#parts.damping.settled()) await this.#settle(flapping);
    });
  }

  async #settle(flapping: StoredFlapping): Promise<void> {
    if (!this.#duty.isMine) return;
    const { node_id, threshold_id } = flapping.value;
    const alarms = [...this.#parts.book.alarmsOf(node_id).values()].filter(
      ({ value }) => threshold_id === undefined || value.threshold_id === threshold_id,
    );
    await this.#parts.writer.settle(flapping, alarms.length);
  }
}
