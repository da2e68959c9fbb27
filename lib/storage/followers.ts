import type { Database } from "./database.ts";
import type { CommittedChange, CommitListener, StoredDocument } from "./storage.ts";
import type { StoredText } from "./stored-text.ts";
import type { Effect } from "./writes.ts";

/** Those who follow what is committed to one storage. */
export class Followers {
  readonly #listeners = new Set<CommitListener>();
  readonly #untold: (readonly CommittedChange[])[] = [];
  #isTelling = false;

  /** Tells a listener from now on; the function returned ends it. */
  add(listener: CommitListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells of effects that are durable and can be read. What a listener commits is told after what it was told of. */
  tell(effects: readonly Effect[], database: Database): void {
    if (this.#listeners.size === 0) return;
    const changes = effects.flatMap((effect) => toChange(effect, database) ?? []);
    if (changes.length > 0) this.#untold.push(changes);
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      for (let next = this.#untold.shift(); next !== undefined; next = this.#untold.shift())
        for (const listener of this.#listeners) listener(next);
    } finally {
      this.#isTelling = false;
    }
  }
}

/** A document that was put, parsed when somebody asks. */
class Put {
  readonly kind = "put";
  readonly collection: string;
  readonly key: string;
  readonly #text: StoredText;
  readonly #database: Database;

  constructor({ collection, document }: Effect & { kind: "put" }, database: Database) {
    this.collection = collection;
    this.key = document.key;
    this.#text = document;
    this.#database = database;
  }

  get document(): StoredDocument {
    return this.#database.collection(this.collection).documentOf(this.#text);
  }
}

function toChange(effect: Effect, database: Database): CommittedChange | null {
  switch (effect.kind) {
    case "put":
      return new Put(effect, database);
    case "delete":
      return { kind: "delete", collection: effect.collection, key: effect.key };
    case "append":
      return { kind: "append", log: effect.log, entry: effect.entry };
    case "trim":
    case "dropBlob":
    case "keepBlob":
      return null;
  }
}
