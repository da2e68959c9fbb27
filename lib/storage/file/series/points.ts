import type { SamplePoint, SampleQuery } from "../../storage.ts";
import { WantedSeries } from "../../wanted-series.ts";
import type { SeriesColumns, StreamedTable } from "./table.ts";

/** Brings tables together as the points of a query; each point of a step stands at the start of its step from `from`. */
export class PointCollector {
  /** Which series are worth reading, as far as is known. */
  readonly wanted: WantedSeries;
  readonly #query: SampleQuery;
  readonly #series = new Map<string, CollectedPoints>();

  constructor(query: SampleQuery) {
    this.#query = query;
    this.wanted = new WantedSeries(query);
  }

  /** Adds what is in the range of a table, in the order the samples came. */
  add(table: StreamedTable): void {
    const { wanted } = this;
    const places = this.#placesOf(table.times);
    for (const columns of table.series) {
      const { name, fields } = columns;
      if (!wanted.has(name)) continue;
      const known = this.#series.get(name);
      const points = known ?? new CollectedPoints();
      const isStepped = this.#query.stepMs !== undefined || fields.length > 1;
      if (isStepped) points.addToSteps(places, columns);
      else points.addSamples(places, columns);
      if (known === undefined && !points.isEmpty) this.#begin(name, points);
    }
  }

  /** The points of each series that has any, in the order of time. */
  finish(): Record<string, SamplePoint[]> {
    return Object.fromEntries([...this.#series].map(([name, points]) => [name, points.finish()]));
  }

  #begin(name: string, points: CollectedPoints): void {
    this.#series.set(name, points);
    const left = this.wanted.add(name);
    if (left !== null) this.#series.delete(left);
  }

  /** Where the point of each row stands, for all series at once; NaN where it is out of the range. */
  #placesOf(times: Float64Array): Float64Array {
    const { from, to, stepMs } = this.#query;
    return times.map((at) => {
      if (at < from || at >= to) return Number.NaN;
      return stepMs === undefined ? at : at - ((at - from) % stepMs);
    });
  }
}

class CollectedPoints {
  readonly #points: SamplePoint[] = [];
  /** Samples in each point. */
  readonly #counts: number[] = [];
  #places: Map<number, number> | null = null;
  #ordered = true;
  #lastAt = -Infinity;

  get isEmpty(): boolean {
    return this.#points.length === 0;
  }

  /** Adds each sample as a point of its own. */
  addSamples(places: Float64Array, { present, fields }: SeriesColumns): void {
    const [values] = fields as [Float64Array];
    for (let row = 0, index = -1; row < places.length; row++) {
      if (present !== null && present[row] === 0) continue;
      const value = values[++index] as number;
      const at = places[row] as number;
      if (!Number.isNaN(at)) this.#push({ at, mean: value, min: value, max: value }, 1);
    }
  }

  /** Adds samples, or points of several, to the points at their places. */
  addToSteps(places: Float64Array, { present, fields }: SeriesColumns): void {
    const [sums, least = sums, greatest = sums, counts] = fields as [Float64Array, ...Float64Array[]];
    for (let row = 0, index = -1; row < places.length; row++) {
      if (present !== null && present[row] === 0) continue;
      index++;
      const at = places[row] as number;
      if (Number.isNaN(at)) continue;
      const count = counts === undefined ? 1 : (counts[index] as number);
      const mean = (sums[index] as number) / count;
      const min = least[index] as number;
      const max = greatest[index] as number;
      const place = this.#positionOf(at);
      const point = place === -1 ? undefined : this.#points[place];
      if (point === undefined) this.#push({ at, mean, min, max }, count);
      else {
        const total = (this.#counts[place] as number) + count;
        this.#counts[place] = total;
        point.mean += ((mean - point.mean) * count) / total;
        if (min < point.min) point.min = min;
        if (max > point.max) point.max = max;
      }
    }
  }

  finish(): SamplePoint[] {
    // Stable: samples of the same time stay in the order they came.
    return this.#ordered ? this.#points : this.#points.sort((a, b) => a.at - b.at);
  }

  #push(point: SamplePoint, count: number): void {
    if (point.at < this.#lastAt) this.#ordered = false;
    else this.#lastAt = point.at;
    this.#places?.set(point.at, this.#points.length);
    this.#points.push(point);
    this.#counts.push(count);
  }

  /** Mostly the last point; once a time went back, any. */
  #positionOf(at: number): number {
    const last = this.#points.length - 1;
    if (this.#points[last]?.at === at) return last;
    if (at > this.#lastAt) return -1;
    this.#places ??= new Map(this.#points.map((point, place) => [point.at, place]));
    return this.#places.get(at) ?? -1;
  }
}
