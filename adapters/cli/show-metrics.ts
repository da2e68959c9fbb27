/** What machines measured, for people. */
import type { MetricHistory } from "fleetwright";
import type { TableView } from "./cells.ts";
import { toLine, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";

type Series = MetricHistory["series"][number];

/** Characters of a sparkline, at most. */
export const sparklinePoints = 40;
/** No course is drawn with fewer, however long the names beside it are. */
const leastPoints = 12;

const levels = "▁▂▃▄▅▆▇█";

/** Whether a series was asked for: by its name, by the name without its label, or by the beginning of it up to a dot. Nothing asks for all. */
export function matches(name: string, wanted: readonly string[]): boolean {
  return (
    wanted.length === 0 ||
    wanted.some((each) => name === each || name.startsWith(`${each}.`) || name.startsWith(`${each}{`))
  );
}

/**
 * Shows series, a line for each: its newest value, what it was between, and its course, from where anything was measured.
 *
 * @param view - Default: everything in full.
 */
export function describeMetrics(agent: string, history: MetricHistory, view?: TableView): string {
  const { from, to, step_seconds, series, next_cursor } = history;
  if (series.length === 0)
    return toLines([toLine(`${agent}: nothing was measured between ${from} and ${to}.`)]);
  const drawn = sinceFirst(history);
  const head = toLine(`${agent}: ${drawn.from} to ${to}, a point each ${step_seconds} s`);
  const room =
    view === undefined || view.isWide ? sparklinePoints : roomBeside(toTable(series, valueColumns), view);
  return (
    toLines([head]) +
    toTable(
      series,
      [...valueColumns, ["COURSE", (each) => sparkline(each, drawn, room), { isWhole: true }]],
      view,
    ) +
    (next_cursor === null
      ? ""
      : toLines([toLine("There are more. Name a series, or the beginning of some, to see it.")]))
  );
}

const valueColumns: readonly Column<Series>[] = [
  ["SERIES", ({ name }) => name],
  ["NOW", (each) => toAmount(lastOf(each), each.unit)],
  ["LEAST", (each) => toAmount(extremeOf(each, 2, Math.min), each.unit)],
  ["MOST", (each) => toAmount(extremeOf(each, 3, Math.max), each.unit)],
];

/** The part of a history in which there is anything: a machine that came ten minutes ago has no hour to draw. */
function sinceFirst(history: MetricHistory): MetricHistory {
  const firsts = history.series.map(
    ({ points }) => points.find(([, mean]) => mean !== null)?.[0] ?? Infinity,
  );
  const first = Math.min(...firsts);
  return first === Infinity || first <= Date.parse(history.from)
    ? history
    : { ...history, from: new Date(first).toISOString() };
}

/** Characters that are left beside a table: a course is cut to fewer points, never at its end, which is now. */
function roomBeside(table: string, { width }: TableView): number {
  const taken = Math.max(...table.split("\n").map((line) => [...line].length));
  return Math.min(sparklinePoints, Math.max(leastPoints, width - taken - 2));
}

/**
 * The course of a series: a character for each step, a space where nothing was measured.
 *
 * @param most - Characters at most. With fewer than there are steps, each is the mean of several.
 */
export function sparkline(
  { points, unit }: Series,
  { from, to, step_seconds }: MetricHistory,
  most = sparklinePoints,
): string {
  const begin = Date.parse(from);
  const stepMs = step_seconds * 1_000;
  const steps = Math.ceil((Date.parse(to) - begin) / stepMs);
  const columns = Math.min(most, steps);
  const sums: { sum: number; count: number }[] = Array.from({ length: columns }, () => ({
    sum: 0,
    count: 0,
  }));
  for (const [at = 0, mean] of points) {
    const column = sums[Math.floor((((at ?? 0) - begin) / stepMs / steps) * columns)];
    if (!column || typeof mean !== "number") continue;
    column.sum += mean;
    column.count += 1;
  }
  const means = sums.map(({ sum, count }) => (count === 0 ? null : sum / count));
  const known = means.filter((mean) => mean !== null);
  // A share of something is drawn as one; anything else between its own least and most.
  const [low, high] = unit === "percent" ? [0, 100] : [Math.min(...known), Math.max(...known)];
  const level = (mean: number): string => {
    const share = high > low ? (mean - low) / (high - low) : 0;
    return levels[Math.min(levels.length - 1, Math.max(0, Math.floor(share * levels.length)))] ?? " ";
  };
  return means.map((mean) => (mean === null ? " " : level(mean))).join("");
}

const sizes = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A value with its unit, as people read it. */
export function toAmount(value: number | undefined, unit: Series["unit"]): string | undefined {
  if (value === undefined) return undefined;
  switch (unit) {
    case "percent":
      return `${toShort(value)} %`;
    case "bytes":
      return toSize(value);
    case "bytes_per_second":
      return `${toSize(value)}/s`;
    case "per_second":
      return `${toShort(value)}/s`;
    case "seconds":
      return toTime(value);
    case "count":
      return toShort(value);
  }
}

function toSize(bytes: number): string {
  const power = Math.min(sizes.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(bytes) || 1) / 10)));
  return `${toShort(bytes / 1024 ** power)} ${sizes[power]}`;
}

function toTime(seconds: number): string {
  if (seconds < 60) return `${toShort(seconds)} s`;
  if (seconds < 3_600) return `${toShort(seconds / 60)} min`;
  return seconds < 172_800 ? `${toShort(seconds / 3_600)} h` : `${toShort(seconds / 86_400)} d`;
}

function toShort(value: number): string {
  return Math.abs(value) < 1e15
    ? String(Number(value.toFixed(Math.abs(value) < 100 ? 2 : 0)))
    : value.toExponential(2);
}

function lastOf({ points }: Series): number | undefined {
  return points.findLast(([, mean]) => mean !== null)?.[1] ?? undefined;
}

/** Of each point what stands there, or its mean where that is all it has. */
function extremeOf(
  { points }: Series,
  place: 2 | 3,
  pick: (a: number, b: number) => number,
): number | undefined {
  const values = points.map((point) => point[place] ?? point[1]).filter((value) => typeof value === "number");
  return values.length === 0 ? undefined : values.reduce((a, b) => pick(a, b));
}
