/**
 * What one process does for all with alarms: it ends those that no threshold watches any more, and tells in sum what flapped. Another takes it
 * over some seconds after this one is gone.
 *
 * Every process hears of the change after which alarms may stand on nothing, and remembers it until there are none; so what one leaves
 * undone another does, and after a start all are looked at.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { SoleDuty } from "../upkeep/sole-duty.ts";
import type { AlarmDamping } from "./alarm-damping.ts";
import type { AlarmChange, AlarmWriter } from "./alarm-writer.ts";
import type { FlappingDocument } from "./documents.ts";
import type { StoredAlarm, StoredFlapping, ThresholdBook } from "./threshold-book.ts";

/** How often is looked at what flaps, milliseconds. */
const lookMs = 60_000;
/** Alarms that are ended in one commit. */
const atOnce = 100;
/** After how long is done what another process was in the way of, milliseconds. */
const againMs = 1_000;

interface Parts {
  agents: AgentService;
  book: ThresholdBook;
  damping: AlarmDamping;
  writer: AlarmWriter;
}

export class AlarmUpkeep {
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  readonly #duty: SoleDuty;
  /** Thresholds whose alarms may stand on nothing any more. */
  readonly #changed = new Set<string>();
  #isWithdrawing = false;
  #timer: Timer | null = null;

  constructor(context: Context, parts: Parts) {
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    this.#duty = new SoleDuty(context, "alarms", {
      began: () => this.#wake(),
      isNeeded: () => parts.book.flapping.size > 0 || this.#isWithdrawing || this.#hasStale(),
    });
    context.feed.follow<FlappingDocument>("flapping_alarms", ({ key, document }) => {
      if (!document) return parts.book.deleteFlapping(key);
      parts.book.setFlapping(document);
      this.#look();
    });
  }

  /** Does what is due, and what will be. Called when the book is read. */
  start(): Promise<void> {
    for (const id of this.#parts.book.alarmed) this.#changed.add(id);
    return this.#duty.start();
  }

  /** Begins nothing any more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    await this.#work.stop();
    await this.#duty.stop();
  }

  /** A threshold was changed or removed, or one of its alarms was written after that. */
  changed(thresholdId: string): void {
    if (this.#parts.book.alarmsOfThreshold(thresholdId).size === 0) return;
    this.#changed.add(thresholdId);
    this.#look();
  }

  #look(): void {
    this.#wake();
    void this.#duty.look();
  }

  #wake(): void {
    if (!this.#duty.isMine) return;
    if (this.#changed.size > 0) this.#work.do(() => this.#withdraw());
    if (this.#timer === null && this.#parts.book.flapping.size > 0)
      this.#timer = this.#work.after(lookMs, () => this.#settle());
  }

  /** Whether there is an alarm to end; forgets thresholds that have none. */
  #hasStale(): boolean {
    for (const id of this.#changed) {
      for (const alarm of this.#parts.book.alarmsOfThreshold(id).values())
        if (this.#isStale(alarm)) return true;
      this.#changed.delete(id);
    }
    return false;
  }

  /** Of an agent that is none of the fleet any more alarms are dropped, and nothing is told. */
  #isStale({ value }: StoredAlarm): boolean {
    const { registry } = this.#parts.agents;
    return (
      registry.isApproved(value.node_id) && !this.#parts.book.stands(value, registry.index.get(value.node_id))
    );
  }

  async #withdraw(): Promise<void> {
    if (this.#isWithdrawing) return;
    this.#isWithdrawing = true;
    try {
      for (const id of this.#changed) {
        if (await this.#withdrawOf(id)) continue;
        if (this.#duty.isMine) this.#work.after(againMs, () => this.#withdraw());
        return;
      }
    } finally {
      this.#isWithdrawing = false;
    }
  }

  /** Ends what is stale of a threshold, page by page. Tells whether that is all done. */
  async #withdrawOf(thresholdId: string): Promise<boolean> {
    // One that is changed again meanwhile comes at the end once more.
    this.#changed.delete(thresholdId);
    let isDone = false;
    try {
      isDone = await this.#withdrawPages(thresholdId);
    } finally {
      if (!isDone) this.#changed.add(thresholdId);
    }
    return isDone;
  }

  async #withdrawPages(thresholdId: string): Promise<boolean> {
    const ids = [...this.#parts.book.alarmsOfThreshold(thresholdId).keys()];
    let isDone = true;
    for (let from = 0; from < ids.length; from += atOnce) {
      const page = new Map<string, AlarmChange[]>();
      for (const id of ids.slice(from, from + atOnce)) {
        const alarm = this.#parts.book.alarmsOfThreshold(thresholdId).get(id);
        if (!alarm || !this.#isStale(alarm)) continue;
        const { node_id } = alarm.value;
        page.set(node_id, [...(page.get(node_id) ?? []), { ended: alarm, reason: "withdrawn", value: null }]);
      }
      if (page.size === 0) continue;
      if (!this.#duty.isMine) return false;
      isDone = (await this.#parts.writer.write(page)) && isDone;
      await nextTurn();
    }
    return isDone;
  }

  /** Where it fails it is done again; the next look comes all the same. */
  async #settle(): Promise<void> {
    this.#timer = null;
    this.#wake();
    for (const flapping of this.#parts.damping.settled()) if (this.#duty.isMine) await this.#tell(flapping);
  }

  async #tell(flapping: StoredFlapping): Promise<void> {
    const { node_id, threshold_id } = flapping.value;
    // It may be written while its agent is rejected or removed: then nothing is told.
    if (!this.#parts.agents.registry.isApproved(node_id)) return this.#parts.writer.drop([], [flapping]);
    const alarms = [...this.#parts.book.alarmsOf(node_id).values()].filter(
      ({ value }) => threshold_id === undefined || value.threshold_id === threshold_id,
    );
    await this.#parts.writer.settle(flapping, alarms.length);
  }
}
