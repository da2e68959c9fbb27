/** Remembers values for as long as there is room: those that were not used for longest go first. */
export class BoundedCache<Value> {
  readonly #most: { entries: number; weight: number };
  readonly #entries = new Map<string, { value: Value; weight: number }>();
  #weight = 0;

  /** @param most - How many values at most, and how heavy they may be altogether, in whatever the user counts (default: of any weight). */
  constructor({ entries, weight = Infinity }: { entries: number; weight?: number }) {
    this.#most = { entries, weight };
  }

  get(key: string): Value | undefined {
    const known = this.#entries.get(key);
    if (!known) return undefined;
    // Deleting first moves it to the end: the map's order is the order of last use.
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known.value;
  }

  /** Remembers a value; one that is too heavy by itself is not kept. */
  set(key: string, value: Value, weight = 0): void {
    this.delete(key);
    if (weight > this.#most.weight) return;
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#most.entries && this.#weight <= this.#most.weight) break;
      this.delete(oldest);
    }
  }

  /** Forgets a value. */
  delete(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
