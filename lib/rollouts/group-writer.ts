/** Writes the groups of a rollout that goes on, so that every process can read them. */
import type { Context } from "../context.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import type { ChangeGroups } from "./change-groups.ts";

/** How long a change may wait for others to be written with it, milliseconds. */
const gatherMs = 1_000;
/** Groups that are written in one go. */
const atOnce = 100;

export class GroupWriter {
  readonly #context: Context;
  readonly #work: BackgroundWork;
  readonly #rolloutId: string;
  readonly #groups: ChangeGroups;
  /** A count must not be written after a newer one. */
  readonly #turns = new KeyedQueue();
  #isWaiting = false;

  constructor(
    parts: { context: Context; work: BackgroundWork },
    { rolloutId, groups }: { rolloutId: string; groups: ChangeGroups },
  ) {
    this.#context = parts.context;
    this.#work = parts.work;
    this.#rolloutId = rolloutId;
    this.#groups = groups;
  }

  /** Has what changed written soon. */
  later(): void {
    if (this.#isWaiting || !this.#groups.isUnwritten) return;
    this.#isWaiting = true;
    this.#work.after(gatherMs, () => {
      this.#isWaiting = false;
      return this.now();
    });
  }

  /** Writes what changed; resolves when it is written. */
  now(): Promise<void> {
    return this.#turns.do(this.#rolloutId, async () => {
      while (this.#groups.isUnwritten) {
        const { writes, taken } = this.#groups.take(this.#rolloutId, atOnce);
        try {
          await this.#context.storage.commit(writes);
        } catch (error) {
          this.#groups.giveBack(taken);
          throw error;
        }
      }
    });
  }
}
