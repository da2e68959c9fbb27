/**
 * What is taken of the samples of an agent. An approved agent is hostile input still: whatever it sends, what is kept of it is bounded.
 *
 *  - A sample counts where its time is newer than that of the one before, by at least half the interval that agents are told, or half of
 *    15 s where that is less, not more than five minutes ahead of the orchestrator's time and not more than a day behind it. Others are
 *    left out.
 *  - A value counts where its name has the form of one (see {@link namePattern}) and 200 characters at most. Others are left out. NaN and
 *    infinities, and longer names, break the protocol before they come here.
 *  - The first 200 values of a sample count.
 *  - An agent brings 1,000 names an hour that none of its samples of that hour had. Values of more are left out.
 */
import { hourMs } from "../internal/durations.ts";
import type { SampleRow } from "../storage/storage.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";

/** Most series of a sample. */
export const mostSeries = 200;
/** How far a sample's time may be ahead of the orchestrator's. */
export const aheadMs = 300_000;
/** How old a sample may be when it comes: as long as agents keep them. */
export const ageMs = 24 * hourMs;
/** What agents take for their interval as long as they are told nothing: after a start of their own, and while nobody can be reached. */
export const defaultIntervalSeconds = 15;
/** Names an hour that are new. */
const newNames = 1_000;

/** `family.metric{label=value}`, each part but the first optional. */
export const namePattern = /^[a-z]\w*(\.\w+)*(\{[^{}\p{C}\p{Zl}\p{Zp}]{1,190}\})?$/u;

type Samples = MessageOf<AgentMessage, "metrics">["samples"];

/** What is known of an agent's samples so far. */
export interface SampleState {
  /** Time of the newest that was taken. */
  lastAt: number;
  /** Names of the newest that was taken, in its order. */
  names: readonly string[];
  /** Names of others of the same hour that the newest lacks: what comes and goes, as a disk that does not always answer, is no new name. */
  missing: Set<string>;
  /** New names that it may bring, and since when that is counted. */
  newNamesLeft: number;
  sinceMs: number;
}

/** What came of a message. */
export interface TakenSamples {
  rows: SampleRow[];
  /** Newest time that the message names; what is up to it is taken, or never will be. Null where no time of it can be believed. */
  through: number | null;
  /** Samples, and values of other samples, that were left out. */
  leftOut: { samples: number; values: number };
}

/** The state of an agent of which nothing was taken yet. */
export function noSamples(lastAt: number, monotonicMs: number): SampleState {
  return { lastAt, names: [], missing: new Set(), newNamesLeft: newNames, sinceMs: monotonicMs };
}

/** Takes what counts of a message, and brings the state up to it. */
export function takeSamples(
  samples: Samples,
  state: SampleState,
  at: { nowMs: number; monotonicMs: number; intervalMs: number },
): TakenSamples {
  const taken: TakenSamples = { rows: [], through: null, leftOut: { samples: 0, values: 0 } };
  if (at.monotonicMs - state.sinceMs >= hourMs) {
    state.newNamesLeft = newNames;
    state.missing.clear();
    state.sinceMs = at.monotonicMs;
  }
  const leastMs = Math.min(at.intervalMs, defaultIntervalSeconds * 1_000) / 2;
  for (const sample of samples) {
    const time = Date.parse(sample.at);
    if (!(time <= at.nowMs + aheadMs)) {
      taken.leftOut.samples += 1;
      continue;
    }
    taken.through = Math.max(taken.through ?? time, time);
    // One that was sent again is no fault: its acknowledgement was lost.
    if (time <= state.lastAt) continue;
    if (time < at.nowMs - ageMs || time - state.lastAt < leastMs) {
      taken.leftOut.samples += 1;
      continue;
    }
    state.lastAt = time;
    taken.rows.push({ at: time, values: takeValues(sample.values, state, taken) });
  }
  return taken;
}

/** The values themselves where nothing has to be left out, which is nearly always. */
function takeValues(
  values: Record<string, number>,
  state: SampleState,
  taken: TakenSamples,
): Record<string, number> {
  const names = Object.keys(values);
  const { names: known } = state;
  if (names.length === known.length && names.every((name, index) => name === known[index])) return values;
  const before = new Set(known);
  const kept = names.slice(0, mostSeries).filter((name) => before.has(name) || takeName(name, state));
  taken.leftOut.values += names.length - kept.length;
  for (const name of known) state.missing.add(name);
  for (const name of kept) state.missing.delete(name);
  state.names = kept;
  return Object.fromEntries(kept.map((name) => [name, values[name] as number]));
}

function takeName(name: string, state: SampleState): boolean {
  if (state.missing.has(name)) return true;
  if (state.newNamesLeft === 0 || name.length > 200 || !namePattern.test(name)) return false;
  state.newNamesLeft -= 1;
  return true;
}
