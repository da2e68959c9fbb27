import type { Clock } from "./clock.ts";
import type { Crypto } from "./crypto/crypto.ts";
import { toHex } from "./crypto/encoding.ts";

/** Makes identifiers. */
export interface Ids {
  /** A UUIDv7 (RFC 9562): sorts by the time of its making, strictly rising, and past every one that was seen. */
  next(): string;
  /**
   * Has the next ones be past one that was made elsewhere, or before a restart with a clock that was set back. One that is more than a
   * day ahead is passed over: a clock that was years wrong for a moment must not date all that follows.
   */
  see(id: string): void;
}

/** How far ahead of the clock what is seen may be, milliseconds. */
const mostAheadMs = 86_400_000;

/** How far ids of one millisecond are counted: 12 bits. */
const mostCounted = 0xfff;

/** Random bytes of one id, and for how many ids they are drawn at once: each draw costs more than the rest of an id. */
const randomLength = 8;
const idsOfOneDraw = 64;

/** Makes identifiers from a clock and a source of randomness, so that a seeded run repeats. */
export function createIds(clock: Clock, crypto: Crypto): Ids {
  let lastMs = 0;
  let counter = 0;
  let drawn = "";
  const random = (): string => {
    if (drawn === "") drawn = toHex(crypto.randomBytes(randomLength * idsOfOneDraw));
    const taken = drawn.slice(0, randomLength * 2);
    drawn = drawn.slice(randomLength * 2);
    return taken;
  };
  return {
    next() {
      const now = clock.now();
      if (now > lastMs) {
        lastMs = now;
        counter = 0;
      } else if (++counter > mostCounted) {
        // 4,096 ids in one millisecond, or a clock that went back: borrow from the next millisecond to keep rising.
        lastMs += 1;
        counter = 0;
      }
      return formatUuid(lastMs, counter, random());
    },
    see(id) {
      const atMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
      const place = Number.parseInt(id.slice(15, 18), 16);
      const isPast = atMs > lastMs || (atMs === lastMs && place > counter);
      if (!isPast || !(place >= 0) || atMs > clock.now() + mostAheadMs) return;
      lastMs = atMs;
      counter = place;
    },
  };
}

function formatUuid(atMs: number, counter: number, random: string): string {
  const time = atMs.toString(16).padStart(12, "0");
  const sequence = (0x7000 | counter).toString(16);
  const variant = ((Number.parseInt(random[0]!, 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

/**
 * An id as it was made or, where that is not past another one, right behind this: so what a wrong clock dated ahead, however far, stays
 * before what comes after it.
 */
export function idPast(other: string | null, made: string): string {
  if (other === null || made > other) return made;
  const atMs = Number.parseInt(other.slice(0, 8) + other.slice(9, 13), 16);
  const counter = Number.parseInt(other.slice(15, 18), 16) + 1;
  const random = made.slice(19, 23) + made.slice(24);
  return counter > mostCounted ? formatUuid(atMs + 1, 0, random) : formatUuid(atMs, counter, random);
}

/** No id of that instant or later is less: a UUIDv7 begins with its time, which is never before that of its operation. */
export function leastIdAt(atMs: number): string {
  // Whole: a time that was reckoned with the clock that never goes back has fractions, whose digits would make it later than every id.
  const time = Math.floor(Math.max(0, atMs)).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

/** The stretch of ids that begin in one way: `from` inclusive, `to` exclusive. */
export function idsFrom(prefix: string): { from: string; to: string } {
  // Behind every digit of an id, and the hyphen.
  return { from: prefix, to: `${prefix}g` };
}
