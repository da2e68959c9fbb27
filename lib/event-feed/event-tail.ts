/**
 * The log of events, read by streams that come and go.
 *
 *   log `events`  [ oldest ························ newest ]     trimmed after a day, or 100,000 events
 *   in memory                        [ the newest 2,000 ]
 *                    ▲                    ▲           ▲
 *                 reader A             reader B    reader C      each has a position of its own; nothing is kept for a reader
 *                 waits for its turn   never waits
 *
 * An id is `<sequence>-<mark>`. The mark is part of the event's own id: an id of another server, or of a history that a restore took back,
 * does not fit the entry at its sequence, and its reader is told `reset`.
 */
import type { Clock } from "../clock.ts";
import { toHex } from "../crypto/encoding.ts";
import type { OrchestratorEvent } from "../events.ts";
import { eventLog, readRecord, type StoredRecord } from "../feed/event-record.ts";
import type { Feed, PlacedRecord } from "../feed/feed.ts";
import { Bell } from "../internal/bell.ts";
import type { ReadOptions, StreamItem } from "../internal/stream-window.ts";
import type { Storage } from "../storage/storage.ts";
import { ReplayQueue } from "./replay-queue.ts";

/** Events in memory: who is further behind reads from the log. */
const inMemory = 2_000;
/** Entries that are read from the log in one go. */
const pageSize = 500;
/**
 * Events passed over before a reader is told where it is, so that it can go on from there; and how long after it was told something last it
 * is told so where there are fewer, milliseconds.
 */
const tellPositionEvery = 500;
const tellPositionAfterMs = 60_000;

/** A place in the log: behind the entry of this sequence. */
interface Place {
  sequence: number;
  mark: string;
}

export class EventTail {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #news = new Bell();
  readonly #replays: ReplayQueue;
  /** The newest entries, without a gap between them. */
  #newest: (PlacedRecord & Place)[] = [];
  #head: Place = { sequence: 0, mark: "" };
  /** The mark of a place before which there is no entry. */
  #bareMark = "";

  constructor({ storage, clock, feed }: { storage: Storage; clock: Clock; feed: Feed }) {
    this.#storage = storage;
    this.#clock = clock;
    this.#replays = new ReplayQueue(clock);
    feed.listenToRecords((record) => this.#push(record));
  }

  /** Finds the end of the log. `key` names the orchestrator. */
  async start(key: Uint8Array): Promise<void> {
    this.#bareMark = toHex(key).slice(0, 8);
    const { entries, head } = await this.#storage.readLog<StoredRecord>(eventLog, {
      reverse: true,
      limit: 1,
    });
    if (head.sequence <= this.#head.sequence) return;
    const [last] = entries;
    this.#head = { sequence: head.sequence, mark: last ? markOf(readRecord(last.value)) : this.#bareMark };
  }

  /** Reads on and on, until the signal ends it. The first item says where it begins. */
  async *read(options: ReadOptions<OrchestratorEvent>): AsyncGenerator<StreamItem<OrchestratorEvent>, void> {
    const { after, signal, accepts = () => true } = options;
    const found = after === undefined ? this.#present : await this.#find(after);
    let at = found ?? this.#present;
    yield { kind: found ? "position" : "reset", id: idOf(at) };
    let passedOver = 0;
    let toldAt = this.#clock.monotonic();
    let replayedAt = toldAt;
    while (!signal.aborted) {
      // A reader who comes from another member may have read further than this one has heard.
      if (at.sequence >= this.#head.sequence) {
        const leftMs = toldAt + tellPositionAfterMs - this.#clock.monotonic();
        if (passedOver === 0) await this.#news.next(signal);
        else if (leftMs > 0) await this.#news.next(signal, { clock: this.#clock, ms: leftMs });
        else {
          passedOver = 0;
          toldAt = this.#clock.monotonic();
          yield { kind: "position", id: idOf(at) };
        }
        continue;
      }
      let records = this.#inMemoryAfter(at.sequence);
      if (records === null) {
        const { sequence } = at;
        const toldMs = this.#clock.monotonic() - replayedAt;
        records = await this.#replays.read({ signal, toldMs }, () => this.#inLogAfter(sequence));
        replayedAt = this.#clock.monotonic();
      }
      if (records === null) return;
      if (records.length === 0) {
        at = this.#present;
        yield { kind: "reset", id: idOf(at) };
      }
      for (const record of records) {
        if (signal.aborted) return;
        at = record;
        const item = itemOf(record, accepts);
        passedOver = item.kind === "position" ? passedOver + 1 : 0;
        if (item.kind === "position" && passedOver % tellPositionEvery !== 0) continue;
        toldAt = this.#clock.monotonic();
        yield item;
      }
    }
  }

  /** Where what happens from now on comes after. */
  get #present(): Place {
    return this.#head.sequence === 0 ? { sequence: 0, mark: this.#bareMark } : this.#head;
  }

  #push(record: PlacedRecord): void {
    const placed = { ...record, mark: markOf(record) };
    this.#newest.push(placed);
    this.#head = placed;
    // Cut now and then, not each time.
    if (this.#newest.length >= 2 * inMemory) this.#newest = this.#newest.slice(-inMemory);
    this.#news.ring();
  }

  /** Null where the id is of another log, or the event that it names is not kept any more. */
  async #find(id: string): Promise<Place | null> {
    const [, digits = "", mark = ""] = /^(\d{1,15})-([\da-f]{8})$/.exec(id) ?? [];
    const place = { sequence: Number(digits), mark };
    if (digits === "") return null;
    const before = place.sequence - 1;
    // What another member told is in the log, whether or not this one has heard of it.
    const isHeard = place.sequence <= this.#head.sequence;
    const [record] = (isHeard && this.#inMemoryAfter(before, 1)) || (await this.#inLogAfter(before, 1));
    if (record?.sequence === place.sequence) return record.mark === mark ? place : null;
    const { base } = await this.#storage.readLog(eventLog, { limit: 1 });
    return base.sequence === place.sequence && mark === this.#bareMark ? place : null;
  }

  /** Entries after one, as far as they are in memory; null where that is further back. */
  #inMemoryAfter(sequence: number, limit: number = pageSize): (PlacedRecord & Place)[] | null {
    const from = sequence + 1 - (this.#newest[0]?.sequence ?? Infinity);
    return from < 0 ? null : this.#newest.slice(from, from + limit);
  }

  /** Entries after one; none where the next is not kept any more. */
  async #inLogAfter(sequence: number, limit: number = pageSize): Promise<(PlacedRecord & Place)[]> {
    const { entries } = await this.#storage.readLog<StoredRecord>(eventLog, { from: sequence + 1, limit });
    if (entries[0]?.sequence !== sequence + 1) return [];
    return entries.map((entry) => {
      const record = readRecord(entry.value);
      return { ...record, sequence: entry.sequence, mark: markOf(record) };
    });
  }
}

/** What a reader is told of an entry: where it stands, if it does not want it. */
function itemOf(
  record: PlacedRecord & Place,
  accepts: (event: OrchestratorEvent) => boolean,
): StreamItem<OrchestratorEvent> {
  const id = idOf(record);
  if ("missing" in record) return { kind: "reset", id };
  return accepts(record.event) ? { kind: "value", id, value: record.event } : { kind: "position", id };
}

function markOf({ id }: { id: string }): string {
  return id.slice(-8);
}

function idOf({ sequence, mark }: Place): string {
  return `${sequence}-${mark}`;
}
