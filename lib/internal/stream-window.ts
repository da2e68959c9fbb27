/**
 * The newest of what happens, in order, for readers that come and go.
 *
 *   push ──▶ [ oldest … newest ]      each reader has a position of its own; nothing is kept for a reader
 *                 ▲          ▲
 *           read by A    read by B    a reader that is overtaken is told so: `reset`, never silence
 *
 * Positions are named by ids that hold only within one window: an id of another one, from before a restart, is a `reset` too.
 */

import { Bell } from "./bell.ts";

/** One step of a stream. Each id is where to go on after it. */
export type StreamItem<T> =
  /** Something happened. */
  | { kind: "value"; id: string; value: T }
  /** Nothing to tell: the stream begins here, or has passed over much that this reader does not want. */
  | { kind: "position"; id: string }
  /** What happened before can't be told any more: what is shown must be read anew. From here on nothing is missed. */
  | { kind: "reset"; id: string };

/** What a stream gives its reader: an item, and the id to go on after. */
export interface Tracked<Item> {
  /** Goes into `lastEventId`. */
  id: string;
  item: Item;
}

/** How a window is bounded. */
export interface WindowLimits {
  /** Most values kept. */
  maxItems: number;
  /** Most bytes kept, as their sizes were given. */
  maxBytes: number;
}

/** How a window is read. */
export interface ReadOptions<T> {
  /** Id to go on after; "start" = with the oldest that is kept; absent = with what happens from now on. */
  after?: string | undefined;
  /** Ends the reading. */
  signal: AbortSignal;
  /** Values to tell; default all. */
  accepts?: (value: T) => boolean;
}

/** Values passed over before a reader is told where it is, so that it can go on from there. */
const tellPositionEvery = 500;

export class StreamWindow<T> {
  readonly #name: string;
  readonly #limits: WindowLimits;
  readonly #news = new Bell();
  #kept: { value: T; bytes: number }[] = [];
  /** Values that are dropped but still in the list. */
  #dropped = 0;
  #first = 0;
  #bytes = 0;
  #ended = false;
  #readers = 0;

  /** @param name - Names the window in its ids; unique for ever, without "-" at its end. */
  constructor(name: string, limits: WindowLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  /** Bytes kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether somebody reads, be it that they wait for what comes next or are busy with what came. */
  get isWatched(): boolean {
    return this.#readers > 0;
  }

  /** Adds what happened; the oldest make room. */
  push(value: T, bytes = 0): void {
    this.#kept.push({ value, bytes });
    this.#bytes += bytes;
    const { maxItems, maxBytes } = this.#limits;
    while (this.#length > maxItems || (this.#bytes > maxBytes && this.#length > 1)) this.#dropOldest();
    this.#news.ring();
  }

  /** Nothing more comes: readers end when they have read all of it. */
  end(): void {
    this.#ended = true;
    this.#news.ring();
  }

  /** Reads on and on, until the window or the signal ends it. The first item says where it begins. */
  async *read(options: ReadOptions<T>): AsyncGenerator<StreamItem<T>, void> {
    this.#readers += 1;
    try {
      yield* this.#follow(options);
    } finally {
      this.#readers -= 1;
    }
  }

  async *#follow({
    after,
    signal,
    accepts = () => true,
  }: ReadOptions<T>): AsyncGenerator<StreamItem<T>, void> {
    const position = this.#positionAfter(after);
    let at = position ?? this.#next;
    let passedOver = 0;
    yield { kind: position === null ? "reset" : "position", id: this.#idOf(at) };
    while (!signal.aborted) {
      if (at < this.#first) {
        at = this.#next;
        yield { kind: "reset", id: this.#idOf(at) };
        continue;
      }
      const entry = this.#kept[at - this.#first + this.#dropped];
      if (!entry) {
        if (this.#ended) return;
        await this.#news.next(signal);
        continue;
      }
      at += 1;
      const wanted = accepts(entry.value);
      passedOver = wanted ? 0 : passedOver + 1;
      if (wanted) yield { kind: "value", id: this.#idOf(at), value: entry.value };
      else if (passedOver % tellPositionEvery === 0) yield { kind: "position", id: this.#idOf(at) };
    }
  }

  get #length(): number {
    return this.#kept.length - this.#dropped;
  }

  get #next(): number {
    return this.#first + this.#length;
  }

  #dropOldest(): void {
    this.#bytes -= this.#kept[this.#dropped]?.bytes ?? 0;
    this.#dropped += 1;
    this.#first += 1;
    // The list is cut now and then, not each time: dropping costs the same however much is kept.
    if (this.#dropped * 2 < this.#kept.length) return;
    this.#kept = this.#kept.slice(this.#dropped);
    this.#dropped = 0;
  }

  #idOf(position: number): string {
    return `${this.#name}-${position}`;
  }

  /** Null where the id is of another window, or what comes after it is gone. */
  #positionAfter(id: string | undefined): number | null {
    if (id === undefined) return this.#next;
    if (id === "start") return this.#first === 0 ? 0 : null;
    const cut = id.lastIndexOf("-");
    const digits = id.slice(cut + 1);
    if (id.slice(0, cut) !== this.#name || !/^\d{1,15}$/.test(digits)) return null;
    const position = Number(digits);
    return position >= this.#first && position <= this.#next ? position : null;
  }
}
