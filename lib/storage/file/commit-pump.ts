import { Staging, type Ground } from "../staging.ts";
import type { CommitOptions } from "../storage.ts";
import { sizeOf, type Effect } from "../writes.ts";

/** What the pump works on. As the ground of decisions it shows durable data only. */
export interface CommitTarget extends Ground {
  /** Makes effects durable, all or none. */
  write(effects: readonly Effect[], options: CommitOptions): Promise<void>;
  /** Takes durable effects into memory. */
  apply(effects: readonly Effect[]): void;
  /** Called between two batches, when nothing is half done. */
  afterBatch(): Promise<void>;
}

interface Waiting {
  reserve: boolean;
  decide: (batch: Staging) => unknown;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
  /** Once it was decided: what it resolves with, or is rejected with. */
  outcome: { result: never } | { error: unknown } | null;
}

/** Bounds of one batch, so that a burst of large commits does not have to be one large write. */
const maxBatchCommits = 2_048;
const maxBatchChars = 4 * 1_024 * 1_024;

/** Group commit: commits that arrive while one batch is being written share the next one. */
export class CommitPump {
  readonly #target: CommitTarget;
  #waiting: Waiting[] = [];
  #running = false;
  /** Whether the last write failed: then a commit of nothing writes too, to find out whether it would work again. */
  #failed = false;
  #idle: (() => void)[] = [];

  constructor(target: CommitTarget) {
    this.#target = target;
  }

  /**
   * Decides on all that came before, writes, and resolves when that is durable. A decision that throws rejects alone; a
   * write that fails rejects the whole batch.
   *
   * @param prepare - Called at once; makes the decision, or throws what the promise is rejected with.
   */
  submit<T>(prepare: () => (batch: Staging) => T, { reserve = false }: CommitOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const decide = prepare();
      const done = resolve as (result: never) => void;
      this.#waiting.push({ reserve, decide, resolve: done, reject, outcome: null });
      if (this.#running) return;
      this.#running = true;
      this.#scheduleBatch();
    });
  }

  /** Resolves when nothing waits and nothing is being written. */
  async idle(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /**
   * After what the last batch woke up: every caller has then submitted what it goes on with. And after a turn of the event
   * loop: a write may have held it up.
   */
  #scheduleBatch(): void {
    setImmediate(() => void this.#runBatch());
  }

  async #runBatch(): Promise<void> {
    const batch = new Staging(this.#target);
    const reserve = this.#waiting[0]?.reserve === true;
    const decided = this.#decide(batch);
    try {
      if (batch.effects.length > 0 || this.#failed) {
        this.#failed = true;
        await this.#target.write(batch.effects, { reserve });
        this.#failed = false;
        this.#target.apply(batch.effects);
      }
      for (const item of decided) settle(item);
    } catch (error) {
      for (const { reject } of decided) reject(error);
    }
    await this.#target.afterBatch();
    if (this.#waiting.length > 0) return this.#scheduleBatch();
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Takes from those that wait as many as one batch may hold. */
  #decide(batch: Staging): Waiting[] {
    const reserve = this.#waiting[0]?.reserve;
    let chars = 0;
    let counted = 0;
    let count = 0;
    for (const item of this.#waiting) {
      if (count === maxBatchCommits || chars > maxBatchChars) break;
      // What may use the reserve must not fail with what may not, nor take it along.
      if (item.reserve !== reserve) break;
      try {
        item.outcome = { result: item.decide(batch) as never };
      } catch (error) {
        item.outcome = { error };
      }
      count++;
      for (; counted < batch.effects.length; counted++) chars += sizeOf(batch.effects[counted] as Effect);
    }
    return this.#waiting.splice(0, count);
  }
}

function settle({ outcome, resolve, reject }: Waiting): void {
  if (outcome === null) return;
  if ("result" in outcome) resolve(outcome.result);
  else reject(outcome.error);
}
