/** Items a chunk may hold before it is split: moving 512 pointers costs less than a microsecond. */
const maxChunkItems = 512;

/**
 * A list that is always in order, in chunks: an insert into 100,000 items moves at most 512 of them.
 * Items must differ under the comparison.
 */
export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  #chunks: T[][] = [];

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** Takes the place of all items at once: much cheaper than one insert each. */
  fill(items: T[]): void {
    items.sort(this.#compare);
    this.#chunks = [];
    // Half full, so that the first inserts after a start split nothing.
    const step = maxChunkItems / 2;
    for (let i = 0; i < items.length; i += step) this.#chunks.push(items.slice(i, i + step));
  }

  insert(item: T): void {
    const [chunkIndex, index] = this.#seek((other) => this.#compare(other, item) >= 0);
    // Behind the last chunk means: at the end of it.
    const chunk = this.#chunks[chunkIndex] ?? this.#chunks.at(-1);
    if (chunk === undefined) this.#chunks.push([item]);
    else {
      const at = chunkIndex < this.#chunks.length ? chunkIndex : this.#chunks.length - 1;
      chunk.splice(chunkIndex < this.#chunks.length ? index : chunk.length, 0, item);
      if (chunk.length > maxChunkItems) this.#chunks.splice(at + 1, 0, chunk.splice(maxChunkItems / 2));
    }
  }

  remove(item: T): void {
    const [chunkIndex, index] = this.#seek((other) => this.#compare(other, item) >= 0);
    const chunk = this.#chunks[chunkIndex];
    const found = chunk?.[index];
    if (chunk === undefined || found === undefined || this.#compare(found, item) !== 0) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
  }

  /**
   * Items in order from the first that `isAtOrAfter` accepts, at most so many. It must refuse a beginning of the list and
   * accept the rest.
   */
  upwards(isAtOrAfter: (item: T) => boolean, most: number): T[] {
    const [chunkIndex, index] = this.#seek(isAtOrAfter);
    const items = this.#chunks[chunkIndex]?.slice(index, index + most) ?? [];
    for (let next = chunkIndex + 1; items.length < most && next < this.#chunks.length; next += 1)
      items.push(...(this.#chunks[next]?.slice(0, most - items.length) ?? []));
    return items;
  }

  /** Items in reverse order from the one before the first that `isAfter` accepts, at most so many. */
  downwards(isAfter: (item: T) => boolean, most: number): T[] {
    const [chunkIndex, index] = this.#seek(isAfter);
    const items: T[] = [];
    let end = index;
    for (let at = chunkIndex; at >= 0 && items.length < most; at -= 1) {
      const chunk = this.#chunks[at] ?? [];
      if (at < chunkIndex) end = chunk.length;
      items.push(...chunk.slice(Math.max(0, end - (most - items.length)), end).reverse());
    }
    return items;
  }

  /** Place of the first item that the predicate accepts; behind the last chunk when it accepts none. */
  #seek(accepts: (item: T) => boolean): [chunkIndex: number, index: number] {
    const chunkIndex = firstIndex(this.#chunks, (chunk) => accepts(chunk[chunk.length - 1] as T));
    const chunk = this.#chunks[chunkIndex];
    return [chunkIndex, chunk === undefined ? 0 : firstIndex(chunk, accepts)];
  }
}

/** Place of the first item that the predicate accepts, in a list of which it refuses a beginning and accepts the rest. */
export function firstIndex<T>(items: readonly T[], accepts: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (accepts(items[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
