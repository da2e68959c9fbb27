/**
 * When those come again who were turned away because too many handshakes went on: each is given a slot behind those that were given
 * before, as far apart as handshakes end where all places are taken. So they come as fast as they can be taken in, and not all at once.
 * Where fewer go on, each counts for its part of the places alone: most of the time of a handshake its agent's network is waited for.
 */
import type { Clock } from "../clock.ts";
import { longestRetryMs } from "../wire/close-reason.ts";

/** Ends that are remembered: more count half, so that what was measured long ago fades. */
const mostEnds = 1_000;
/** What is taken for measured at the start: a handshake a millisecond. */
const startEnds = 100;
const startBusyMs = 100;
/** No handshake takes less, in the crypto alone, milliseconds. */
const leastMs = 0.2;
/** Sources in the book before those whose slots are past are taken out of it. */
const sweepAbove = 1_000;

/** A connection that is turned away. */
export interface TurnedAway {
  /** Where it comes from. */
  source: string;
  /** How much of what is done is done for this source, above 0 up to 1. */
  share: number;
  /** Whether there is no room for anybody, or none for this source alone. */
  isFull: boolean;
}

/** Gives out slots to those who are turned away. */
export class ReturnSlots {
  readonly #clock: Clock;
  /** How many handshakes of one source may go on, and so how many slots it may hold of those for everybody. */
  readonly #mostOfSource: number;
  #going = 0;
  #ends = startEnds;
  /** Time in which handshakes went on, by the part of a source's places that they took: others say nothing about how fast they could be. */
  #busyMs = startBusyMs;
  /** Of that, what one that went on all the time would have taken. */
  #ofOneMs = 0;
  #countedAtMs = 0;
  /** The last slot that was given, of all and of each source, by the monotonic clock. */
  #lastMs = 0;
  readonly #lastOf = new Map<string, number>();
  #sweepAt = sweepAbove;

  constructor(clock: Clock, mostOfSource: number) {
    this.#clock = clock;
    this.#mostOfSource = mostOfSource;
  }

  /** Sources in the book. */
  get size(): number {
    return this.#lastOf.size;
  }

  /** A handshake began. @returns What {@link ReturnSlots.gaveUp} wants to know of it. */
  began(): number {
    this.#count();
    this.#going += 1;
    return this.#ofOneMs;
  }

  /** A handshake ended of which nothing was heard: what it took says how long somebody was silent, and nothing of how fast the others are. */
  gaveUp(began: number): void {
    this.#count();
    this.#going -= 1;
    this.#busyMs = Math.max(this.#ends * leastMs, this.#busyMs - (this.#ofOneMs - began));
  }

  /** A handshake ended, whichever way. */
  ended(): void {
    this.#count();
    this.#going -= 1;
    this.#ends += 1;
    if (this.#ends <= mostEnds) return;
    this.#ends /= 2;
    this.#busyMs /= 2;
  }

  /** Gives a slot: in how many milliseconds it is, at most a minute. */
  reserve({ source, share, isFull }: TurnedAway): number {
    this.#count();
    const nowMs = this.#clock.monotonic();
    const intervalMs = this.#busyMs / this.#ends;
    const latestMs = nowMs + longestRetryMs;
    // Those in the middle of a handshake are first.
    const firstMs = nowMs + this.#going * intervalMs;
    const after = (lastMs: number, byMs: number): number =>
      Math.min(latestMs, Math.max(firstMs, lastMs) + byMs);
    const ofSourceMs = after(this.#lastOf.get(source) ?? 0, isFull ? intervalMs : intervalMs / share);
    this.#lastOf.set(source, ofSourceMs);
    if (this.#lastOf.size > this.#sweepAt) this.#sweep(nowMs);
    if (!isFull) return ofSourceMs - nowMs;
    const ofAllMs = after(this.#lastMs, intervalMs);
    // Who dials without end lengthens its own line, and that of others by no more than the slots that it could hold.
    if (ofSourceMs - firstMs <= intervalMs * this.#mostOfSource) this.#lastMs = ofAllMs;
    return Math.max(ofSourceMs, ofAllMs) - nowMs;
  }

  #count(): void {
    const nowMs = this.#clock.monotonic();
    const ofOneMs = (nowMs - this.#countedAtMs) / Math.max(this.#mostOfSource, this.#going);
    this.#ofOneMs += ofOneMs;
    this.#busyMs += this.#going * ofOneMs;
    this.#countedAtMs = nowMs;
  }

  /** Costs as much as the sources that came since the last time. */
  #sweep(nowMs: number): void {
    for (const [source, lastMs] of this.#lastOf) if (lastMs <= nowMs) this.#lastOf.delete(source);
    this.#sweepAt = Math.max(sweepAbove, this.#lastOf.size * 2);
  }
}
