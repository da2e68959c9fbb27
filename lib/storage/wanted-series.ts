import type { SampleQuery } from "./series.ts";

/**
 * Which series a query is about. With a limit these are the first by name of what was met so far, so that what is kept while samples are read
 * never grows beyond it: a name that gives way to one before it can't come back, because names are only ever added.
 */
export class WantedSeries {
  readonly #named: ReadonlySet<string> | null;
  readonly #after: string | null;
  readonly #limit: number;
  /** The names so far in their order; not kept where there is no limit. */
  readonly #first: string[] = [];

  constructor({ series, after, limit = Infinity }: SampleQuery) {
    this.#named = series === undefined ? null : new Set(series);
    this.#after = after ?? null;
    this.#limit = limit;
  }

  /** Whether a series is wanted, as far as is known. */
  has(name: string): boolean {
    if (this.#named !== null && !this.#named.has(name)) return false;
    if (this.#after !== null && name <= this.#after) return false;
    return this.#first.length < this.#limit || name <= (this.#first.at(-1) ?? "");
  }

  /**
   * Counts a wanted series that has a sample in the range and was not counted yet.
   *
   * @returns The name that gives way to it; null where none does.
   */
  add(name: string): string | null {
    if (this.#limit === Infinity) return null;
    let [low, high] = [0, this.#first.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#first[middle] as string) < name) low = middle + 1;
      else high = middle;
    }
    this.#first.splice(low, 0, name);
    return this.#first.length > this.#limit ? (this.#first.pop() as string) : null;
  }
}
