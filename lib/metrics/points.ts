/** How a range of time is cut into points, and how a series looks in them. */
import { OrchestratorError } from "../errors.ts";
import { hourMs } from "../internal/durations.ts";
import type { SamplePoint } from "../storage/storage.ts";
import type { MetricPoint, MetricUnit } from "./schemas.ts";

/** Most points of a series in one answer, and how many are aimed at where nobody says. */
export const mostPoints = 2_000;
const usualPoints = 500;

/** What is older may be there as points of five minutes only. */
const rawMs = 24 * hourMs;
const thinnedMs = 300_000;

/** Steps that people can read off, in seconds; above them whole hours. */
const readable = [1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1_200, 1_800, 3_600];

/** A range of time in milliseconds since 1970, and the step of its points. */
export interface Range {
  from: number;
  to: number;
  stepMs: number;
}

/** The ends of a range as they are asked for: as times, or as so many seconds ago. */
type Asked = Partial<
  Record<"from" | "to", string | undefined> &
    Record<"from_seconds_ago" | "to_seconds_ago" | "step_seconds", number | undefined>
>;

/**
 * The range that was asked for, and its step. It begins at a whole step, so that the points of one call stand where those of the next do.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` where it ends before it begins, or one of its ends is given twice.
 */
export function rangeOf(asked: Asked, now: { nowMs: number; intervalMs: number }): Range {
  const { step_seconds } = asked;
  const end = endOf(asked, "to", now.nowMs) ?? now.nowMs + 1;
  const begin = endOf(asked, "from", now.nowMs) ?? end - hourMs;
  if (begin >= end) {
    const path = asked.to_seconds_ago === undefined ? "to" : "to_seconds_ago";
    throw invalid(path, "must be later than from");
  }
  const wanted = step_seconds === undefined ? undefined : step_seconds * 1_000;
  let range = { from: begin, to: end, stepMs: 0 };
  do {
    const stepMs = stepOf(range, { stepMs: wanted, ...now });
    range = { from: begin - (begin % stepMs), to: end, stepMs };
    // What stands before the range in its first step makes it longer.
  } while (range.to - range.from > mostPoints * range.stepMs);
  return range;
}

/** When a range begins or ends; null = that was not asked for. */
function endOf(asked: Asked, end: "from" | "to", nowMs: number): number | null {
  const [at, ago] = [asked[end], asked[`${end}_seconds_ago`]];
  if (ago === undefined) return at === undefined ? null : Date.parse(at);
  if (at !== undefined) throw invalid(`${end}_seconds_ago`, `is given in place of ${end}, not with it`);
  return nowMs - ago * 1_000;
}

function invalid(property: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [property], message }] });
}

/** The step of a range: what was asked for, or what suits it; never so small that a series has more than 2,000 points. */
export function stepOf(
  { from, to }: Pick<Range, "from" | "to">,
  wanted: { stepMs: number | undefined; intervalMs: number; nowMs: number },
): number {
  const { stepMs, intervalMs, nowMs } = wanted;
  const least = Math.ceil((to - from) / mostPoints);
  const thinned = from < nowMs - rawMs ? thinnedMs : 0;
  if (stepMs !== undefined) return readableStep(Math.max(stepMs, least, thinned), stepMs);
  return readableStep(Math.max((to - from) / usualPoints, intervalMs, least, thinned), 0);
}

/** The first readable step that is not less than the least; what was asked for as it is, where it will do. */
function readableStep(leastMs: number, askedMs: number): number {
  if (askedMs >= leastMs) return askedMs;
  const seconds = leastMs / 1_000;
  return 1_000 * (readable.find((each) => each >= seconds) ?? Math.ceil(seconds / 3_600) * 3_600);
}

/**
 * The points of one series. Between two that are further apart than a step and two and a half intervals of samples there is a gap, which begins
 * with the step after the first.
 */
export function toPoints(points: readonly SamplePoint[], stepMs: number, intervalMs: number): MetricPoint[] {
  const apart = Math.max(stepMs * 1.5, intervalMs * 2.5);
  const found: MetricPoint[] = [];
  let before = Number.NaN;
  for (const { at, mean, min, max } of points) {
    if (at - before > apart) found.push([before + stepMs, null]);
    found.push(min === max ? [at, mean] : [at, mean, min, max]);
    before = at;
  }
  return found;
}

/** What a series is measured in, by the end of its name. */
export function unitOf(name: string): MetricUnit {
  const [metric = ""] = name.split("{");
  if (metric.endsWith("bytes_per_second")) return "bytes_per_second";
  if (metric.endsWith("_per_second")) return "per_second";
  if (metric.endsWith("bytes")) return "bytes";
  if (metric.endsWith("percent")) return "percent";
  return metric.endsWith("seconds") ? "seconds" : "count";
}
