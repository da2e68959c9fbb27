import { powerOf, toWholes } from "./decimals.ts";
import type { SampleTable, SeriesColumns, StreamedTable } from "./table.ts";

/** Width of a coarse point, in milliseconds. */
export const coarseMs = 300_000;

/** Sums beyond this are not exact as whole numbers. */
const largestSum = 2 ** 49;

/** Samples as five-minute points: sum, least, greatest and count of each series, at the start of their five minutes. */
export function toCoarse(table: StreamedTable): SampleTable {
  const startOf = (at: number): number => Math.floor(at / coarseMs) * coarseMs;
  const times = Float64Array.from(new Set(table.times.toSorted().map(startOf)));
  const pointAt = new Map(Array.from(times, (at, index) => [at, index]));
  const points = Array.from(table.times, (at) => pointAt.get(startOf(at)) as number);
  return { times, series: Array.from(table.series, (each) => coarseColumns(each, points, times.length)) };
}

function coarseColumns(columns: SeriesColumns, points: readonly number[], count: number): SeriesColumns {
  const values = columns.fields[0] as Float64Array;
  const { present } = columns;
  const pointOf = present === null ? points : points.filter((_, row) => present[row] === 1);
  const least = new Float64Array(count).fill(Infinity);
  const greatest = new Float64Array(count).fill(-Infinity);
  const counts = new Float64Array(count);
  values.forEach((value, index) => {
    const point = pointOf[index] as number;
    counts[point] = (counts[point] as number) + 1;
    least[point] = Math.min(least[point] as number, value);
    greatest[point] = Math.max(greatest[point] as number, value);
  });
  const isThere = counts.map((n) => (n > 0 ? 1 : 0));
  const all = isThere.every((there) => there === 1);
  const fields = [sumsOf(values, pointOf, count), least, greatest, counts];
  return {
    name: columns.name,
    present: all ? null : Uint8Array.from(isThere),
    fields: all ? fields : fields.map((field) => field.filter((_, point) => isThere[point] === 1)),
  };
}

/** Sums of decimals are decimals, where rounding would make them long: they are added as whole numbers. */
function sumsOf(values: Float64Array, pointOf: readonly number[], count: number): Float64Array {
  const decimals = toWholes(values);
  const add = (numbers: Float64Array): Float64Array => {
    const sums = new Float64Array(count);
    numbers.forEach((number, index) => {
      const point = pointOf[index] as number;
      const sum = (sums[point] as number) + number;
      sums[point] = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, sum));
    });
    return sums;
  };
  if (decimals === null) return add(values);
  const sums = add(decimals.wholes);
  if (sums.some((sum) => Math.abs(sum) > largestSum)) return add(values);
  const power = powerOf(decimals.scale);
  return sums.map((sum) => sum / power);
}
