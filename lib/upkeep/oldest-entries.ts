/**
 * Finds where the entries of a log before an instant end, by the order of the log. Timestamps may go backwards, so each of these entries is looked
 * at, but once only: of every thousand it is remembered what they came to. One that is dated later than now is of a clock that was wrong: it is as
 * old as what comes after it, so that it keeps nothing for years. Now is by the fleet time, too: a clock that was set back makes nothing wrong that
 * was written before.
 */
import type { FleetTime } from "../fleet-time.ts";
import type { LogPage, Storage } from "../storage/storage.ts";
import type { RetentionClock } from "./retention-clock.ts";

const blockSize = 1000;

interface Parts {
  storage: Storage;
  retentionClock: Pick<RetentionClock, "now">;
  fleetTime: Pick<FleetTime, "now">;
}

/** What the entries of a block came to. */
interface Looked {
  /** The latest timestamp that was not later than now, and the last entry with such a one. */
  latest: number;
  last: number;
  /** The earliest that was later than now. */
  ahead: number;
}

export class OldestEntries {
  readonly #parts: Parts;
  readonly #log: string;
  /** By the number of the block. Only of whole blocks, which change no more. */
  readonly #looked = new Map<number, Looked>();

  constructor(parts: Parts, log: string) {
    this.#parts = parts;
    this.#log = log;
  }

  /**
   * The sequence of the last entry before an instant that is before the first which is not.
   *
   * @param first - Where to begin; `first - 1` is returned where the entry there is not before the instant.
   */
  async lastBefore(beforeMs: number, first: number): Promise<number> {
    const { storage, retentionClock, fleetTime } = this.#parts;
    const nowMs = Math.max(await retentionClock.now(), fleetTime.now());
    this.#forget(first);
    let last = first - 1;
    for (let from = first; ;) {
      const block = Math.floor((from - 1) / blockSize);
      const to = (block + 1) * blockSize;
      let looked = this.#looked.get(block);
      if (!looked || looked.latest >= beforeMs || looked.ahead <= nowMs) {
        const { entries, head }: LogPage = await storage.readLog(this.#log, {
          from,
          to,
          limit: blockSize,
        });
        const next = entries.findIndex(({ at }) => at >= beforeMs && at <= nowMs);
        looked = lookAt(next < 0 ? entries : entries.slice(0, next), nowMs);
        if (next >= 0 || to > head.sequence) return Math.max(last, looked.last);
        this.#looked.set(block, looked);
      }
      last = Math.max(last, looked.last);
      from = to + 1;
    }
  }

  /** Blocks before what is kept are not asked about again. */
  #forget(first: number): void {
    for (const block of this.#looked.keys()) if ((block + 1) * blockSize < first) this.#looked.delete(block);
  }
}

function lookAt(entries: LogPage["entries"], nowMs: number): Looked {
  const looked: Looked = { latest: -Infinity, last: 0, ahead: Infinity };
  for (const { at, sequence } of entries) {
    if (at > nowMs) looked.ahead = Math.min(looked.ahead, at);
    else Object.assign(looked, { latest: Math.max(looked.latest, at), last: sequence });
  }
  return looked;
}
