import { nextTurn } from "./next-turn.ts";

/**
 * Spreads pieces of work over turns of the event loop: many that could all be done at once, e.g. since a whole fleet
 * answers in one moment, are done a few in each turn, and whoever else waits is served between them.
 */
export class Turns {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #left: number;
  #isRefilling = false;

  /** @param perTurn - How many pieces one turn has room for. */
  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Resolves when there is room for a piece, at once where the turn has some left; in the order of the calls. */
  next(): Promise<void> {
    this.#refillLater();
    if (this.#left === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#left -= 1;
    return Promise.resolve();
  }

  #refillLater(): void {
    if (this.#isRefilling) return;
    this.#isRefilling = true;
    void nextTurn().then(() => this.#refill());
  }

  #refill(): void {
    const woken = this.#waiting.splice(0, this.#perTurn);
    this.#left = this.#perTurn - woken.length;
    this.#isRefilling = false;
    if (woken.length > 0) this.#refillLater();
    for (const wake of woken) wake();
  }
}
