/**
 * Makes notifications of events, and the messages of each to channels, in one commit with the place in the log up to which that is done: so
 * each event is told once, whatever process makes it, and wherever it is killed.
 *
 *   log `events`  ── … ──▶ [cursor] ── events that wait ──▶ head
 *                                      quiet for 2 s, or the first waits for 30 s
 *                                      ▼
 *                          notifications + deliveries + cursor
 *
 * Events that come one soon after the other are told together. What came before the first start is not told. What waited in a backup that
 * was restored is told in the inbox alone: the server that made the backup went on, and told it.
 */
import { systemCaller } from "../../callers/caller.ts";
import type { Timer } from "../../clock.ts";
import type { Context } from "../../context.ts";
import { isOrchestratorError } from "../../errors.ts";
import type { OrchestratorEvent } from "../../events.ts";
import { eventLog, readRecord, type StoredRecord } from "../../feed/event-record.ts";
import { idPast } from "../../ids.ts";
import { toJsonObject } from "../../json.ts";
import type { LogEntry, LogPage, StoredDocument, Write } from "../../storage/storage.ts";
import { BackgroundWork } from "../../upkeep/background-work.ts";
import type { CursorDocument, NotificationDocument } from "../documents.ts";
import { toBundles, tell, type AgentFacts, type Bundle } from "./bundles.ts";
import { isNotified } from "./notified-events.ts";

const collection = "notification_cursors";
const key = "events";
/** How long nothing more must have come, and how long the first waits at most, milliseconds. */
const quietMs = 2_000;
const longestMs = 30_000;
/** Entries of the log that are read in one go, and events that are told in one commit. */
const pageSize = 500;
const mostTogether = 1_000;

/** A notification and what it was made of. */
export interface Made {
  notification: NotificationDocument;
  bundle: Bundle;
}

interface Parts {
  agents: AgentFacts;
  /** The id that those of new notifications come past; null for any. */
  latestId: () => string | null;
  /** What the messages to channels are written with. */
  deliveriesOf: (made: Made) => Promise<Write[]>;
}

export class Notifier {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  #unlisten: () => void = () => {};
  #timer: Timer | null = null;
  /** When the first and the last came that wait, by the clock that never goes back. */
  #firstAt: number | null = null;
  #lastAt = 0;
  #isMaking = false;
  #isAsked = false;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
  }

  /** Tells what nobody was told of while no process was there, and what comes from now on. */
  start(): void {
    this.#unlisten = this.#context.feed.listen((event) => {
      if (isNotified(event)) this.#hear();
    });
    this.#work.do(() => this.#make());
  }

  /** Begins nothing any more: what waits is told after the next start. */
  async stop(): Promise<void> {
    this.#unlisten();
    await this.#work.stop();
  }

  #hear(): void {
    this.#lastAt = this.#context.clock.monotonic();
    this.#firstAt ??= this.#lastAt;
    if (this.#timer === null) this.#timer = this.#work.after(quietMs, () => this.#due());
  }

  async #due(): Promise<void> {
    this.#timer = null;
    const now = this.#context.clock.monotonic();
    const dueAt = Math.min(this.#lastAt + quietMs, (this.#firstAt ?? now) + longestMs);
    if (now < dueAt) {
      this.#timer = this.#work.after(dueAt - now, () => this.#due());
      return;
    }
    this.#firstAt = null;
    await this.#make();
  }

  /** One at a time: what is due meanwhile is told next. */
  async #make(): Promise<void> {
    this.#isAsked = true;
    if (this.#isMaking) return;
    this.#isMaking = true;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        while (await this.#makeNext());
      }
    } finally {
      this.#isMaking = false;
    }
  }

  /** Tells the next events that wait. Returns whether there may be more. */
  async #makeNext(): Promise<boolean> {
    const { storage } = this.#context;
    const cursor = await storage.get<CursorDocument>(collection, key);
    const from = await this.#after(cursor);
    if (from === null) return true;
    const isFromBackup = cursor !== null && this.#context.epochs.isBefore(cursor.value);
    const { events, last, isEnd } = await this.#read(from, isFromBackup);
    if (!isFromBackup && !last) return false;
    if (!isFromBackup && events.length === 0 && last!.sequence - (cursor?.value.sequence ?? 0) < pageSize)
      return false;
    const made = this.#toMade(toBundles(events, this.#parts.agents));
    const writes: Write[] = [];
    for (const each of made) {
      const value = toJsonObject(each.notification);
      writes.push({
        kind: "put",
        collection: "notifications",
        key: each.notification.id,
        value,
        expected: 0,
      });
      if (!each.bundle.muted && !isFromBackup) writes.push(...(await this.#parts.deliveriesOf(each)));
    }
    // It counts as of the backup until the end of that is reached.
    const { sequence, event_id } = last ? placeOf(last) : cursor!.value;
    const mark = isFromBackup && !isEnd ? { epoch: cursor.value.epoch ?? 0 } : this.#context.epochs.mark;
    await this.#commit(cursor, { sequence, event_id, ...mark }, writes);
    return isFromBackup || !isEnd;
  }

  /** From which entry on to read; null where that was not known, and is now. */
  async #after(cursor: StoredDocument<CursorDocument> | null): Promise<number | null> {
    const { storage } = this.#context;
    const { entries, base } = await storage.readLog<StoredRecord>(eventLog, { reverse: true, limit: 1 });
    const [newest] = entries;
    if (cursor) {
      const { sequence, event_id } = cursor.value;
      if (sequence <= base.sequence) return base.sequence + 1;
      const [at] = (await storage.readLog<StoredRecord>(eventLog, { from: sequence, to: sequence })).entries;
      if (at?.value.id === event_id) return sequence + 1;
      // A restore took back what the cursor stands on: what is older was told by then.
    }
    const place = newest ? placeOf(newest) : { sequence: 0, event_id: "" };
    await this.#commit(cursor, { ...place, ...this.#context.epochs.mark }, []);
    return null;
  }

  /** @param ofBackup - Whether it ends where the log of a backup does, before what tells of the restore. */
  async #read(
    from: number,
    ofBackup: boolean,
  ): Promise<{ events: OrchestratorEvent[]; last: LogEntry<StoredRecord> | null; isEnd: boolean }> {
    const events: OrchestratorEvent[] = [];
    let last: LogEntry<StoredRecord> | null = null;
    for (let next: number | null = from; next !== null && events.length < mostTogether;) {
      const page: LogPage<StoredRecord> = await this.#readPage(next);
      for (const entry of page.entries) {
        const record = readRecord(entry.value);
        const isRestore = "event" in record && record.event.event_type === "storage.restored";
        if (ofBackup && isRestore) return { events, last, isEnd: true };
        if ("event" in record && isNotified(record.event)) events.push(record.event);
        last = entry;
      }
      if (page.next === null) return { events, last, isEnd: true };
      next = page.next;
    }
    return { events, last, isEnd: false };
  }

  #readPage(from: number): Promise<LogPage<StoredRecord>> {
    return this.#context.storage.readLog<StoredRecord>(eventLog, { from, limit: pageSize });
  }

  /** Their ids are past all that there are, also where the clock was wrong when those were made: what is new is not among what was read. */
  #toMade(bundles: readonly Bundle[]): Made[] {
    let id = this.#parts.latestId();
    return bundles.map((bundle) => {
      const { event_type, severity, muted, count } = bundle;
      id = idPast(id, this.#context.ids.next());
      const created_at = bundle.events[0]!.timestamp;
      return {
        bundle,
        notification: { id, event_type, severity, ...tell(bundle), count, created_at, muted },
      };
    });
  }

  async #commit(
    cursor: StoredDocument<CursorDocument> | null,
    place: CursorDocument,
    writes: Write[],
  ): Promise<void> {
    const value = toJsonObject(place);
    const moved: Write = { kind: "put", collection, key, value, expected: cursor?.revision ?? 0 };
    try {
      // With the reserve: that the storage is full must not wait until it is not.
      await this.#context.commitWithReserve(systemCaller, [moved, ...writes]);
    } catch (error) {
      // Another process has told these events.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }
}

function placeOf({ sequence, value }: LogEntry<StoredRecord>): Pick<CursorDocument, "sequence" | "event_id"> {
  return { sequence, event_id: value.id };
}
