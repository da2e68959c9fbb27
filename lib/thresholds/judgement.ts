/**
 * How one series of one agent stands to one threshold, sample by sample. Pure: time is that of the samples.
 *
 *   clear ──beyond the limit for `for_seconds`──▶ crossed ──back for `recovery_seconds`──▶ clear
 *
 * A stretch of which nothing is known proves nothing: after a gap both durations begin anew. What is missing from a single sample is no gap.
 */
import type { SampleRow } from "../storage/storage.ts";
import type { ThresholdDocument } from "./documents.ts";

/** How long a series must be missing from the samples before its alarm is over: that long a file system may be unmounted. */
export const missingMs = 300_000;

/** What of a threshold is compared with. */
export type Limits = Pick<
  ThresholdDocument,
  "metric" | "percent_of" | "condition" | "value" | "recovery_value" | "for_seconds" | "recovery_seconds"
>;

/** What is known of a series so far; times in milliseconds since 1970. */
export interface Course {
  /** Time of the newest sample that has it. */
  at: number;
  /** What it had. */
  value: number;
  /** Since when it is beyond the limit without a break; null where it is not. */
  beyondSince: number | null;
  /** Since when it has come back without a break; null where it has not. */
  backSince: number | null;
  /** Between which samples it was missing without a break up to now; null where the newest has it. */
  missing: { since: number; until: number } | null;
}

/** A sample of a series, and from which time on a stretch without one is a gap. */
interface Sampled {
  at: number;
  /** Null where the series is missing from it. */
  value: number | null;
  gapMs: number;
}

/**
 * The course with one sample more; `null` where there was none. A gap begins it anew. What is missing from a sample or two, such as a file
 * system that did not answer, changes nothing.
 */
export function continued(
  course: Course | null,
  limits: Limits,
  { at, value, gapMs }: Sampled,
): Course | null {
  if (value === null) {
    if (course === null) return null;
    const isNew = course.missing === null || at - course.missing.until > gapMs;
    return { ...course, missing: { since: isNew ? at : course.missing!.since, until: at } };
  }
  const known = course !== null && at - course.at <= gapMs ? course : null;
  return {
    at,
    value,
    beyondSince: isBeyond(limits, value) ? (known?.beyondSince ?? at) : null,
    backSince: hasComeBack(limits, value) ? (known?.backSince ?? at) : null,
    missing: null,
  };
}

/** Whether there is an alarm with the newest sample, where there was none. */
export function isCrossed({ at, beyondSince, missing }: Course, limits: Limits): boolean {
  return missing === null && beyondSince !== null && at - beyondSince >= limits.for_seconds * 1_000;
}

/** Whether an alarm is over with the newest sample. */
export function isRecovered({ at, backSince, missing }: Course, limits: Limits): boolean {
  const longMs = limits.recovery_seconds * 1_000;
  if (missing) return missing.until - missing.since >= Math.max(longMs, missingMs);
  return backSince !== null && at - backSince >= longMs;
}

/** Since when something held without a break, going back from its newest point; null where it does not hold there. */
export function heldSince(
  points: readonly { at: number; value: number }[],
  { holds, before, gapMs }: { holds: (value: number) => boolean; before: number; gapMs: number },
): number | null {
  let since: number | null = null;
  for (let index = points.length - 1; index >= 0; index -= 1) {
    const { at, value } = points[index]!;
    if ((since ?? before) - at > gapMs || !holds(value)) break;
    since = at;
  }
  return since;
}

/** Whether a value is beyond the limit. */
export function isBeyond({ condition, value: limit }: Limits, value: number): boolean {
  return condition === "above" ? value > limit : value < limit;
}

/** Whether a value has come back as far as an alarm needs to be over. */
export function hasComeBack(limits: Limits, value: number): boolean {
  const { condition, value: limit, recovery_value: recovery = limit } = limits;
  return condition === "above" ? value <= recovery : value >= recovery;
}

/** Whether a threshold watches a series: the one that it names, or one of the metric that it names. */
export function watches({ metric }: Pick<Limits, "metric">, series: string): boolean {
  return series === metric || (!metric.includes("{") && series.startsWith(`${metric}{`));
}

/** The series of a sample by their metric, those with labels alone. */
export type SeriesByMetric = ReadonlyMap<string, readonly string[]>;

/** Sorts the series of a sample by their metric: once for all thresholds. */
export function toSeriesByMetric({ values }: SampleRow): SeriesByMetric {
  const byMetric = new Map<string, string[]>();
  for (const series of Object.keys(values)) {
    const labels = series.indexOf("{");
    if (labels === -1) continue;
    const metric = series.slice(0, labels);
    const known = byMetric.get(metric);
    if (known) known.push(series);
    else byMetric.set(metric, [series]);
  }
  return byMetric;
}

/** The series of a sample that a threshold watches: of a metric that is measured as a whole, too, the whole alone. */
export function watchedOf(
  { metric }: Pick<Limits, "metric">,
  { values }: SampleRow,
  byMetric: SeriesByMetric,
): readonly string[] {
  if (Object.hasOwn(values, metric)) return [metric];
  return byMetric.get(metric) ?? [];
}

/** The series whose values a threshold needs to count one that it watches. */
export function neededFor({ percent_of }: Pick<Limits, "percent_of">, series: string): string[] {
  return percent_of === undefined ? [series] : [series, wholeOf(percent_of, series)];
}

/** What a sample has for a series, as the threshold counts; null where that is not in it. */
export function countedOf(
  { percent_of }: Pick<Limits, "percent_of">,
  series: string,
  { values }: SampleRow,
): number | null {
  const value = Object.hasOwn(values, series) ? values[series]! : null;
  if (value === null || percent_of === undefined) return value;
  const name = wholeOf(percent_of, series);
  const whole = Object.hasOwn(values, name) ? values[name]! : 0;
  const percent = (100 * value) / whole;
  return Number.isFinite(percent) ? percent : null;
}

/** The series of which another is a part: that of the same labels, unless it is named with its own. */
function wholeOf(metric: string, series: string): string {
  if (metric.includes("{")) return metric;
  const labels = series.indexOf("{");
  return labels === -1 ? metric : metric + series.slice(labels);
}
