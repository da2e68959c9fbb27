import type { SamplePoint, SampleQuery } from "../../storage.ts";
import type { SampleTable, SeriesColumns } from "./table.ts";

/** Brings tables together as the points of a query; each point of a step stands at the start of its step from `from`. */
export class PointCollector {
  readonly #query: SampleQuery;
  readonly #series = new Map<string, CollectedPoints>();

  constructor(query: SampleQuery) {
    this.#query = query;
  }

  /** Adds what is in the range of a table, in the order the samples came. */
  add(table: SampleTable): void {
    const { from, to, stepMs, series } = this.#query;
    for (const columns of table.series) {
      if (series !== undefined && !series.includes(columns.name)) continue;
      let points = this.#series.get(columns.name);
      if (points === undefined) this.#series.set(columns.name, (points = new CollectedPoints()));
      const isPoints = columns.fields.length > 1;
      forEachRow(table.times, columns, (at, index) => {
        if (at < from || at >= to) return;
        if (stepMs !== undefined) points.addToStep(at - ((at - from) % stepMs), columns.fields, index);
        else if (isPoints) points.addToStep(at, columns.fields, index);
        else points.addSample(at, (columns.fields[0] as Float64Array)[index] as number);
      });
    }
  }

  /** The points of each series that has any, in the order of time. */
  finish(): Record<string, SamplePoint[]> {
    const found = [...this.#series].map(([name, points]) => [name, points.finish()] as const);
    return Object.fromEntries(found.filter(([, points]) => points.length > 0));
  }
}

function forEachRow(
  times: Float64Array,
  { present }: SeriesColumns,
  visit: (at: number, index: number) => void,
): void {
  for (let row = 0, index = 0; row < times.length; row++) {
    if (present === null || present[row] === 1) visit(times[row] as number, index++);
  }
}

class CollectedPoints {
  readonly #points: SamplePoint[] = [];
  /** Samples in each point. */
  readonly #counts: number[] = [];
  #places: Map<number, number> | null = null;
  #ordered = true;
  #lastAt = -Infinity;

  addSample(at: number, value: number): void {
    this.#push({ at, mean: value, min: value, max: value }, 1);
  }

  /** Adds a sample, or a point of several, to the point at a time. */
  addToStep(at: number, fields: readonly Float64Array[], index: number): void {
    const first = (fields[0] as Float64Array)[index] as number;
    const count = fields[3]?.[index] ?? 1;
    const mean = first / count;
    const min = fields[1]?.[index] ?? first;
    const max = fields[2]?.[index] ?? first;
    const place = this.#positionOf(at);
    const point = place === -1 ? undefined : this.#points[place];
    if (point === undefined) return this.#push({ at, mean, min, max }, count);
    const total = (this.#counts[place] as number) + count;
    this.#counts[place] = total;
    point.mean += ((mean - point.mean) * count) / total;
    point.min = Math.min(point.min, min);
    point.max = Math.max(point.max, max);
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
