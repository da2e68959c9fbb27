import { checkSampleQuery, checkSampleRows } from "./samples.ts";
import type { SamplePoint, SampleQuery, SampleRow, SeriesStorage } from "./storage.ts";
import { WantedSeries } from "./wanted-series.ts";

/** Time series in memory: rows of each owner, ordered by time. */
export class MemorySeries implements SeriesStorage {
  readonly #rows: Map<string, SampleRow[]>;
  readonly #check: () => void;

  /**
   * @param rows - Where to keep them, by owner.
   * @param check - Throws when the storage may not be used.
   */
  constructor(rows: Map<string, SampleRow[]>, check: () => void) {
    this.#rows = rows;
    this.#check = check;
  }

  async append(owner: string, rows: readonly SampleRow[]): Promise<void> {
    this.#check();
    checkSampleRows(rows);
    const kept = this.#rows.get(owner) ?? [];
    this.#rows.set(owner, kept);
    for (const { at, values } of rows) {
      // Rows come in order but for a clock that was set back: the place is nearly always the end.
      let place = kept.length;
      while (place > 0 && (kept[place - 1] as SampleRow).at > at) place--;
      kept.splice(place, 0, { at, values: { ...values } });
    }
  }

  async query(owner: string, query: SampleQuery): Promise<Record<string, SamplePoint[]>> {
    this.#check();
    checkSampleQuery(query);
    const points = new Map<string, SeriesPoints>();
    const wanted = new WantedSeries(query);
    for (const { at, values } of this.#rows.get(owner) ?? []) {
      if (at < query.from || at >= query.to) continue;
      for (const [name, value] of Object.entries(values)) {
        if (!wanted.has(name)) continue;
        let series = points.get(name);
        if (series === undefined) {
          points.set(name, (series = new SeriesPoints(query)));
          const left = wanted.add(name);
          if (left !== null) points.delete(left);
        }
        series.add(at, value);
      }
    }
    return Object.fromEntries([...points].map(([name, series]) => [name, series.points]));
  }

  async newest(owner: string, since = -Infinity): Promise<SampleRow | null> {
    this.#check();
    const rows = this.#rows.get(owner) ?? [];
    const at = rows.findLast(({ values }) => Object.keys(values).length > 0)?.at;
    if (at === undefined || at < since) return null;
    // Rows of one time are one: the later value counts.
    const values = Object.assign(
      {},
      ...rows.filter((row) => row.at === at).map((row) => row.values),
    ) as Record<string, number>;
    return { at, values };
  }

  async sync(): Promise<void> {
    this.#check();
  }

  async trim(owner: string, before?: number): Promise<void> {
    this.#check();
    const kept = before === undefined ? [] : (this.#rows.get(owner) ?? []).filter((row) => row.at >= before);
    if (kept.length === 0) this.#rows.delete(owner);
    else this.#rows.set(owner, kept);
  }
}

/** Samples of one series as points; with a step, each point stands at the start of its step from `from`. */
class SeriesPoints {
  readonly points: SamplePoint[] = [];
  readonly #query: SampleQuery;
  #samplesInLast = 0;

  constructor(query: SampleQuery) {
    this.#query = query;
  }

  add(at: number, value: number): void {
    const { from, stepMs } = this.#query;
    const pointAt = stepMs === undefined ? at : at - ((at - from) % stepMs);
    const last = this.points.at(-1);
    if (last === undefined || stepMs === undefined || last.at !== pointAt) {
      this.points.push({ at: pointAt, mean: value, min: value, max: value });
      this.#samplesInLast = 1;
      return;
    }
    this.#samplesInLast++;
    last.mean += (value - last.mean) / this.#samplesInLast;
    last.min = Math.min(last.min, value);
    last.max = Math.max(last.max, value);
  }
}
