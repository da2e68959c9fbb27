/**
 * Ends what nobody else ends: what ran past its deadline without being heard of, and what waited for its agent for too long.
 *
 * Both are found by an index, so that a start builds nothing anew however much is open, and one timer is set, for the earliest. Ending is
 * compare-and-set: what was heard of in the same moment stays as it was told.
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { eachPage } from "../storage/each-document.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import { offline, unheard } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationStore } from "./operation-store.ts";
import type { Outcome } from "./outcomes.ts";

/** How an operation of a status ends that is due, and the index that finds it. */
const deadlines = { status: "running", index: "by_deadline" } as const;
const expiries = { status: "queued", index: "by_expiry" } as const;

type Kind = typeof deadlines | typeof expiries;

interface Parts {
  store: OperationStore;
  work: BackgroundWork;
  end: (operationId: string, outcome: Outcome) => Promise<unknown>;
}

export class Sweeper {
  readonly #context: Context;
  readonly #parts: Parts;
  /** Before this fleet time no deadline counts: agents have time to come back. */
  #deadlinesFrom = -Infinity;
  #next: { at: number; timer: Timer } | null = null;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    parts.store.watch(({ status, deadline_at, queue_until }) => {
      const at = status === "running" ? deadline_at : status === "queued" ? queue_until : undefined;
      if (at !== undefined) this.#arm(at);
    });
  }

  /** Begins, after a start of the process; no deadline counts before `returnMs` have passed. */
  async start(returnMs: number): Promise<void> {
    this.#deadlinesFrom = this.#context.fleetTime.now() + returnMs;
    await this.#sweep();
  }

  async #sweep(): Promise<void> {
    const now = this.#context.fleetTime.now();
    const isTooEarly = now < this.#deadlinesFrom;
    if (!isTooEarly) await this.#endDue(deadlines, now);
    await this.#endDue(expiries, now);
    const next = [
      isTooEarly ? this.#deadlinesFrom : await this.#firstAfter(deadlines, now),
      await this.#firstAfter(expiries, now),
    ];
    this.#arm(Math.min(...next));
  }

  async #endDue({ status, index }: Kind, now: number): Promise<void> {
    const query = { index, equals: [status], to: now + 1, limit: 100 };
    const outcome = status === "running" ? unheard : offline;
    for await (const page of eachPage(this.#context.storage, "operations", query))
      for (const { key } of page) this.#parts.work.do(() => this.#parts.end(key, outcome));
  }

  async #firstAfter({ status, index }: Kind, now: number): Promise<number> {
    const query = { index, equals: [status], from: now + 1, limit: 1 };
    const { items } = await this.#context.storage.list<OperationDocument>("operations", query);
    const [first] = items.map(({ value }) => (status === "running" ? value.deadline_at : value.queue_until));
    return first ?? Infinity;
  }

  /** Sweeps at a fleet time, or before where that was to be. */
  #arm(at: number): void {
    if (at >= (this.#next?.at ?? Infinity)) return;
    this.#next?.timer.cancel();
    const timer = this.#parts.work.after(at - this.#context.fleetTime.now(), () => {
      this.#next = null;
      return this.#sweep();
    });
    this.#next = { at, timer };
  }
}
