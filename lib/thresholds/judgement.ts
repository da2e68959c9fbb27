/**
 * How one series of one agent stands to one threshold, sample by sample. Pure: time is that of the samples.
 *
 *   clear ──beyond the limit for `for_seconds`──▶ crossed ──back for `recovery_seconds`──▶ clear
 *
 * A stretch of which nothing is known proves nothing: after a gap both durations begin anew.
 */
import type { SampleRow } from "../storage/storage.ts";
import type { ThresholdDocument } from "./documents.ts";

/** How long a series must be missing from the samples before its alarm is over: that long a file system may be unmounted. */
export const missingMs = 300_000;

type Limits = Pick<
  ThresholdDocument,
  "metric" | "percent_of" | "condition" | "value" | "recovery_value" | "for_seconds" | "recovery_seconds"
>;

/** What is known of a series so far; times in milliseconds since 1970. */
export interface Course {
  /** Time of the newest sample. */
  at: number;
  /** What it had; null where the series is missing from it. */
  value: number | null;
  /** Since when it is beyond the limit without a break; null where it is not. */
  beyondSince: number | null;
  /** Since when it has come back, or is missing, without a break; null where it has not. */
  backSince: number | null;
}

/** The course of a series of which nothing is known. */
export function noCourse(): Course {
  return { at: -Infinity, value: null, beyondSince: null, backSince: null };
}

/** The course with one sample more. A gap longer than `gapMs` begins it anew. */
export function continued(
  course: Course,
  limits: Limits,
  { at, value, gapMs }: { at: number; value: number | null; gapMs: number },
): Course {
  const isGap = at - course.at > gapMs;
  // Missing and come back are two things: neither counts for the duration of the other.
  const isOther = (value === null) !== (course.value === null);
  const beyondSince = isGap ? null : course.beyondSince;
  const backSince = isGap || isOther ? null : course.backSince;
  const isBeyond = value !== null && isBeyondLimit(limits, value);
  const isBack = value === null || hasComeBack(limits, value);
  return {
    at,
    value,
    beyondSince: isBeyond ? (beyondSince ?? at) : null,
    backSince: isBack ? (backSince ?? at) : null,
  };
}

/** Whether there is an alarm with the newest sample, where there was none. */
export function isCrossed(course: Course, limits: Limits): boolean {
  return course.beyondSince !== null && course.at - course.beyondSince >= limits.for_seconds * 1_000;
}

/** Whether an alarm is over with the newest sample. */
export function isRecovered(course: Course, limits: Limits): boolean {
  const longMs = Math.max(limits.recovery_seconds * 1_000, course.value === null ? missingMs : 0);
  return course.backSince !== null && course.at - course.backSince >= longMs;
}

function isBeyondLimit({ condition, value: limit }: Limits, value: number): boolean {
  return condition === "above" ? value > limit : value < limit;
}

function hasComeBack(limits: Limits, value: number): boolean {
  const { condition, value: limit, recovery_value: recovery = limit } = limits;
  return condition === "above" ? value <= recovery : value >= recovery;
}

/** Whether a threshold watches a series: the one that it names, or one of the metric that it names. */
export function watches({ metric }: Pick<Limits, "metric">, series: string): boolean {
  return series === metric || (!metric.includes("{") && series.startsWith(`${metric}{`));
}

/** The series of a sample that a threshold watches: of a metric that is measured as a whole, too, the whole alone. */
export function watchedOf({ metric }: Pick<Limits, "metric">, { values }: SampleRow): string[] {
  if (Object.hasOwn(values, metric)) return [metric];
  if (metric.includes("{")) return [];
  const start = `${metric}{`;
  return Object.keys(values).filter((series) => series.startsWith(start));
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
