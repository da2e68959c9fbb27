import type { Clock } from "../../clock.ts";
import { nextTurn } from "../../internal/next-turn.ts";

/** How long work that waits for nothing holds the process before others get their turn, milliseconds. */
const sliceMs = 5;

/** Cuts long work into short slices, so that a connection in the same process stays alive. */
export class Slices {
  readonly #clock: Pick<Clock, "monotonic">;
  #endsAtMs: number;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
    this.#endsAtMs = clock.monotonic() + sliceMs;
  }

  /** A promise where it is time to give way. */
  next(): Promise<void> | undefined {
    return this.#clock.monotonic() < this.#endsAtMs ? undefined : this.#giveWay();
  }

  async #giveWay(): Promise<void> {
    await nextTurn();
    this.#endsAtMs = this.#clock.monotonic() + sliceMs;
  }
}
