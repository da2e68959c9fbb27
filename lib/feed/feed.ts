/**
 * What is committed, for whoever must hear of it: the one way in which something that happens in one part of the orchestrator, or in another
 * process on the same storage, becomes known in another part.
 *
 *   storage ──every commit, in order──▶ Feed ──┬── followers of a collection: the document as it is now, or that it is gone
 *                                              └── listeners: each event with its place in the log `events`
 *
 * All hear of one commit before anybody hears of the next, and before the call that made it goes on.
 */
import type { OrchestratorEvent } from "../events.ts";
import type { Ids } from "../ids.ts";
import type { Logger } from "../logger.ts";
import type { CommittedChange, LogEntry, Storage, StoredDocument } from "../storage/storage.ts";
import { eventLog, readRecord, type EventRecord, type StoredRecord } from "./event-record.ts";

/** A document after a commit. */
export interface DocumentChange<T> {
  key: string;
  /** Null where it is gone. */
  readonly document: StoredDocument<T> | null;
}

type Follower = (change: DocumentChange<unknown>) => void;

/** An event that is on disk, and its place among all. */
export type PlacedRecord = EventRecord & { sequence: number };

export class Feed {
  readonly #storage: Storage;
  readonly #logger: Logger;
  readonly #ids: Ids;
  readonly #followers = new Map<string, Follower[]>();
  readonly #listeners = new Set<(record: PlacedRecord) => void>();
  /** What the listeners of the embedder are to be told once the start is over; null from then on. */
  #held: (() => void)[] | null = [];

  constructor({ storage, logger, ids }: { storage: Storage; logger: Logger; ids: Ids }) {
    this.#storage = storage;
    this.#logger = logger;
    this.#ids = ids;
  }

  /** Tells from now on, and has ids be past those of all events. Called once, when the storage is open; the function returned ends it. */
  async start(): Promise<() => void> {
    const end = this.#storage.follow((changes) => {
      for (const change of changes) this.#tell(change);
    });
    const { entries } = await this.#storage.readLog<StoredRecord>(eventLog, { reverse: true, limit: 1 });
    for (const { value } of entries) this.#ids.see(value.id);
    return end;
  }

  /** Has a follower hear of every change of a collection, for good. Must not throw, nor wait. */
  follow<T>(collection: string, follower: (change: DocumentChange<T>) => void): void {
    const followers = this.#followers.get(collection) ?? [];
    followers.push(follower as Follower);
    this.#followers.set(collection, followers);
  }

  /** Has a listener hear of every event; the function returned ends it. */
  listen(listener: (event: OrchestratorEvent) => void): () => void {
    return this.listenToRecords((record) => {
      if ("event" in record) return listener(record.event);
    });
  }

  /**
   * The same for a listener of the embedder. What happens during the start it hears when that is over: it may ask for more of what it
   * hears, and until then no verb answers.
   */
  listenOnceBegun(listener: (event: OrchestratorEvent) => void): () => void {
    let hears = true;
    const end = this.listen((event) => {
      if (this.#held === null) return listener(event);
      this.#held.push(() => hears && this.#protect(() => listener(event), { event_type: event.event_type }));
    });
    return () => {
      hears = false;
      end();
    };
  }

  /** Whether the start is over: until then what verbs tell and change is not all there. */
  get isBegun(): boolean {
    return this.#held === null;
  }

  /** Ends the start: tells the embedder's listeners what was kept for them. */
  begin(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const tell of held) tell();
  }

  /** Has a listener hear of every entry of the log of events; the function returned ends it. */
  listenToRecords(listener: (record: PlacedRecord) => void): () => void {
    // Each time a listener of its own: the same function may listen twice.
    const own = (record: PlacedRecord): void => listener(record);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #tell(change: CommittedChange): void {
    if (change.kind === "append") {
      if (change.log === eventLog) this.#tellListeners(change.entry as LogEntry<StoredRecord>);
      return;
    }
    const followers = this.#followers.get(change.collection);
    if (followers === undefined) return;
    const told = change.kind === "put" ? change : { key: change.key, document: null };
    for (const follower of followers) this.#protect(() => follower(told), { collection: change.collection });
  }

  #tellListeners(entry: LogEntry<StoredRecord>): void {
    const record = { ...readRecord(entry.value), sequence: entry.sequence };
    this.#ids.see(record.id);
    for (const listener of this.#listeners)
      this.#protect(() => listener(record), { sequence: entry.sequence });
  }

  /** A listener of an embedder that fails, at once or later, must not keep others from hearing, nor end the process. */
  #protect(tell: () => unknown, where: Record<string, unknown>): void {
    const fail = (error: unknown): void => {
      this.#logger.error("A listener failed.", { error, ...where });
    };
    try {
      const told = tell();
      // The compiler lets a function that gives a promise stand for one that gives nothing.
      if (told instanceof Promise) told.catch(fail);
    } catch (error) {
      fail(error);
    }
  }
}
