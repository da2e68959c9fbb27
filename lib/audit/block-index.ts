/**
 * Where among each thousand events of the audit log what is, so that a query reads those alone that may be what it looks for.
 *
 * A block is the events `1000 n + 1` to `1000 n + 1000`. Its entry is a document, written once when the block is full and never changed: it only
 * says what may be there, and whoever reads the log without it finds the same, later. So it need not be there, and the chain doesn't cover it.
 */
import type { Crypto } from "../crypto/crypto.ts";
import { toBase64, toUtf8 } from "../crypto/encoding.ts";
import { eventTable, type EventType } from "../events.ts";
import type { JsonObject } from "../json.ts";
import type { LogEntry, Storage, Write } from "../storage/storage.ts";
import type { EventFilter } from "./event-filter.ts";
import type { StoredEvent } from "./stored-event.ts";

/** Events of a block: as many as a storage reads in one go. */
export const blockSize = 1000;

/** The collection of the entries, under the numbers of their blocks. */
export const blockCollection = "audit_blocks";

/** What is among the events of a block. A text names places: ` `, a mark of four characters, and two characters for each place, again and again. */
export interface BlockEntry {
  /** Of their `timestamp`, milliseconds since 1970; a clock that was set back has them in any order. */
  earliest_ms: number;
  latest_ms: number;
  /** Each, and two characters for each place of one. */
  event_types: Record<string, string>;
  /** The places of ids and names of who did it. */
  actors: string;
  /** The places of ids and names of what it was done to. */
  targets: string;
}

/** Where in its block an event is, from 0. */
type Place = number;

/** The number of the block that an event is in. */
export function blockOf(sequence: number): number {
  return Math.floor((sequence - 1) / blockSize);
}

/** The first and the last sequence of a block. */
export function rangeOf(block: number): { from: number; to: number } {
  return { from: block * blockSize + 1, to: (block + 1) * blockSize };
}

/** The key of a block's entry: in order of their numbers. */
export function keyOf(block: number): string {
  return String(block).padStart(12, "0");
}

/** The write of the entry of a block; it conflicts where there is one. */
export function toBlockPut(crypto: Crypto, block: number, entries: readonly LogEntry<StoredEvent>[]): Write {
  const times = entries.map(({ value }) => Date.parse(value.timestamp));
  const places = {
    types: new Map<string, string>(),
    actors: new Map<string, string>(),
    targets: new Map<string, string>(),
  };
  for (const { sequence, value } of entries) {
    const place = toDigits(sequence - rangeOf(block).from);
    add(places.types, [value.event_type], place);
    add(places.actors, [value.actor.id, value.actor.name], place);
    if (value.target) add(places.targets, [value.target.id, value.target.name], place);
  }
  const marked = (of: ReadonlyMap<string, string>): string =>
    [...of].map(([text, digits]) => ` ${markOf(crypto, text)}${digits}`).join("");
  const entry: BlockEntry = {
    earliest_ms: Math.min(...times),
    latest_ms: Math.max(...times),
    event_types: Object.fromEntries(places.types),
    actors: marked(places.actors),
    targets: marked(places.targets),
  };
  const value = entry as object as JsonObject;
  return { kind: "put", collection: blockCollection, key: keyOf(block), value, expected: 0 };
}

/** The entries of several blocks; null where there is none. */
export async function readBlocks(
  storage: Storage,
  blocks: readonly number[],
): Promise<(Readonly<BlockEntry> | null)[]> {
  const found = await storage.getMany<BlockEntry>(blockCollection, blocks.map(keyOf));
  return found.map((document) => document?.value ?? null);
}

/**
 * Tells which events of a block may pass a filter; the others don't.
 *
 * @returns Their places, in order; null for all of them.
 */
export function blockSearch(
  crypto: Crypto,
  { event_type, category, actor, target, from, to }: EventFilter,
): (entry: Readonly<BlockEntry>) => readonly Place[] | null {
  const [actorMark, targetMark] = [actor, target].map((text) =>
    text === undefined ? null : markOf(crypto, text),
  );
  const [fromMs, toMs] = [
    from === undefined ? -Infinity : Date.parse(from),
    to === undefined ? Infinity : Date.parse(to),
  ];
  const isWantedType = (type: string): boolean =>
    (event_type === undefined || type === event_type) &&
    (category === undefined || eventTable[type as EventType]?.category === category);
  return (entry) => {
    if (entry.latest_ms < fromMs || entry.earliest_ms >= toMs) return [];
    const types = Object.entries(entry.event_types).filter(([type]) => isWantedType(type));
    return inAll([
      ...(event_type !== undefined || category !== undefined
        ? [types.flatMap(([, places]) => toPlaces(places))]
        : []),
      ...(actorMark ? [placesOf(entry.actors, actorMark)] : []),
      ...(targetMark ? [placesOf(entry.targets, targetMark)] : []),
    ]);
  };
}

function inAll(lists: readonly Place[][]): readonly Place[] | null {
  const [first, ...others] = lists;
  if (first === undefined) return null;
  const sets = others.map((list) => new Set(list));
  return first.filter((place) => sets.every((set) => set.has(place))).sort((a, b) => a - b);
}

function add(places: Map<string, string>, texts: readonly string[], place: string): void {
  for (const text of new Set(texts)) places.set(text, (places.get(text) ?? "") + place);
}

/** 24 bits: of a block with 2,000 subjects, one in 8,000 others has a mark of theirs, and costs a read for nothing. */
function markOf(crypto: Crypto, text: string): string {
  return toBase64(crypto.sha256(toUtf8(text)).subarray(0, 3));
}

/** Of every subject with the mark, which may be several. */
function placesOf(text: string, mark: string): Place[] {
  const found: Place[] = [];
  for (let at = text.indexOf(` ${mark}`); at !== -1; at = text.indexOf(` ${mark}`, at + 1)) {
    const end = text.indexOf(" ", at + 1);
    found.push(...toPlaces(text.slice(at + 1 + mark.length, end === -1 ? text.length : end)));
  }
  return found;
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function toDigits(place: Place): string {
  return digits.charAt(place >> 6) + digits.charAt(place & 63);
}

function toPlaces(text: string): Place[] {
  return Array.from(
    { length: text.length / 2 },
    (_, n) => digits.indexOf(text.charAt(2 * n)) * 64 + digits.indexOf(text.charAt(2 * n + 1)),
  );
}
