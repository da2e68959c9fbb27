/** What stands between one agent's series and the thresholds: those that are beyond a limit, and those of which there is an alarm. */
import { nextTurn } from "../internal/next-turn.ts";
import type { SampleRow, Storage } from "../storage/storage.ts";
import type { Pair } from "./alarm-writer.ts";
import type { ThresholdDocument } from "./documents.ts";
import {
  continued,
  countedOf,
  hasComeBack,
  heldSince,
  isBeyond,
  neededFor,
  toSeriesByMetric,
  watchedOf,
  type Course,
} from "./judgement.ts";
import { pairKey, type StoredAlarm } from "./threshold-book.ts";

/** Pairs that are followed; a machine that has more series beyond their limits is one machine. */
const mostPairs = 200;
/** Series whose stored samples are read in one go. */
const readTogether = 10;

type Threshold = Readonly<ThresholdDocument>;
type Pairs = ReadonlyMap<string, Pair>;

/** What a sample is compared with. */
export interface Watched {
  thresholds: readonly Threshold[];
  alarms: ReadonlyMap<string, StoredAlarm>;
  /** Longer than between two samples of a machine that measures, milliseconds. */
  gapMs: number;
}

/** The pairs after one sample more, by {@link pairKey}. */
export function pairsAfter(before: Pairs, row: SampleRow, { thresholds, alarms, gapMs }: Watched): Pairs {
  const after = new Map<string, Pair>();
  const byMetric = toSeriesByMetric(row);
  // Mostly nothing is beyond anything, and then a sample costs a comparison for each series that is watched.
  const isQuiet = before.size === 0 && alarms.size === 0;
  for (const threshold of thresholds)
    for (const series of watchedOf(threshold, row, byMetric)) {
      const value = countedOf(threshold, series, row);
      if (value === null || (isQuiet && !isBeyond(threshold, value))) continue;
      const key = pairKey(threshold.id, series);
      const hasAlarm = alarms.has(key);
      if (!hasAlarm && (!isBeyond(threshold, value) || (!before.has(key) && after.size >= mostPairs)))
        continue;
      const course = continued(courseOf(before.get(key), threshold), threshold, { at: row.at, value, gapMs });
      after.set(key, { threshold, series, course: course! });
    }
  keepMissing(after, { before, row, watched: { thresholds, alarms, gapMs } });
  return after;
}

/** What the sample does not have goes on as it was, until that is a gap; an alarm of it counts for how long. */
function keepMissing(
  after: Map<string, Pair>,
  { before, row, watched }: { before: Pairs; row: SampleRow; watched: Watched },
): void {
  const { thresholds, alarms, gapMs } = watched;
  const missing = { at: row.at, value: null, gapMs };
  const has = ({ threshold, series }: Pair): boolean => countedOf(threshold, series, row) !== null;
  for (const [key, pair] of before) {
    if (after.has(key) || alarms.has(key) || has(pair) || !thresholds.includes(pair.threshold)) continue;
    if (row.at - pair.course.at > gapMs || after.size >= mostPairs) continue;
    after.set(key, { ...pair, course: continued(pair.course, pair.threshold, missing)! });
  }
  for (const [key, { value: alarm }] of alarms) {
    const threshold = thresholds.find(({ id }) => id === alarm.threshold_id);
    if (after.has(key) || !threshold) continue;
    const begun = { at: -Infinity, value: alarm.value, beyondSince: null, backSince: null, missing: null };
    const course = continued(courseOf(before.get(key), threshold) ?? begun, threshold, missing)!;
    const { series } = alarm;
    const isReplaced = countedOf(threshold, series, row) !== null;
    after.set(key, { threshold, series, course, ...(isReplaced && { isReplaced }) });
  }
}

/** Another limit is another question. */
function courseOf(pair: Pair | undefined, threshold: Threshold): Course | null {
  return pair?.threshold === threshold ? pair.course : null;
}

/**
 * The pairs of an agent of which this process hears for the first time, or again after the agent may have been elsewhere, with what stands in
 * its stored samples: as far back as a duration may reach, and never before the threshold was what it is. What the sample does not have goes
 * on as it was known `before`.
 */
export async function pairsFrom(
  storage: Pick<Storage, "series">,
  nodeId: string,
  { before, first, watched }: { before: Pairs; first: SampleRow; watched: Watched },
): Promise<Pairs> {
  const pairs = new Map(pairsAfter(before, first, watched));
  const begun = pairsAfter(new Map(), first, watched);
  const { series: stored } = storage;
  const all = [...begun].filter(([key, { course }]) => course.missing === null || !before.has(key));
  for (const [key, pair] of all) pairs.set(key, pair);
  if (!stored) return pairs;
  for (let from = 0; from < all.length; from += readTogether) {
    const some = all.slice(from, from + readTogether);
    const earliest = Math.min(...some.map(([, pair]) => earliestOf(pair, first, watched)));
    const series = [...new Set(some.flatMap(([, pair]) => neededFor(pair.threshold, pair.series)))];
    const found = await stored.query(nodeId, { from: earliest, to: first.at, series });
    for (const [key, pair] of some) {
      const points = countedPoints(pair, found).filter(({ at }) => at >= earliestOf(pair, first, watched));
      pairs.set(key, { ...pair, course: withPast(pair, points, watched.gapMs) });
      await nextTurn();
    }
  }
  return pairs;
}

function earliestOf({ threshold }: Pair, { at }: SampleRow, { gapMs }: Watched): number {
  const longest = Math.max(threshold.for_seconds, threshold.recovery_seconds) * 1_000;
  return Math.max(at - longest - gapMs, Date.parse(threshold.changed_at) + 1);
}

type Stored = Readonly<Record<string, readonly { at: number; mean: number }[]>>;

function countedPoints({ threshold, series }: Pair, stored: Stored): { at: number; value: number }[] {
  const [own, whole] = neededFor(threshold, series);
  const points = stored[own!] ?? [];
  if (whole === undefined) return points.map(({ at, mean }) => ({ at, value: mean }));
  const wholes = new Map((stored[whole] ?? []).map(({ at, mean }) => [at, mean]));
  return points.flatMap(({ at, mean }) => {
    const value = countedOf(threshold, series, {
      at,
      values: { [own!]: mean, [whole]: wholes.get(at) ?? 0 },
    });
    return value === null ? [] : [{ at, value }];
  });
}

function withPast(
  { threshold, course }: Pair,
  points: { at: number; value: number }[],
  gapMs: number,
): Course {
  const { at, beyondSince, backSince } = course;
  const since = (holds: (value: number) => boolean) => heldSince(points, { holds, before: at, gapMs });
  return {
    ...course,
    beyondSince: beyondSince === null ? null : (since((value) => isBeyond(threshold, value)) ?? beyondSince),
    backSince: backSince === null ? null : (since((value) => hasComeBack(threshold, value)) ?? backSince),
  };
}
