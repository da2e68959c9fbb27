/**
 * Ends what nobody else ends: what ran past its deadline without being heard of, and what waited for its agent for too long.
 *
 * Both are found by an index, so that a start builds nothing anew however much is open, and one timer is set, for the earliest. Ending is
 * compare-and-set: what was heard of in the same moment stays as it was told.
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { isRetryable } from "../errors.ts";
import { eachPage } from "../storage/each-document.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import { unheard } from "./conclusions.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationStore } from "./operation-store.ts";
import type { Outcome } from "./outcomes.ts";

/** How an operation of a status ends that is due, and the index that finds it. */
const deadlines = { status: "running", index: "by_deadline" } as const;
const expiries = { status: "queued", index: "by_expiry" } as const;

/** When what failed in a way that does not pass by itself is tried again. */
const restMs = 60_000;

type Kind = typeof deadlines | typeof expiries;

interface Parts {
  store: OperationStore;
  work: BackgroundWork;
  end: (operationId: string, outcome: Outcome) => Promise<unknown>;
  /** How an operation ends that waited for too long. */
  expired: (operation: Readonly<OperationDocument>) => Outcome;
}

export class Sweeper {
  readonly #context: Context;
  readonly #parts: Parts;
  /** Before this fleet time no deadline counts: agents have time to come back. */
  #deadlinesFrom = -Infinity;
  #next: { at: number; timer: Timer } | null = null;
  /** One sweep at a time, those that fail and are tried again included: the earliest that was to be meanwhile. */
  #isSweeping = false;
  #asked = Infinity;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    parts.store.watch(({ status, deadline_at, queue_until }) => {
      const at = status === "running" ? deadline_at : status === "queued" ? queue_until : undefined;
      if (at !== undefined) this.#arm(at);
    });
  }

  /** Begins, after a start of the process; no deadline counts before `returnMs` have passed. */
  start(returnMs: number): void {
    this.#deadlinesFrom = this.#context.fleetTime.now() + returnMs;
    this.#parts.work.do(() => this.#sweep());
  }

  /** Ends all that is due, and sets the timer for what will be. What fails in a way that may pass is tried again by the background work. */
  async #sweep(): Promise<void> {
    this.#next = null;
    this.#isSweeping = true;
    const now = this.#context.fleetTime.now();
    let next = now + restMs;
    try {
      next = await this.#sweepAt(now);
    } catch (error) {
      if (isRetryable(error)) throw error;
      this.#context.logger.error("What is over was not looked for.", { error });
    }
    this.#isSweeping = false;
    this.#arm(Math.min(next, this.#asked));
    this.#asked = Infinity;
  }

  /** @returns When the next is due. */
  async #sweepAt(now: number): Promise<number> {
    const isTooEarly = now < this.#deadlinesFrom;
    const failures: unknown[] = [];
    if (!isTooEarly) failures.push(...(await this.#endDue(deadlines, now)));
    failures.push(...(await this.#endDue(expiries, now)));
    const passing = failures.find(isRetryable);
    if (passing !== undefined) throw passing;
    const again = failures.length > 0 ? now + restMs : Infinity;
    const deadline = isTooEarly ? this.#deadlinesFrom : await this.#firstAfter(deadlines, now);
    return Math.min(again, deadline, await this.#firstAfter(expiries, now));
  }

  /** Tries each once. @returns Why some could not be ended. */
  async #endDue({ status, index }: Kind, now: number): Promise<unknown[]> {
    const query = { index, equals: [status], to: now + 1, limit: 100 };
    const outcomeOf = status === "running" ? () => unheard : this.#parts.expired;
    const failures: unknown[] = [];
    for await (const page of eachPage<OperationDocument>(this.#context.storage, "operations", query)) {
      const ends = await Promise.allSettled(
        page.map(({ key, value }) => this.#parts.end(key, outcomeOf(value))),
      );
      const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
      failures.push(...errors);
      for (const error of errors)
        if (!isRetryable(error)) this.#context.logger.error("What is over was not ended.", { error });
      // Where nothing can be written, e.g. for want of space, the next page would not fare better.
      if (page.length > 0 && errors.filter(isRetryable).length === page.length) break;
    }
    return failures;
  }

  async #firstAfter({ status, index }: Kind, now: number): Promise<number> {
    const query = { index, equals: [status], from: now + 1, limit: 1 };
    const { items } = await this.#context.storage.list<OperationDocument>("operations", query);
    const [first] = items.map(({ value }) => (status === "running" ? value.deadline_at : value.queue_until));
    return first ?? Infinity;
  }

  /** Sweeps at a fleet time, or before where that was to be. */
  #arm(at: number): void {
    if (this.#isSweeping) this.#asked = Math.min(this.#asked, at);
    if (this.#isSweeping || at >= (this.#next?.at ?? Infinity)) return;
    this.#next?.timer.cancel();
    const timer = this.#parts.work.after(at - this.#context.fleetTime.now(), () => this.#sweep());
    this.#next = { at, timer };
  }
}
