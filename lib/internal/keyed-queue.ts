/** Work that is done one after the other for each key, and side by side for different ones. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>();

  /** Does work when all that was asked for this key before has ended, however it ended. */
  do<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#last.set(key, settled);
    void settled.then(() => this.#last.get(key) === settled && this.#last.delete(key));
    return result;
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}
