/**
 * Finds where the entries of a log before an instant end, by the order of the log. Timestamps may go backwards, so each of these entries is looked
 * at, but once only: of every thousand the latest timestamp is remembered.
 */
import type { LogPage, Storage } from "../storage/storage.ts";

const blockSize = 1000;

export class OldestEntries {
  readonly #storage: Storage;
  readonly #log: string;
  /** By the number of the block: the latest timestamp of its entries. Only of whole blocks, which change no more. */
  readonly #latest = new Map<number, number>();

  constructor({ storage }: { storage: Storage }, log: string) {
    this.#storage = storage;
    this.#log = log;
  }

  /**
   * The sequence of the last entry before the first that is not before an instant.
   *
   * @param first - Where to begin; `first - 1` is returned where the entry there is not before the instant.
   */
  async lastBefore(beforeMs: number, first: number): Promise<number> {
    this.#forget(first);
    for (let from = first; ;) {
      const block = Math.floor((from - 1) / blockSize);
      const to = (block + 1) * blockSize;
      if ((this.#latest.get(block) ?? Infinity) >= beforeMs) {
        const { entries, head }: LogPage = await this.#storage.readLog(this.#log, {
          from,
          to,
          limit: blockSize,
        });
        const next = entries.find(({ at }) => at >= beforeMs);
        if (next) return next.sequence - 1;
        if (to > head.sequence) return Math.max(from - 1, head.sequence);
        this.#latest.set(
          block,
          entries.reduce((latest, { at }) => Math.max(latest, at), -Infinity),
        );
      }
      from = to + 1;
    }
  }

  /** Blocks before what is kept are not asked about again. */
  #forget(first: number): void {
    for (const block of this.#latest.keys()) if ((block + 1) * blockSize < first) this.#latest.delete(block);
  }
}
