/** A snapshot as JSON of one document a line, so that it can be written in slices and read without parsing every document. */
import { z } from "zod";
import type { DatabaseView } from "../database.ts";
import type { BlobFields } from "../named-blobs.ts";
import type { StoredDocument } from "../storage.ts";
import { readStoredText, StoredText } from "../stored-text.ts";
import { decodeText } from "./decode-text.ts";

const sliceChars = 64 * 1_024;
/** The documents of a block keep its text alive until each was asked for or replaced. */
const blockBytes = 4 * 1_024 * 1_024;
const lineFeed = 0x0a;
const collectionsStart = `,"collections":{`;
const keyStart = `{"key":"`;

/** What `db.json` holds. */
export interface Snapshot extends DatabaseView {
  /** Version of the form of the data folder. */
  format: number;
  schema_version: number;
  /** The last journal record that is in it. */
  sequence: number;
  /** In a backup: which fields name blobs, so that it can be checked by itself. */
  blobs?: BlobFields;
}

const place = z.object({ sequence: z.int().min(0), hash: z.string().nullable() });
const headSchema = z.looseObject({
  format: z.int(),
  schema_version: z.int().min(0),
  sequence: z.int().min(0),
  logs: z.record(z.string(), z.object({ head: place, base: place })),
  blobs: z.record(z.string(), z.record(z.string(), z.string())).optional(),
});

/** The snapshot's JSON without its last brace, in texts of about 64 KiB. */
export function* snapshotTexts(snapshot: Snapshot): Generator<string> {
  const { collections, ...rest } = snapshot;
  let slice = `${JSON.stringify(rest).slice(0, -1)}${collectionsStart}`;
  let separator = "";
  for (const [name, documents] of Object.entries(collections)) {
    slice += `${separator}\n${JSON.stringify(name)}:[`;
    let feed = "\n";
    for (const document of documents.values()) {
      slice += feed + textOf(document);
      feed = ",\n";
      if (slice.length < sliceChars) continue;
      yield slice;
      slice = "";
    }
    slice += "]";
    separator = ",";
  }
  yield `${slice}}`;
}

/** Reads what {@link snapshotTexts} wrote. Documents stay texts. Throws where a line is of another form. */
export function readSnapshotLines(content: Buffer): Snapshot {
  let snapshot: Snapshot | null = null;
  let documents: Map<string, StoredDocument | StoredText> | null = null;
  for (const block of blocksOf(content)) {
    for (let at = 0; at < block.length;) {
      const feed = block.indexOf("\n", at);
      const end = feed === -1 ? block.length : feed;
      if (snapshot === null) snapshot = readHead(block.slice(at, end));
      else if (block.startsWith('"', at)) {
        documents = new Map();
        const name = block.slice(at, block.lastIndexOf(":[", end));
        snapshot.collections[JSON.parse(name) as string] = documents;
      } else {
        if (documents === null) throw new SyntaxError("A document is in no collection.");
        const document = readDocument(block, at, end);
        documents.set(document.key, document);
      }
      at = end + 1;
    }
  }
  if (snapshot === null) throw new SyntaxError("The snapshot is empty.");
  return snapshot;
}

function textOf(document: StoredDocument | StoredText): string {
  if (!(document instanceof StoredText)) return JSON.stringify(document);
  const { key, revision, valueText } = document;
  return `{"key":${JSON.stringify(key)},"revision":${revision},"value":${valueText}}`;
}

/** The content in texts of whole lines: a text can't be of any length. */
function* blocksOf(content: Buffer): Generator<string> {
  for (let at = 0; at < content.length;) {
    let end =
      at + blockBytes < content.length ? content.lastIndexOf(lineFeed, at + blockBytes) + 1 : content.length;
    if (end <= at) end = content.indexOf(lineFeed, at) + 1;
    if (end <= at) end = content.length;
    yield decodeText(content, at, end);
    at = end;
  }
}

function readHead(line: string): Snapshot {
  const end = line.lastIndexOf(collectionsStart);
  const head = headSchema.parse(JSON.parse(`${line.slice(0, end)}}`));
  return { ...(head as Omit<Snapshot, "collections">), collections: {} };
}

function readDocument(block: string, start: number, lineEnd: number): StoredText {
  // After a document comes "," or, after the last of a collection, "]," or "]}".
  const end = lineEnd - (block.startsWith("},", lineEnd - 2) ? 1 : 2);
  const read = readStoredText(block, { start: keyStart, at: start, end });
  if (read !== null) return read;
  const { key, revision, value } = JSON.parse(block.slice(start, end)) as StoredDocument;
  return new StoredText(key, revision, JSON.stringify(value));
}
