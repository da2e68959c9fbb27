import { OrchestratorError } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { compareValues, compareWithBound, TypeEdge, type OrderValue } from "./order.ts";
import { firstIndex, SortedList } from "./sorted-list.ts";
import type { CollectionDefinition, DocumentPage, ListQuery, StoredDocument } from "./storage.ts";
import { StoredText } from "./stored-text.ts";

/** The fields of an index, then the key: unique, and the whole of what a page is ordered by. */
type IndexEntry = readonly OrderValue[];

interface Index {
  paths: string[][];
  /** Null until the first list in this order: what nobody asks for costs nothing, neither at the start nor with a put. */
  entries: SortedList<IndexEntry> | null;
}

interface SortedIndex {
  paths: string[][];
  entries: SortedList<IndexEntry>;
}

/** Documents by their keys, or in any order. */
export type Documents = Map<string, StoredDocument | StoredText> | readonly (StoredDocument | StoredText)[];

const compareEntries = (a: IndexEntry, b: IndexEntry): number => compareWithBound(a, b);
const byKey = "";

/** The documents of one collection in memory, with the orders in which they can be listed. */
export class Collection {
  #documents = new Map<string, StoredDocument | StoredText>();
  readonly #indexes = new Map<string, Index>();
  /** Those that were listed by, which each change has to keep in order. */
  readonly #sortedIndexes: SortedIndex[] = [];

  constructor(definition: CollectionDefinition) {
    this.#addIndex(byKey, []);
    for (const [name, paths] of Object.entries(definition.indexes)) this.#addIndex(name, paths);
  }

  get(key: string): StoredDocument | null {
    const document = this.#documents.get(key);
    return document === undefined ? null : this.#read(document);
  }

  /** The document of a text that was put; where it is still the one that is stored, it stays parsed. */
  documentOf(text: StoredText): StoredDocument {
    return this.#documents.get(text.key) === text ? this.#read(text) : text.parse();
  }

  /** How many documents there are. */
  get size(): number {
    return this.#documents.size;
  }

  /** 0 when there is no such document. */
  revisionOf(key: string): number {
    return this.#documents.get(key)?.revision ?? 0;
  }

  /** All documents as they are now; later changes do not show in the list. */
  all(): (StoredDocument | StoredText)[] {
    return [...this.#documents.values()];
  }

  /** Takes in the documents of an empty collection. A map is taken over. */
  fill(documents: Documents): void {
    if (documents instanceof Map) this.#documents = documents;
    else for (const document of documents) this.#documents.set(document.key, document);
  }

  put(document: StoredText): void {
    const previous = this.#sortedIndexes.length === 0 ? undefined : this.#documents.get(document.key);
    this.#documents.set(document.key, document);
    for (const { paths, entries } of this.#sortedIndexes) {
      if (previous !== undefined) {
        if (this.#staysInPlace(paths, previous)) continue;
        entries.remove(entryOf(paths, previous));
      }
      entries.insert(this.#entryOf(paths, document.key));
    }
  }

  /** Whether a document that was put is where the one before it was, which most are in most orders: then no entry is made. */
  #staysInPlace(paths: string[][], previous: StoredDocument | StoredText): boolean {
    if (paths.length === 0) return true;
    const before = valueOf(previous);
    const { value: after } = this.get(previous.key) as StoredDocument;
    return paths.every((path) => compareValues(fieldAt(before, path), fieldAt(after, path)) === 0);
  }

  delete(key: string): void {
    const document = this.#documents.get(key);
    if (document === undefined) return;
    this.#documents.delete(key);
    for (const { paths, entries } of this.#sortedIndexes) entries.remove(entryOf(paths, document));
  }

  list(query: ListQuery): DocumentPage {
    const { index: name = byKey, order = "asc", limit = 50 } = query;
    const index = this.#indexes.get(name);
    if (index === undefined) throw refused(`There is no index "${name}".`);
    checkLimit(limit);
    const { paths } = index;
    const entries = stretchOf(this.#sorted(index), { paths, query, most: limit + 1 });
    const hasMore = entries.length > limit;
    if (hasMore) entries.pop();
    const items = entries.map((entry) => this.get(entry[paths.length] as string) as StoredDocument);
    if (!hasMore) return { items, next: null };
    return { items, next: writeCursor({ index: name, order, entry: entries[limit - 1] as IndexEntry }) };
  }

  #addIndex(name: string, paths: readonly string[]): void {
    this.#indexes.set(name, { paths: paths.map((path) => path.split(".")), entries: null });
  }

  /** One sort of all entries, much cheaper than one insert each. */
  #sorted(index: Index): SortedList<IndexEntry> {
    if (index.entries !== null) return index.entries;
    const { paths } = index;
    const entries = new SortedList(compareEntries);
    entries.fill([...this.#documents.keys()].map((key) => this.#entryOf(paths, key)));
    this.#sortedIndexes.push({ paths, entries });
    return (index.entries = entries);
  }

  /** The entry of a document, which stays parsed when that took parsing it. */
  #entryOf(paths: string[][], key: string): IndexEntry {
    return paths.length === 0 ? [key] : entryOf(paths, this.get(key) as StoredDocument);
  }

  /** Parses a document when it is first asked for. */
  #read(document: StoredDocument | StoredText): StoredDocument {
    if (!(document instanceof StoredText)) return document;
    const read = document.parse();
    this.#documents.set(read.key, read);
    return read;
  }
}

/** @throws {OrchestratorError} `VALIDATION_FAILED` when the limit is not a whole number from 1 to 1000. */
export function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw refused("A limit must be 1 to 1000.");
}

/** Reads a field of a value by its path; `undefined` when it is not there. */
export function fieldAt(value: Readonly<JsonObject>, path: readonly string[]): Json | undefined {
  let field: Json | undefined = value;
  for (const name of path) {
    if (typeof field !== "object" || field === null || !Object.hasOwn(field, name)) return undefined;
    field = (field as JsonObject)[name];
  }
  return field;
}

function entryOf(paths: string[][], document: StoredDocument | StoredText): IndexEntry {
  if (paths.length === 0) return [document.key];
  const value = valueOf(document);
  const entry: OrderValue[] = paths.map((path) => fieldAt(value, path));
  entry.push(document.key);
  return entry;
}

function valueOf(document: StoredDocument | StoredText): Readonly<JsonObject> {
  return (document instanceof StoredText ? document.parse() : document).value;
}

/** What a query finds in an index, from where it begins, at most so many. */
function stretchOf(
  entries: SortedList<IndexEntry>,
  { paths, query, most }: { paths: string[][]; query: ListQuery; most: number },
): IndexEntry[] {
  const { lower, upper } = boundsOf(paths, query);
  const cursor = query.after === undefined ? undefined : readCursor(query.after, query);
  if (cursor !== undefined && cursor.length !== paths.length + 1) {
    throw new OrchestratorError("CURSOR_INVALID");
  }
  const isPast = (entry: IndexEntry): boolean => {
    const order = compareWithBound(entry, upper.values);
    return upper.inclusive ? order > 0 : order >= 0;
  };
  const isBefore = (entry: IndexEntry): boolean => compareWithBound(entry, lower) < 0;
  if (query.order === "desc") {
    const isBeyond = (entry: IndexEntry): boolean =>
      isPast(entry) || (cursor !== undefined && compareWithBound(entry, cursor) >= 0);
    return upTo(entries.downwards(isBeyond, most), isBefore);
  }
  const isReached = (entry: IndexEntry): boolean =>
    !isBefore(entry) && (cursor === undefined || compareWithBound(entry, cursor) > 0);
  return upTo(entries.upwards(isReached, most), isPast);
}

/** Cuts a list off before the first entry that is over. */
function upTo(entries: IndexEntry[], isOver: (entry: IndexEntry) => boolean): IndexEntry[] {
  const last = entries.at(-1);
  if (last !== undefined && isOver(last)) entries.length = firstIndex(entries, isOver);
  return entries;
}

interface Bounds {
  lower: IndexEntry;
  upper: { values: IndexEntry; inclusive: boolean };
}

function boundsOf(paths: string[][], { equals = [], from, to }: ListQuery): Bounds {
  const ranged = from !== undefined || to !== undefined;
  if (equals.length + (ranged ? 1 : 0) > paths.length + 1) {
    throw refused("The query names more fields than the index has.");
  }
  if (!ranged) return { lower: equals, upper: { values: equals, inclusive: true } };
  const first = from ?? TypeEdge.before(to as Json);
  const end = to ?? TypeEdge.after(from as Json);
  return { lower: [...equals, first], upper: { values: [...equals, end], inclusive: false } };
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
