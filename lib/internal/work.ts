/**
 * Work that others give: counted in steps, so that the same work is refused on a slow machine and on a fast one, and done in
 * slices, between which whoever else waits is served.
 */
import { nextTurn } from "./next-turn.ts";
import { Turns } from "./turns.ts";

/** Work that stops now and then, where something else may be done; what it returns is what it came to. */
export type Work<Result> = Generator<void, Result, void>;

/** Steps between two stops: some milliseconds. */
const stepsOfSlice = 50_000;

/**
 * Turns of the event loop between two slices of one piece of work. A turn takes in one new connection and no more: with a single turn,
 * a hundred connections a second were enough that everybody who came waited for seconds.
 */
const turnsBetween = 16;

/** Counts what one piece of work costs. A step takes about a tenth of a microsecond. */
export class WorkBudget {
  #left: number;
  #ofSlice = stepsOfSlice;

  /** @param steps - What the work may cost altogether. Default: no bound, for what something else bounds. */
  constructor(steps = Infinity) {
    this.#left = steps;
  }

  /** Counts steps before they are made; `WorkExceeded` where they are more than is left. */
  take(steps: number): void {
    if (!this.tryTake(steps)) throw new WorkExceeded();
  }

  /** The same, but tells by false that they are more. */
  tryTake(steps: number): boolean {
    this.#left -= steps;
    this.#ofSlice -= steps;
    return this.#left >= 0;
  }

  /** Counts what is bounded by something else, so that only the slices know of it. */
  spend(steps: number): void {
    this.#ofSlice -= steps;
  }

  /** Whether the slice is over, so that the work is to stop: the next one begins. */
  isSliceOver(): boolean {
    if (this.#ofSlice > 0) return false;
    this.#ofSlice = stepsOfSlice;
    return true;
  }
}

/** Work that costs more than its budget. */
export class WorkExceeded extends Error {
  constructor() {
    super("The work takes more steps than it may");
    this.name = "WorkExceeded";
  }
}

/** Does work at once. */
export function finish<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Does work for many callers in slices. */
export class SlicedWork {
  readonly #turns = new Turns(1);

  /** Does the first slice at once, and of all that is left everywhere one slice in each turn of the event loop. */
  async do<Result>(work: Work<Result>): Promise<Result> {
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      // Once past the turn that it is in, or many that begin in one turn would go on in it.
      for (let turn = 0; turn < turnsBetween; turn += 1) await nextTurn();
      await this.#turns.next();
    }
  }
}
