/** How fast counters rise between two looks at them. */

/** Counters of things that come and go, by name. */
export type Counters = ReadonlyMap<string, number>;

/**
 * Remembers counters from one look to the next. A counter that went back, because it wrapped or its thing was made anew, has no rate this
 * time; nor has one that is seen for the first time.
 */
export class Rates {
  #before: Counters = new Map();
  #atMs = Number.NaN;

  /** What each counter rose by in a second since the look before. */
  look(counters: Counters, monotonicMs: number): Map<string, number> {
    const seconds = (monotonicMs - this.#atMs) / 1_000;
    const rates = new Map<string, number>();
    if (seconds > 0)
      for (const [name, value] of counters) {
        const risen = value - (this.#before.get(name) ?? Number.NaN);
        if (risen >= 0) rates.set(name, risen / seconds);
      }
    this.#before = counters;
    this.#atMs = monotonicMs;
    return rates;
  }
}

/** Rounds to so many decimals: more would be noise, and take space. */
export function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
