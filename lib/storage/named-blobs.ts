import type { Documents } from "./collection.ts";
import type { StorageSchema } from "./storage.ts";
import { StoredText } from "./stored-text.ts";

/** By collection: which fields, as dotted paths, name a blob, and of which kind. */
export type BlobFields = Record<string, Readonly<Record<string, string>>>;

/** The fields of a schema that name blobs. */
export function blobFieldsOf({ collections }: StorageSchema): BlobFields {
  const fields: BlobFields = {};
  for (const [name, { blobs }] of Object.entries(collections)) if (blobs !== undefined) fields[name] = blobs;
  return fields;
}

/**
 * The ids of the blobs that documents name and that are not there, each once. Documents that nobody has read stay texts: only
 * one that names a missing blob is parsed.
 */
export function missingBlobs(
  collections: Readonly<Record<string, Documents>>,
  fields: BlobFields,
  isThere: (id: string) => boolean,
): string[] {
  const missing = new Set<string>();
  for (const [collection, kinds] of Object.entries(fields)) {
    for (const document of collections[collection]?.values() ?? []) {
      for (const id of namesIn(document, kinds, isThere)) missing.add(id);
    }
  }
  return [...missing].sort();
}

/** The ids of missing blobs that one document names. */
function namesIn(
  document: Document,
  kinds: Readonly<Record<string, string>>,
  isThere: (id: string) => boolean,
): string[] {
  const ids: string[] = [];
  for (const [field, kind] of Object.entries(kinds)) {
    for (const hash of hashesIn(document, field)) {
      const id = `${kind}-${hash}`;
      if (!isThere(id) && fieldOf(valueOf(document), field) === hash) ids.push(id);
    }
  }
  return ids;
}

/** That many missing blobs are named, the others counted. */
const namedBlobs = 10;

/** Says which blobs are missing. */
export function toMissing(ids: readonly string[]): string {
  const more = ids.length > namedBlobs ? ` and ${ids.length - namedBlobs} more` : "";
  return `blobs that documents name are missing: ${ids.slice(0, namedBlobs).join(", ")}${more}`;
}

type Document = ReturnType<Documents["values"]> extends Iterable<infer T> ? T : never;

const hashPattern = /^[0-9a-f]{64}$/;
const hashLength = 64;

/** What may be the field's value: in a text also what stands in a member of a member. */
function hashesIn(document: Document, field: string): string[] {
  if (!(document instanceof StoredText)) {
    const value = fieldOf(document.value, field);
    return typeof value === "string" && hashPattern.test(value) ? [value] : [];
  }
  const text = document.valueText;
  const start = `"${field.slice(field.lastIndexOf(".") + 1)}":"`;
  const hashes: string[] = [];
  for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + 1)) {
    const hash = text.slice(at + start.length, at + start.length + hashLength);
    if (hashPattern.test(hash)) hashes.push(hash);
  }
  return hashes;
}

/** The value at a dotted path; undefined where there is none. */
function fieldOf(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((inside, name) => {
    const isObject = typeof inside === "object" && inside !== null;
    return isObject && Object.hasOwn(inside, name) ? (inside as Record<string, unknown>)[name] : undefined;
  }, value);
}

function valueOf(document: Document): Readonly<Record<string, unknown>> {
  return document instanceof StoredText ? document.parse().value : document.value;
}
