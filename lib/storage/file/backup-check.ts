import { chainHash } from "../hash-chain.ts";
import { missingBlobs } from "../named-blobs.ts";
import type { LogPlace } from "../storage.ts";
import { damaged, type ArchivePart } from "./archive.ts";
import { ContentCheck } from "./content-check.ts";
import { fileNameOf } from "./file-name.ts";
import { decodeEntry } from "./log-segment.ts";
import { decodeRecord } from "./record.ts";
import { FrameCheck } from "./series/frame-check.ts";
import type { Snapshot } from "./snapshot-text.ts";
import { parseSnapshot } from "./snapshot.ts";

/** What a backup holds. */
export interface BackupContent {
  /** Files of the data folder. */
  files: number;
  /** Bytes of those files together. */
  bytes: number;
  documents: number;
  /** Log entries, those of the audit log among them, each in its place in its chain. */
  log_entries: number;
  /** Parts of time series that match their checksums: samples of one agent each, or what was added to many in a second. */
  series_parts: number;
  /** Places where time series are damaged, as they were when the backup was made; they are left out when they are read. */
  series_damages: number;
}

/** A log while its segments go by. */
interface LogProgress {
  head: LogPlace;
  /** The last entry that was seen. */
  place: LogPlace;
}

const snapshotFile = "db.json";

/**
 * Checks what a backup holds while its parts go by: the snapshot, every log entry from the first to the head, the blobs
 * that are named after their content, and the time series, whose damages are counted: they are no reason to do without
 * the rest.
 */
export class BackupCheck {
  readonly #summary = { files: 0, bytes: 0, documents: 0, log_entries: 0 };
  readonly #frames = new FrameCheck();
  readonly #seen = new Set<string>();
  /** By the name of their folder. */
  readonly #logs = new Map<string, LogProgress>();
  #file = "";
  #size = 0;
  /** What was not read yet of a file that is read as a whole or by records. */
  #rest: Buffer = Buffer.alloc(0);
  #parts: Uint8Array[] = [];
  #content = new ContentCheck("");
  #snapshot: Snapshot | null = null;

  /** @throws {OrchestratorError} `STORAGE_CORRUPT` with the file that does not fit. */
  take({ file, offset, bytes }: ArchivePart): void {
    if (file !== this.#file) this.#begin(file);
    if (offset !== this.#size) throw damaged(file, offset, "lacks a part");
    this.#size += bytes.length;
    this.#summary.bytes += bytes.length;
    if (file === snapshotFile) this.#parts.push(bytes);
    else if (file.startsWith("logs/")) this.#readEntries(bytes);
    else if (file.startsWith("series/")) this.#frames.take(bytes);
    else this.#content.take(bytes);
  }

  /** @throws {OrchestratorError} `STORAGE_CORRUPT` when something is missing. */
  finish(): BackupContent {
    this.#end();
    if (this.#snapshot === null) throw damaged(snapshotFile, 0, "is missing");
    for (const [folder, { head, place }] of this.#logs) {
      if (place.sequence !== head.sequence || place.hash !== head.hash) {
        throw damaged(`logs/${folder}`, 0, `lacks the entry ${place.sequence + 1}`);
      }
    }
    const isThere = (id: string): boolean =>
      [".blob", ".blob.lost"].some((ending) => this.#seen.has(`blobs/${fileNameOf(id)}${ending}`));
    const { collections, blobs = {} } = this.#snapshot;
    const [missing] = missingBlobs(collections, blobs, isThere);
    if (missing !== undefined) throw damaged(`blobs/${missing}.blob`, 0, "is missing");
    const { frames, damages } = this.#frames;
    return { ...this.#summary, series_parts: frames, series_damages: damages };
  }

  #begin(file: string): void {
    this.#end();
    if (this.#seen.has(file)) throw damaged(file, 0, "is there twice");
    this.#seen.add(file);
    this.#summary.files++;
    this.#file = file;
    this.#size = 0;
    this.#content = new ContentCheck(file);
  }

  #end(): void {
    if (this.#rest.length > 0) throw damaged(this.#file, this.#size, "ends within a log entry");
    this.#frames.end();
    if (this.#file === snapshotFile) this.#readSnapshot();
    if (!this.#content.isIntact()) throw damaged(this.#file, 0, "does not match its content hash");
  }

  #readSnapshot(): void {
    const snapshot = parseSnapshot(Buffer.concat(this.#parts), snapshotFile);
    this.#parts = [];
    this.#snapshot = snapshot;
    for (const documents of Object.values(snapshot.collections)) {
      this.#summary.documents += [...documents.values()].length;
    }
    for (const [name, { base, head }] of Object.entries(snapshot.logs)) {
      this.#logs.set(fileNameOf(name), { head, place: base });
    }
  }

  #readEntries(bytes: Uint8Array): void {
    const log = this.#logs.get(this.#file.split("/")[1] ?? "");
    if (log === undefined) throw damaged(this.#file, 0, "belongs to no log");
    const content = Buffer.concat([this.#rest, bytes]);
    let at = 0;
    for (let record = decodeRecord(content, at); record !== null; record = decodeRecord(content, at)) {
      const entry = decodeEntry(record);
      const { sequence, hash } = log.place;
      const chained = hash === null ? null : chainHash(hash, entry);
      if (entry.sequence !== sequence + 1 || entry.hash !== chained) {
        throw damaged(this.#file, at, `does not go on with entry ${sequence + 1}`);
      }
      log.place = { sequence: entry.sequence, hash: entry.hash };
      this.#summary.log_entries++;
      at = record.end;
    }
    this.#rest = content.subarray(at);
  }
}
