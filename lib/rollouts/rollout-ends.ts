/** Waiting for the end of rollouts, whichever process drives them. */
import type { Context } from "../context.ts";
import { Waiters } from "../waiters.ts";
import type { RolloutDocument } from "./documents.ts";
import { hasEnded } from "./progress.ts";
import type { RolloutStore } from "./rollout-store.ts";

export class RolloutEnds {
  readonly #context: Context;
  readonly #store: RolloutStore;
  readonly #waiting = new Map<string, { waiters: Waiters; count: number }>();

  constructor(context: Context, store: RolloutStore) {
    this.#context = context;
    this.#store = store;
    context.feed.follow<RolloutDocument>("rollouts", ({ key, document }) => {
      if (!document || hasEnded(document.value.status)) this.#letGo(key);
    });
    context.leaving.signal.addEventListener("abort", () => this.release());
  }

  /**
   * Resolves when a rollout has ended, after a time in milliseconds, or when the process ends.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async wait(rolloutId: string, waitMs: number): Promise<void> {
    const { clock, leaving } = this.#context;
    if (waitMs <= 0 || leaving.signal.aborted) return;
    const waiting = this.#waiting.get(rolloutId) ?? { waiters: new Waiters(), count: 0 };
    this.#waiting.set(rolloutId, waiting);
    waiting.count += 1;
    // It waits before the rollout is read: an end in between is not missed.
    const woken = waiting.waiters.wait(clock, waitMs);
    try {
      const { value } = await this.#store.read(rolloutId);
      if (hasEnded(value.status)) waiting.waiters.letGo();
    } catch (error) {
      waiting.waiters.letGo();
      throw error;
    } finally {
      await woken;
      waiting.count -= 1;
      if (waiting.count === 0) this.#waiting.delete(rolloutId);
    }
  }

  /** Lets everybody go who waits. */
  release(): void {
    for (const rolloutId of this.#waiting.keys()) this.#letGo(rolloutId);
  }

  #letGo(rolloutId: string): void {
    this.#waiting.get(rolloutId)?.waiters.letGo();
  }
}
