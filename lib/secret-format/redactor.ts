/**
 * Takes secrets out of what is told: every text by which one is known again becomes "(sensitive)", also where it comes in pieces or
 * is broken over lines.
 */
import { hidden } from "../state/result.ts";
import { shortestTrace, tracesOf } from "./traces.ts";

/** How many characters decide whether a trace may begin at a place. */
const headLength = shortestTrace;
const tableSize = 1 << 16;

/** Takes some secrets out of texts. */
export class Redactor {
  readonly #values: readonly Uint8Array[];
  /** Not made before there is a text: most operations tell nothing that could hold a secret. */
  #madeTraces: Traces | null = null;

  /** @param values - The secrets, in any number. Those of fewer than four bytes are not looked for. */
  constructor(values: Iterable<Uint8Array>) {
    this.#values = [...values].filter(({ length }) => length >= shortestTrace);
  }

  /** Whether there is nothing to take out. */
  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  /** Takes the secrets out of a text. */
  redact(text: string): string {
    return this.isEmpty || text.length < shortestTrace ? text : cut(text, this.#traces.find(bare(text)));
  }

  /** The same for every text of a value. Names of members stay: they are ours. What holds no secret stays the same object. */
  redactAll<Value>(value: Value): Value {
    return this.isEmpty ? value : (this.#redactAll(value) as Value);
  }

  /** Takes the secrets out of a text that comes in pieces. */
  stream(): RedactionStream {
    return new RedactionStream(this.isEmpty ? null : (kept, isEnd) => this.#take(kept, isEnd));
  }

  #redactAll(value: unknown): unknown {
    if (typeof value === "string") return this.redact(value);
    if (typeof value !== "object" || value === null) return value;
    let changed = false;
    const redactOne = (each: unknown): unknown => {
      const clean = this.#redactAll(each);
      changed ||= clean !== each;
      return clean;
    };
    const clean = Array.isArray(value)
      ? value.map(redactOne)
      : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, redactOne(each)]));
    return changed ? clean : value;
  }

  /** How much of a text may be told, cleaned; the rest may be the beginning of a secret. */
  #take({ text, condemned }: Kept, isEnd: boolean): { told: string; kept: Kept } {
    const read = bare(text);
    const ranges = [{ begin: 0, end: condemned }, ...this.#traces.find(read)];
    const from = isEnd ? read.text.length : this.#traces.openFrom(read.text);
    const place = from < read.text.length ? read.placeOf(from) : text.length;
    const within = Math.max(...ranges.map(({ end }) => end)) - place;
    return {
      told: cut(text.slice(0, place), ranges),
      kept: { text: text.slice(place), condemned: Math.max(0, within) },
    };
  }

  get #traces(): Traces {
    return (this.#madeTraces ??= new Traces(this.#values));
  }
}

/** The texts that are looked for, found by how they begin. */
class Traces {
  /** By the hash of how they begin; the longest first. */
  readonly #byHash = new Map<number, string[]>();
  readonly #table = new Uint8Array(tableSize);
  /** Every beginning that is too short to be hashed. */
  readonly #beginnings = new Set<string>();
  #longest = 0;

  constructor(values: readonly Uint8Array[]) {
    const all = new Set<string>();
    for (const value of values) for (const trace of tracesOf(value)) all.add(trace);
    for (const trace of [...all].sort((a, b) => b.length - a.length)) {
      const hash = hashAt(trace, 0);
      const same = this.#byHash.get(hash);
      if (same) same.push(trace);
      else this.#byHash.set(hash, [trace]);
      this.#table[hash & (tableSize - 1)] = 1;
      for (let length = 1; length < headLength; length += 1) this.#beginnings.add(trace.slice(0, length));
      this.#longest = Math.max(this.#longest, trace.length);
    }
  }

  /** Where secrets stand in the text itself. */
  find(read: BareText): Range[] {
    const { text } = read;
    const ranges: Range[] = [];
    let known = 0;
    for (let at = 0; at + headLength <= text.length; at += 1) {
      const trace = this.#at(text, at)?.find((each) => text.startsWith(each, at));
      if (trace === undefined) continue;
      const to = at + trace.length;
      if (to <= known) continue;
      known = to;
      ranges.push({ begin: read.placeOf(at), end: read.placeOf(to - 1) + 1 });
    }
    return ranges;
  }

  /** Where the first secret may begin that is not there in full yet. */
  openFrom(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at += 1) {
      const left = text.length - at;
      if (left < headLength) {
        if (this.#beginnings.has(text.slice(at))) return at;
      } else {
        const rest = text.slice(at);
        if (this.#at(text, at)?.some((trace) => trace.length > left && trace.startsWith(rest))) return at;
      }
    }
    return text.length;
  }

  #at(text: string, at: number): string[] | undefined {
    const hash = hashAt(text, at);
    return this.#table[hash & (tableSize - 1)] === 1 ? this.#byHash.get(hash) : undefined;
  }
}

/** What is not told yet, and how much of its beginning belongs to a secret that was found. */
interface Kept {
  text: string;
  condemned: number;
}

type Take = (kept: Kept, isEnd: boolean) => { told: string; kept: Kept };

const nothing: Kept = { text: "", condemned: 0 };

/** A text of which pieces come one after the other. */
export class RedactionStream {
  readonly #take: Take | null;
  #kept = nothing;

  constructor(take: Take | null) {
    this.#take = take;
  }

  /** Takes a piece; returns what may be told by now. What may be the beginning of a secret is kept back. */
  push(piece: string): string {
    if (this.#take === null) return piece;
    const { told, kept } = this.#take({ ...this.#kept, text: this.#kept.text + piece }, false);
    this.#kept = kept;
    return told;
  }

  /**
   * Returns the rest.
   *
   * @param end - `isCut`: the text goes on where nobody reads it, so that what is kept back may be a secret that is cut off.
   */
  end({ isCut = false }: { isCut?: boolean } = {}): string {
    const kept = this.#kept;
    this.#kept = nothing;
    if (kept.text === "" || this.#take === null) return "";
    return isCut && kept.text.length >= shortestTrace ? hidden : this.#take(kept, true).told;
  }
}

/** Where a secret stands. */
interface Range {
  begin: number;
  end: number;
}

/** A text without its line breaks. */
interface BareText {
  text: string;
  /** Where in the text itself a character stands. */
  placeOf: (at: number) => number;
}

function bare(text: string): BareText {
  if (!/[\r\n]/.test(text)) return { text, placeOf: (at) => at };
  const places = new Uint32Array(text.length);
  const parts: string[] = [];
  let count = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const unit = at < text.length ? text.charCodeAt(at) : 10;
    if (unit === 10 || unit === 13) {
      if (at > start) parts.push(text.slice(start, at));
      start = at + 1;
    } else places[count++] = at;
  }
  return { text: parts.join(""), placeOf: (at) => places[at]! };
}

/** Replaces what stands in ranges, which are in order; what overlaps or touches is one. */
function cut(text: string, ranges: readonly Range[]): string {
  let clean = "";
  let at = 0;
  let isAfterSecret = false;
  for (const { begin, end } of ranges) {
    if (end <= at || begin >= text.length) continue;
    if (begin > at || !isAfterSecret) clean += text.slice(at, Math.max(at, begin)) + hidden;
    at = end;
    isAfterSecret = true;
  }
  return clean + text.slice(at);
}

function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let next = at; next < at + headLength; next += 1)
    hash = (Math.imul(hash, 31) + text.charCodeAt(next)) | 0;
  return hash ^ (hash >>> 16);
}
