/**
 * What the lists of notifications are made of, in memory: of each its id and what is filtered by, and what each operator has read. It
 * follows the feed. A page or a count costs what it looks at, never what is stored.
 */
import type { Context } from "../../context.ts";
import { severities, type Severity } from "../../events.ts";
import { eachDocument } from "../../storage/each-document.ts";
import type { StoredDocument } from "../../storage/storage.ts";
import type { NotificationDocument, ReadDocument, ReaderDocument } from "../documents.ts";

interface Entry {
  id: string;
  severity: Severity;
  muted: boolean;
}

interface Reader {
  /** Oldest first. */
  through: ReaderDocument["through"];
  /** By notification: when it was read by itself. */
  reads: Map<string, string>;
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
  /** Ids of those that are not muted, in order: what counts as unread. */
  #loud: string[] = [];
  readonly #readers = new Map<string, Reader>();

  constructor({ feed }: Pick<Context, "feed">) {
    feed.follow<NotificationDocument>("notifications", ({ key, document }) => {
      if (document) this.#put(document.value);
      else this.#drop(key);
    });
    feed.follow<ReadDocument>("notification_reads", (change) => this.#read(change));
    feed.follow<ReaderDocument>("notification_readers", ({ key, document }) => {
      this.#readerOf(key).through = document ? document.value.through : [];
    });
  }

  /** Reads what is stored. Called before anything moves. */
  async load({ storage }: Pick<Context, "storage">): Promise<void> {
    for await (const { value } of eachDocument<NotificationDocument>(storage, "notifications"))
      this.#put(value);
    for await (const { key, value } of eachDocument<ReaderDocument>(storage, "notification_readers"))
      this.#readerOf(key).through = value.through;
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

  /** Whether there is such a notification. */
  has(id: string): boolean {
    return this.#entries[placeOf(this.#entries, id, ({ id: each }) => each)]?.id === id;
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
      const { id, severity, muted } = this.#entries[at]!;
      if (severities.indexOf(severity) < least) continue;
      if (wanted.unread && (muted || this.readAt(operatorId, id) !== null)) continue;
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

  /** How many an operator has not read, muted ones aside. */
  unread(operatorId: string): number {
    const reader = this.#readers.get(operatorId);
    const through = reader?.through.at(-1)?.id ?? "";
    const from = through === "" ? 0 : placeOf(this.#loud, `${through}\u0000`, (id) => id);
    let count = this.#loud.length - from;
    for (const id of reader?.reads.keys() ?? [])
      if (id > through && this.#loud[placeOf(this.#loud, id, (each) => each)] === id) count -= 1;
    return count;
  }

  #put({ id, severity, muted }: Readonly<NotificationDocument>): void {
    const at = placeOf(this.#entries, id, (entry) => entry.id);
    const isNew = this.#entries[at]?.id !== id;
    this.#entries.splice(at, isNew ? 0 : 1, { id, severity, muted });
    if (isNew && !muted)
      this.#loud.splice(
        placeOf(this.#loud, id, (each) => each),
        0,
        id,
      );
  }

  #drop(id: string): void {
    const at = placeOf(this.#entries, id, (entry) => entry.id);
    if (this.#entries[at]?.id !== id) return;
    this.#entries.splice(at, 1);
    const loudAt = placeOf(this.#loud, id, (each) => each);
    if (this.#loud[loudAt] === id) this.#loud.splice(loudAt, 1);
  }

  #read({ key, document }: { key: string; document: StoredDocument<ReadDocument> | null }): void {
    const [operatorId, id] = key.split(":") as [string, string];
    if (document) this.#readerOf(operatorId).reads.set(id, document.value.read_at);
    else this.#readers.get(operatorId)?.reads.delete(id);
  }

  #readerOf(operatorId: string): Reader {
    const known = this.#readers.get(operatorId) ?? { through: [], reads: new Map<string, string>() };
    this.#readers.set(operatorId, known);
    return known;
  }
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
