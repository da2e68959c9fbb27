/**
 * What the lists of notifications are made of, in memory: of each its id and what is filtered by, and what each operator has read. It
 * follows the feed. A page or a count costs what it looks at, never what is stored.
 */
import type { Context } from "../../context.ts";
import { toTypeFilter } from "../../event-pattern.ts";
import { severities, type EventType, type Severity } from "../../events.ts";
import { eachDocument } from "../../storage/each-document.ts";
import type { StoredDocument } from "../../storage/storage.ts";
import type { NotificationDocument, ReadDocument, ReaderDocument } from "../documents.ts";

interface Entry {
  id: string;
  kind: Kind;
  muted: boolean;
}

/** What notifications are muted by. */
interface Kind {
  event_type: EventType;
  severity: Severity;
}

interface Reader {
  /** Oldest first. */
  through: ReaderDocument["through"];
  /** By notification: when it was read by itself. */
  reads: Map<string, string>;
  isMuted: (kind: Kind) => boolean;
}

/** What is wanted of the notifications. */
export interface Wanted {
  unread: boolean;
  /** The least severity. */
  severity: Severity;
}

export class InboxIndex {
  /** In the order of their ids. */
  #entries: Entry[] = [];
  /** Ids of those that no window muted, in order, by their kind: what counts as unread. */
  readonly #loud = new Map<string, { kind: Kind; ids: string[] }>();
  readonly #readers = new Map<string, Reader>();

  constructor({ feed }: Pick<Context, "feed">) {
    feed.follow<NotificationDocument>("notifications", ({ key, document }) => {
      if (document) this.#put(document.value);
      else this.#drop(key);
    });
    feed.follow<ReadDocument>("notification_reads", (change) => this.#read(change));
    feed.follow<ReaderDocument>("notification_readers", ({ key, document }) => {
      this.#take(key, document?.value ?? null);
    });
  }

  /** Reads what is stored. Called before anything moves. */
  async load({ storage }: Pick<Context, "storage">): Promise<void> {
    for await (const { value } of eachDocument<NotificationDocument>(storage, "notifications"))
      this.#put(value);
    for await (const { key, value } of eachDocument<ReaderDocument>(storage, "notification_readers"))
      this.#take(key, value);
    for await (const document of eachDocument<ReadDocument>(storage, "notification_reads"))
      this.#read({ key: document.key, document });
  }

  /** How many there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** Id of the newest; null where there is none. */
  get newest(): string | null {
    return this.#entries.at(-1)?.id ?? null;
  }

  /** The last id of all, be it of a notification or of what somebody has read up to; null where there is none. */
  get latest(): string | null {
    let latest = this.newest;
    for (const { through } of this.#readers.values())
      for (const { id } of through) if (latest === null || id > latest) latest = id;
    return latest;
  }

  /** Whether there is such a notification. */
  has(id: string): boolean {
    return this.#entryOf(id) !== null;
  }

  /** The ids before one (all, without one) that are wanted, newest first. */
  ids(
    operatorId: string,
    wanted: Wanted,
    { before, most }: { before: string | null; most: number },
  ): string[] {
    const least = severities.indexOf(wanted.severity);
    const found: string[] = [];
    let at = before === null ? this.#entries.length : placeOf(this.#entries, before, ({ id }) => id);
    for (at -= 1; at >= 0 && found.length < most; at -= 1) {
      const { id, kind, muted } = this.#entries[at]!;
      if (severities.indexOf(kind.severity) < least) continue;
      if (wanted.unread && (muted || this.isMuted(operatorId, kind) || this.readAt(operatorId, id) !== null))
        continue;
      found.push(id);
    }
    return found;
  }

  /** When an operator read a notification; null where that is to come. */
  readAt(operatorId: string, id: string): string | null {
    const reader = this.#readers.get(operatorId);
    if (!reader) return null;
    const own = reader.reads.get(id);
    const all = reader.through.find((mark) => mark.id >= id)?.read_at;
    return own ?? all ?? null;
  }

  /** Whether an operator has muted such notifications. */
  isMuted(operatorId: string, kind: Kind): boolean {
    return this.#readers.get(operatorId)?.isMuted(kind) ?? false;
  }

  /** What an operator has read one by one, and when, by notification. */
  readsOf(operatorId: string): ReadonlyMap<string, string> {
    return this.#readers.get(operatorId)?.reads ?? new Map<string, string>();
  }

  /** Everybody who has read or muted something. */
  get readers(): Iterable<string> {
    return this.#readers.keys();
  }

  /** How many an operator has not read, muted ones aside. */
  unread(operatorId: string): number {
    const reader = this.#readers.get(operatorId);
    const through = reader?.through.at(-1)?.id ?? "";
    let count = 0;
    for (const { kind, ids } of this.#loud.values())
      if (!reader?.isMuted(kind)) count += ids.length - placeAfter(ids, through);
    for (const id of reader?.reads.keys() ?? []) {
      const entry = id > through ? this.#entryOf(id) : null;
      if (entry && !entry.muted && !reader!.isMuted(entry.kind)) count -= 1;
    }
    return count;
  }

  #put({ id, event_type, severity, muted }: Readonly<NotificationDocument>): void {
    // Documents of notifications never change.
    if (this.has(id)) return;
    const kind = { event_type, severity };
    this.#entries.splice(
      placeOf(this.#entries, id, (entry) => entry.id),
      0,
      { id, kind, muted },
    );
    if (muted) return;
    const key = `${event_type} ${severity}`;
    const loud = this.#loud.get(key) ?? { kind, ids: [] };
    this.#loud.set(key, loud);
    loud.ids.splice(placeAfter(loud.ids, id), 0, id);
  }

  #drop(id: string): void {
    const entry = this.#entryOf(id);
    if (!entry) return;
    this.#entries.splice(
      placeOf(this.#entries, id, (each) => each.id),
      1,
    );
    const ids = this.#loud.get(`${entry.kind.event_type} ${entry.kind.severity}`)?.ids;
    if (!entry.muted) ids?.splice(placeAfter(ids, id) - 1, 1);
  }

  #entryOf(id: string): Entry | null {
    const entry = this.#entries[placeOf(this.#entries, id, (each) => each.id)];
    return entry?.id === id ? entry : null;
  }

  #take(operatorId: string, document: Readonly<ReaderDocument> | null): void {
    const reader = this.#readerOf(operatorId);
    reader.through = document?.through ?? [];
    reader.isMuted = toMuted(document?.preferences);
  }

  #read({ key, document }: { key: string; document: StoredDocument<ReadDocument> | null }): void {
    const [operatorId, id] = key.split(":") as [string, string];
    if (document) this.#readerOf(operatorId).reads.set(id, document.value.read_at);
    else this.#readers.get(operatorId)?.reads.delete(id);
  }

  #readerOf(operatorId: string): Reader {
    const known = this.#readers.get(operatorId) ?? {
      through: [],
      reads: new Map<string, string>(),
      isMuted: toMuted(),
    };
    this.#readers.set(operatorId, known);
    return known;
  }
}

function toMuted(preferences?: Readonly<ReaderDocument>["preferences"]): Reader["isMuted"] {
  if (!preferences) return () => false;
  const isMutedType = toTypeFilter(preferences.muted_events);
  const least = severities.indexOf(preferences.min_severity);
  return ({ event_type, severity }) => severities.indexOf(severity) < least || isMutedType(event_type);
}

/** Where the first id is that is after another, in a list in order. */
function placeAfter(ids: readonly string[], id: string): number {
  return id === "" ? 0 : placeOf(ids, `${id}\u0000`, (each) => each);
}

/** Where the first item is whose key is not before one, in a list in the order of the keys. */
function placeOf<Item>(items: readonly Item[], key: string, keyOf: (item: Item) => string): number {
  let [from, to] = [0, items.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (keyOf(items[middle]!) < key) from = middle + 1;
    else to = middle;
  }
  return from;
}
