/**
 * Samples that the orchestrator has not acknowledged, on the agent's disk.
 *
 *   add ──▶ segment (a file, up to 120 samples) ──▶ acknowledged: removed
 *                                              └──▶ too old, or too many: the oldest are dropped, and the next message says so
 *
 * A sample is written without a sync: it survives the end of the process, and what a loss of power takes was not acknowledged. What can't be
 * written waits in memory, as far as it goes. A process begins a segment of its own, for the one before it may end in half a line.
 *
 * A segment has lines of JSON: `["name", ...]`, the series of the samples that follow, and `[at, value, ...]`, null for one that is missing.
 */
import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { hourMs } from "../../internal/durations.ts";
import type { Logger } from "../../logger.ts";
import { makeFolder } from "../durable-file.ts";
import type { Values } from "./measured-machine.ts";

/** The values of one moment. */
export interface Sample {
  /** Milliseconds since 1970, by the orchestrator's clock as far as it is known. */
  at: number;
  values: Values;
}

/** How much is kept. */
export interface BacklogLimits {
  /** Milliseconds between the oldest sample and the newest. Default 24 hours. */
  ageMs?: number;
  /** Bytes of all segments. Default 32 MiB. */
  bytes?: number;
  /** Segments. Default 2,000. */
  segments?: number;
}

interface Segment {
  path: string;
  firstAt: number;
  lastAt: number;
  bytes: number;
  samples: number;
}

const segmentSamples = 120;
const segmentBytes = 256 * 1024;
/** Samples that wait in memory where nothing can be written. */
const mostUnwritten = 240;
const namePattern = /^(\d{15})\.samples$/;

/** Keeps samples until they are acknowledged. Times only rise. */
export class SampleBacklog {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #limits: Required<BacklogLimits>;
  #segments: Segment[] = [];
  /** Whether the newest segment is of this process, and takes more. */
  #isOpen = false;
  #names: readonly string[] = [];
  #unwritten: Sample[] = [];
  #isStuck = false;
  #hasGap = false;
  #newestAt = -Infinity;

  constructor(folder: string, logger: Logger, limits: BacklogLimits = {}) {
    this.#folder = folder;
    this.#logger = logger;
    this.#limits = { ageMs: 24 * hourMs, bytes: 32 * 1024 * 1024, segments: 2_000, ...limits };
    this.#load();
  }

  /** Time of the newest sample that is or was here; -Infinity where there was none. */
  get newestAt(): number {
    return this.#newestAt;
  }

  /** Whether samples were dropped since the last call: there is a gap before the oldest. */
  takeGap(): boolean {
    const hadGap = this.#hasGap;
    this.#hasGap = false;
    return hadGap;
  }

  /** Says again that there is a gap, where it could not be told. */
  giveGapBack(): void {
    this.#hasGap = true;
  }

  /** Keeps a sample that is newer than all others. */
  add(sample: Sample): void {
    if (!(sample.at > this.#newestAt)) throw new Error("A sample must be newer than those before it.");
    this.#newestAt = sample.at;
    this.#unwritten.push(sample);
    this.#write();
    this.#trim();
  }

  /** The oldest samples after a time, up to so many characters of JSON, at least one; none where there is none. */
  after(afterMs: number, limits: { samples: number; characters: number }): Sample[] {
    const found: Sample[] = [];
    let characters = 0;
    for (const sample of this.#newerThan(afterMs)) {
      characters += charactersOf(sample);
      if (found.length > 0 && (characters > limits.characters || found.length >= limits.samples)) break;
      found.push(sample);
    }
    return found;
  }

  /** Lets go of samples up to a time. Those beside newer ones in a segment go with it, later. */
  acknowledge(throughMs: number): void {
    this.#drop(({ lastAt }) => lastAt <= throughMs);
    this.#unwritten = this.#unwritten.filter(({ at }) => at > throughMs);
  }

  /** Drops samples after a time that has not come: a clock that was wrong made them. */
  dropAfter(ms: number): void {
    const beyond = this.#segments.filter(({ lastAt }) => lastAt > ms);
    const kept = beyond.flatMap(({ path }) => readSegment(path)).filter(({ at }) => at <= ms);
    this.#drop(({ lastAt }) => lastAt > ms);
    this.#unwritten = this.#unwritten.filter(({ at }) => at <= ms);
    const newest = this.#unwritten.at(-1) ?? this.#segments.at(-1);
    this.#newestAt = newest === undefined ? -Infinity : "at" in newest ? newest.at : newest.lastAt;
    this.#hasGap = true;
    for (const sample of kept) if (sample.at > this.#newestAt) this.add(sample);
  }

  *#newerThan(afterMs: number): Generator<Sample> {
    for (const segment of this.#segments) {
      if (segment.lastAt <= afterMs) continue;
      for (const sample of readSegment(segment.path)) if (sample.at > afterMs) yield sample;
    }
    for (const sample of this.#unwritten) if (sample.at > afterMs) yield sample;
  }

  #load(): void {
    const names = namesIn(this.#folder).filter((name) => namePattern.test(name));
    const starts = names.sort().map((name) => Number(namePattern.exec(name)?.[1]));
    this.#segments = names.map((name, index) => {
      const path = join(this.#folder, name);
      const firstAt = starts[index] ?? 0;
      const next = starts[index + 1];
      // Of those before the newest it is enough to know that they end before the next begins.
      const lastAt = next === undefined ? (readSegment(path).at(-1)?.at ?? firstAt) : next - 1;
      return { path, firstAt, lastAt, bytes: Buffer.byteLength(textOf(path)), samples: 0 };
    });
    this.#newestAt = this.#segments.at(-1)?.lastAt ?? -Infinity;
  }

  #write(): void {
    while (this.#unwritten.length > 0) {
      const sample = this.#unwritten[0] as Sample;
      try {
        this.#append(sample);
      } catch (error) {
        // What was begun may end in half a line.
        this.#isOpen = false;
        if (!this.#isStuck)
          this.#logger.warn("Samples can't be kept on disk; the newest stay in memory.", { error });
        this.#isStuck = true;
        return;
      }
      this.#unwritten.shift();
      this.#isStuck = false;
    }
  }

  #append(sample: Sample): void {
    const newest = this.#segments.at(-1);
    const isOpen = this.#isOpen && newest && newest.samples < segmentSamples && newest.bytes < segmentBytes;
    const segment = isOpen ? newest : this.#newSegment(sample.at);
    const names = Object.keys(sample.values);
    const isSame =
      isOpen && names.length === this.#names.length && names.every((name, i) => name === this.#names[i]);
    const line = JSON.stringify([sample.at, ...Object.values(sample.values)]);
    const text = isSame ? `${line}\n` : `${JSON.stringify(names)}\n${line}\n`;
    appendFileSync(segment.path, text, { mode: 0o600 });
    if (!isOpen) this.#segments.push(segment);
    this.#isOpen = true;
    this.#names = names;
    segment.lastAt = sample.at;
    segment.bytes += Buffer.byteLength(text);
    segment.samples += 1;
  }

  #newSegment(at: number): Segment {
    makeFolder(this.#folder);
    const path = join(this.#folder, `${String(at).padStart(15, "0")}.samples`);
    // What a write that failed left of it.
    rmSync(path, { force: true });
    return { path, firstAt: at, lastAt: at, bytes: 0, samples: 0 };
  }

  #trim(): void {
    const { ageMs, bytes, segments } = this.#limits;
    const oldest = this.#newestAt - ageMs;
    let used = this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
    let left = this.#segments.length;
    const isTooMuch = (segment: Segment): boolean => {
      if (segment.lastAt >= oldest && used <= bytes && left <= segments) return false;
      used -= segment.bytes;
      left -= 1;
      return true;
    };
    const tooMany = Math.max(0, this.#unwritten.length - mostUnwritten);
    this.#unwritten = this.#unwritten.slice(tooMany);
    if (this.#drop(isTooMuch) || tooMany > 0) this.#hasGap = true;
  }

  #drop(isDue: (segment: Segment) => boolean): boolean {
    const due = this.#segments.filter(isDue);
    if (due.length === 0) return false;
    if (due.includes(this.#segments.at(-1) as Segment)) this.#isOpen = false;
    this.#segments = this.#segments.filter((segment) => !due.includes(segment));
    for (const { path } of due) removeQuietly(path);
    return true;
  }
}

/** The samples of a segment that can be read: what a killed process left half written ends it. */
function readSegment(path: string): Sample[] {
  const samples: Sample[] = [];
  let names: readonly string[] = [];
  for (const line of textOf(path).split("\n")) {
    const fields = parseLine(line);
    if (fields === null) continue;
    if (fields.every((field) => typeof field === "string")) {
      names = fields;
      continue;
    }
    const [at, ...values] = fields;
    const isWhole = typeof at === "number" && Number.isSafeInteger(at) && values.length === names.length;
    if (!isWhole || at <= (samples.at(-1)?.at ?? -Infinity)) continue;
    const known = names.map((name, index): [string, unknown] => [name, values[index]]);
    samples.push({ at, values: Object.fromEntries(known.filter(isMeasured)) });
  }
  return samples;
}

function isMeasured(entry: [string, unknown]): entry is [string, number] {
  return Number.isFinite(entry[1]);
}

function parseLine(line: string): unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return Array.isArray(parsed) && parsed.length > 0 ? parsed : null;
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // There is none before the first sample.
    return [];
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path);
  } catch {
    // It is read again after the next start, and the orchestrator has it already.
  }
}

/** About as many as it has on the wire. */
function charactersOf({ values }: Sample): number {
  let characters = 60;
  for (const name in values) characters += name.length + 24;
  return characters;
}
