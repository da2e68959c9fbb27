/** What a backup of a data folder is made of: the folder as it is at one moment, read while commits go on. */
import { blobFieldsOf, missingBlobs, toMissing } from "../named-blobs.ts";
import type { LogEntry, StorageSchema } from "../storage.ts";
import type { ArchivePart } from "./archive.ts";
import type { BlobFiles } from "./blobs.ts";
import { ContentCheck } from "./content-check.ts";
import { corrupt, takeEach } from "./errors.ts";
import { fileNameOf } from "./file-name.ts";
import type { OpenFolder } from "./folder.ts";
import type { LogFile } from "./log-file.ts";
import { encodeEntry, segmentNameOf } from "./log-segment.ts";
import type { FileSeries } from "./series/file-series.ts";
import type { HeldFile } from "./series/held-file.ts";
import { folderFormat, snapshotChunks } from "./snapshot.ts";

const partBytes = 1_024 * 1_024;
/**
 * Reads an open folder as the files of one that holds the same: documents and logs of exactly the moment when the first
 * part is asked for, and of each blob and of the time series at least what was in it then. What is trimmed or deleted
 * meanwhile is kept until the end of the reading, so end it, or `return` from it.
 */
export async function* folderParts(
  { database, logs, blobs, series }: OpenFolder & { series: FileSeries },
  schema: StorageSchema,
): AsyncGenerator<ArchivePart> {
  const releases = [...[...logs.values()].map((log) => log.hold()), blobs.hold()];
  try {
    const view = database.view();
    const seriesFiles = await series.hold();
    releases.push(...seriesFiles.map((file) => () => file.release()));
    // A new folder has no journal yet: its first record is 1.
    const fields = blobFieldsOf(schema);
    const missing = missingBlobs(view.collections, fields, await blobs.known());
    if (missing.length > 0) throw corrupt(`blobs/${missing[0]}.blob`, 0, toMissing(missing));
    const versions = { format: folderFormat, schema_version: schema.version, sequence: 0 };
    const snapshot = { ...versions, blobs: fields, ...view };
    let offset = 0;
    for (const bytes of snapshotChunks(snapshot)) {
      yield { file: "db.json", offset, bytes };
      offset += bytes.length;
    }
    for (const [name, { base, head }] of Object.entries(view.logs)) {
      const log = logs.get(name);
      if (log !== undefined) yield* logParts(log, `logs/${fileNameOf(name)}`, [base.sequence, head.sequence]);
    }
    for (const name of await blobs.heldNames()) yield* blobParts(blobs, name);
    for (const name of await blobs.lostNames())
      yield { file: `blobs/${name}`, offset: 0, bytes: new Uint8Array(0) };
    for (const file of seriesFiles) yield* seriesParts(file);
  } finally {
    await takeEach(releases);
  }
}

/** Each part is a whole segment. */
async function* logParts(
  log: LogFile,
  folder: string,
  [base, head]: [number, number],
): AsyncGenerator<ArchivePart> {
  let records: Buffer[] = [];
  let bytes = 0;
  for await (const entry of entriesOf(log, folder, [base, head])) {
    const record = encodeEntry(entry);
    records.push(record);
    bytes += record.length;
    if (bytes < partBytes && entry.sequence < head) continue;
    const first = entry.sequence - records.length + 1;
    yield { file: `${folder}/${segmentNameOf(first)}`, offset: 0, bytes: Buffer.concat(records) };
    records = [];
    bytes = 0;
  }
}

async function* entriesOf(
  log: LogFile,
  folder: string,
  [base, head]: [number, number],
): AsyncGenerator<LogEntry> {
  for (let next = base + 1; next <= head;) {
    const block = await log.blockAt(next);
    const first = block[0]?.sequence ?? Infinity;
    if (first > next) throw corrupt(folder, 0, `log entry ${next} is missing`);
    for (const entry of block.slice(next - first)) {
      if (entry.sequence > head) return;
      yield entry;
      next = entry.sequence + 1;
    }
  }
}

async function* blobParts(blobs: BlobFiles, name: string): AsyncGenerator<ArchivePart> {
  const content = new ContentCheck(name);
  for (let offset = 0; ;) {
    const bytes = await blobs.readHeld(name, { from: offset, to: offset + partBytes });
    // One that came and went since the hold began was not there at its beginning.
    if (bytes === null) return;
    if (bytes.length > 0 || offset === 0) yield { file: `blobs/${name}`, offset, bytes };
    offset += bytes.length;
    content.take(bytes);
    if (bytes.length === partBytes) continue;
    if (!content.isIntact()) throw corrupt(`blobs/${name}`, 0, "a blob does not match its content hash");
    return;
  }
}

async function* seriesParts(file: HeldFile): AsyncGenerator<ArchivePart> {
  for (let offset = 0; offset < file.size;) {
    const bytes = await file.read(offset, Math.min(partBytes, file.size - offset));
    // Damage to time series costs nothing else: one that somebody cut off is copied as far as it goes.
    if (bytes.length === 0) return;
    yield { file: `series/${file.name}`, offset, bytes };
    offset += bytes.length;
  }
}
