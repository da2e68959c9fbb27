interface Entry {
  key: string;
  dueMs: number;
}

/**
 * Keys by the time they are due: a binary heap, so that putting in and taking out costs the logarithm of what is in it. An
 * entry whose key was set anew or deleted stays in the heap until it is on top, and is passed over there.
 */
export class DueQueue {
  readonly #due = new Map<string, number>();
  #heap: Entry[] = [];

  has(key: string): boolean {
    return this.#due.has(key);
  }

  /** Sets when a key is due, in place of what was said before. */
  set(key: string, dueMs: number): void {
    if (this.#due.get(key) === dueMs) return;
    this.#due.set(key, dueMs);
    this.#heap.push({ key, dueMs });
    this.#rise(this.#heap.length - 1);
    // Somebody who sets the same keys again and again must not make it grow.
    if (this.#heap.length > 2 * this.#due.size + 16) this.#rebuild();
  }

  delete(key: string): void {
    this.#due.delete(key);
  }

  /** When the first is due; null where nothing is in it. */
  earliest(): number | null {
    this.#dropStale();
    return this.#heap[0]?.dueMs ?? null;
  }

  /** Takes the first out, if it is due by then; null where none is. */
  take(nowMs: number): string | null {
    this.#dropStale();
    const [first] = this.#heap;
    if (!first || first.dueMs > nowMs) return null;
    this.#due.delete(first.key);
    this.#removeTop();
    return first.key;
  }

  #dropStale(): void {
    while (this.#heap[0] && this.#due.get(this.#heap[0].key) !== this.#heap[0].dueMs) this.#removeTop();
  }

  #rebuild(): void {
    this.#heap = [...this.#due].map(([key, dueMs]) => ({ key, dueMs }));
    this.#heap.sort((a, b) => a.dueMs - b.dueMs);
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (this.#dueAt(left) < this.#dueAt(least)) least = left;
      if (this.#dueAt(right) < this.#dueAt(least)) least = right;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (this.#dueAt(parent) <= this.#dueAt(at)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #dueAt(at: number): number {
    return this.#heap[at]?.dueMs ?? Infinity;
  }

  #swap(a: number, b: number): void {
    const entry = this.#heap[a]!;
    this.#heap[a] = this.#heap[b]!;
    this.#heap[b] = entry;
  }
}
