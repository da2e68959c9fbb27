import { Staging, type Ground } from "../staging.ts";
import type { Effect } from "../writes.ts";

/** What the pump works on. As the ground of decisions it shows durable data only. */
export interface CommitTarget extends Ground {
  /** Makes effects durable, all or none. */
  write(effects: readonly Effect[]): Promise<void>;
  /** Takes durable effects into memory. */
  apply(effects: readonly Effect[]): void;
  /** Called between two batches, when nothing is half done. */
  afterBatch(): Promise<void>;
}

interface Waiting {
  decide: (batch: Staging) => unknown;
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
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
   */
  submit<T>(decide: (batch: Staging) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ decide, resolve: resolve as (result: never) => void, reject });
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
    const settle = this.#decide(batch);
    try {
      if (batch.effects.length > 0 || this.#failed) {
        this.#failed = true;
        await this.#target.write(batch.effects);
        this.#failed = false;
        this.#target.apply(batch.effects);
      }
      for (const { settled } of settle) settled();
    } catch (error) {
      for (const { item } of settle) item.reject(error);
    }
    await this.#target.afterBatch();
    if (this.#waiting.length > 0) return this.#scheduleBatch();
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #decide(batch: Staging): { item: Waiting; settled: () => void }[] {
    const decided: { item: Waiting; settled: () => void }[] = [];
    let chars = 0;
    let counted = 0;
    for (const item of this.#waiting) {
      if (decided.length === maxBatchCommits || chars > maxBatchChars) break;
      try {
        const result = item.decide(batch) as never;
        decided.push({ item, settled: () => item.resolve(result) });
      } catch (error) {
        decided.push({ item, settled: () => item.reject(error) });
      }
      for (; counted < batch.effects.length; counted++) chars += sizeOf(batch.effects[counted]);
    }
    this.#waiting = this.#waiting.slice(decided.length);
    return decided;
  }
}

function sizeOf(effect: Effect | undefined): number {
  return effect !== undefined && "text" in effect ? effect.text.length : 0;
}
