/**
 * Which entries have which value of one key. An entry has at most one value, so the postings of different values never
 * overlap. A value that one entry has is kept without a set: attributes such as a host name are all of that kind.
 */
export class KeyIndex<Entry extends object> {
  readonly #postings = new Map<string, Entry | Set<Entry>>();
  #size = 0;

  /** How many entries have the key. */
  get size(): number {
    return this.#size;
  }

  add(value: string, entry: Entry): void {
    const posting = this.#postings.get(value);
    this.#size += 1;
    if (posting === undefined) this.#postings.set(value, entry);
    else if (posting instanceof Set) posting.add(entry);
    else this.#postings.set(value, new Set([posting, entry]));
  }

  /** Takes an entry away that was added with this value. */
  remove(value: string, entry: Entry): void {
    const posting = this.#postings.get(value);
    this.#size -= 1;
    if (!(posting instanceof Set)) {
      this.#postings.delete(value);
      return;
    }
    posting.delete(entry);
    if (posting.size === 0) this.#postings.delete(value);
  }

  /** How many entries have this value. */
  count(value: string): number {
    return postingSize(this.#postings.get(value));
  }

  /** The distinct values, in no order. */
  values(): IterableIterator<string> {
    return this.#postings.keys();
  }

  /** The entries that have one of these values, which must be distinct. */
  *entries(values: Iterable<string>): Generator<Entry> {
    for (const value of values) {
      const posting = this.#postings.get(value);
      if (posting instanceof Set) yield* posting;
      else if (posting !== undefined) yield posting;
    }
  }
}

function postingSize(posting: object | undefined): number {
  if (posting instanceof Set) return posting.size;
  return posting === undefined ? 0 : 1;
}
