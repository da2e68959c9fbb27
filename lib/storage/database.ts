import { OrchestratorError } from "../errors.ts";
import { Collection, type Documents } from "./collection.ts";
import { logStart, type Ground } from "./staging.ts";
import type { LogPlace, StorageSchema } from "./storage.ts";
import type { Effect } from "./writes.ts";

/** Where a log begins and ends; its entries are kept elsewhere. */
export interface LogState {
  head: LogPlace;
  /** The entry before the oldest that is kept. */
  base: LogPlace;
}

/** All documents and the places of all logs at one moment. */
export interface DatabaseView {
  collections: Record<string, Documents>;
  logs: Record<string, LogState>;
}

/** The documents in memory and the places of the logs: what every commit is decided on. */
export class Database implements Ground {
  readonly #schema: StorageSchema;
  readonly #collections = new Map<string, Collection>();
  readonly #logs = new Map<string, LogState>();

  /** @param view - What was stored before. Collections and logs that the schema no longer names are kept, out of reach. */
  constructor(schema: StorageSchema, view: DatabaseView) {
    this.#schema = schema;
    for (const name of Object.keys(schema.collections)) this.#collectionToChange(name);
    for (const [name, documents] of Object.entries(view.collections)) {
      this.#collectionToChange(name).fill(documents);
    }
    for (const [name, definition] of Object.entries(schema.logs)) {
      this.#logs.set(name, { head: logStart(definition.chained), base: logStart(definition.chained) });
    }
    for (const [name, state] of Object.entries(view.logs)) this.#logs.set(name, { ...state });
  }

  /** @throws {OrchestratorError} `VALIDATION_FAILED` when the schema names no such collection. */
  collection(name: string): Collection {
    const collection = this.#collections.get(name);
    if (collection !== undefined && Object.hasOwn(this.#schema.collections, name)) return collection;
    throw new OrchestratorError("VALIDATION_FAILED", { message: `There is no collection "${name}".` });
  }

  /** @throws {OrchestratorError} `VALIDATION_FAILED` when the schema names no such log. */
  log(name: string): LogState {
    const log = this.#logs.get(name);
    if (log !== undefined && Object.hasOwn(this.#schema.logs, name)) return log;
    throw new OrchestratorError("VALIDATION_FAILED", { message: `There is no log "${name}".` });
  }

  revisionOf(collection: string, key: string): number {
    return this.#collections.get(collection)?.revisionOf(key) ?? 0;
  }

  headOf(log: string): LogPlace {
    return this.#logToChange(log).head;
  }

  baseOf(log: string): LogPlace {
    return this.#logToChange(log).base;
  }

  apply(effect: Effect): void {
    if (effect.kind === "put") this.#collectionToChange(effect.collection).put(effect.document);
    else if (effect.kind === "delete") this.#collectionToChange(effect.collection).delete(effect.key);
    else if (effect.kind === "append") {
      const { sequence, hash } = effect.entry;
      this.#logToChange(effect.log).head = { sequence, hash };
    } else if (effect.kind === "trim") this.#logToChange(effect.log).base = effect.base;
  }

  /** Everything as it is now; later changes do not show in it. */
  view(): DatabaseView {
    const collections = [...this.#collections].map(([name, collection]) => [name, collection.all()] as const);
    return { collections: Object.fromEntries(collections), logs: Object.fromEntries(this.logs()) };
  }

  /** Where each log is now. */
  logs(): [name: string, state: LogState][] {
    return [...this.#logs].map(([name, state]) => [name, { ...state }]);
  }

  #collectionToChange(name: string): Collection {
    let collection = this.#collections.get(name);
    if (collection === undefined) {
      const definition = Object.hasOwn(this.#schema.collections, name)
        ? this.#schema.collections[name]
        : undefined;
      this.#collections.set(name, (collection = new Collection(definition ?? { indexes: {} })));
    }
    return collection;
  }

  #logToChange(name: string): LogState {
    let log = this.#logs.get(name);
    if (log === undefined) {
      const chained = Object.hasOwn(this.#schema.logs, name) && this.#schema.logs[name]?.chained === true;
      this.#logs.set(name, (log = { head: logStart(chained), base: logStart(chained) }));
    }
    return log;
  }
}
