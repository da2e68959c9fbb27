import type { Low } from "lowdb";
import type { Logger } from "../../logger.ts";
import type { Database } from "../database.ts";
import type { DroppedBlobs } from "./dropped-blobs.ts";
import { diskFailure, storageError } from "./errors.ts";
import type { Journal } from "./journal.ts";
import type { LogFile } from "./log-file.ts";
import type { Snapshot } from "./snapshot-text.ts";
import { emptySnapshot, folderFormat, type SnapshotFile } from "./snapshot.ts";

/** What a checkpoint brings together. */
export interface CheckpointParts {
  database: Database;
  dropped: DroppedBlobs;
  journal: Journal;
  logs: ReadonlyMap<string, LogFile>;
  low: Low<Snapshot>;
  snapshots: SnapshotFile;
  schemaVersion: number;
  /** The journal may grow to this, or to the size of the snapshot if that is larger. */
  minJournalBytes: number;
  logger: Logger;
}

/** Moves what the journal holds into the snapshot and the logs, so that the journal can be dropped. */
export class Checkpoints {
  readonly #parts: CheckpointParts;
  #running: Promise<void> | null = null;
  #dueAtBytes: number;
  #lacksSpace = false;

  constructor(parts: CheckpointParts) {
    this.#parts = parts;
    this.#forget();
    this.#dueAtBytes = this.#bound();
  }

  /**
   * Begins a checkpoint when the journal has grown enough. Only the change to a new journal segment is waited for; the rest
   * goes on beside the commits. Must not be called while a commit is being written.
   */
  async beginIfDue(): Promise<void> {
    const { journal, logger } = this.#parts;
    if (this.#running !== null || journal.failure !== null || journal.bytes < this.#dueAtBytes) return;
    try {
      const keepFrom = await journal.rotate();
      this.#parts.low.data = this.#view();
      this.#parts.dropped.beginCheckpoint();
      this.#running = this.#write(keepFrom);
    } catch (error) {
      this.#postpone();
      logger.warn("There is no space for a new journal segment.", { error });
    }
  }

  /** Bytes that the last snapshot did not find space for, about; 0 where it did. */
  get missingBytes(): number {
    return this.#lacksSpace ? this.#parts.snapshots.bytes + this.#parts.journal.bytes : 0;
  }

  /** There is space again: the snapshot that found none is written after the next commit. */
  hurry(): void {
    if (this.#lacksSpace) this.#dueAtBytes = 0;
    this.#lacksSpace = false;
  }

  /** Writes a snapshot now, before the storage is in use. */
  async writeNow(): Promise<void> {
    this.#parts.low.data = this.#view();
    await this.#persistLogs();
    await this.#parts.low.write();
    this.#forget();
    this.#dueAtBytes = this.#bound();
  }

  /** Resolves when no checkpoint is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #write(keepFrom: number): Promise<void> {
    const { dropped, journal, low } = this.#parts;
    try {
      await this.#persistLogs();
      // What the journal says is done before it is dropped.
      await dropped.settled();
      if (journal.failure !== null) throw journal.failure;
      await low.write();
      dropped.endCheckpoint();
      if (journal.failure !== null) throw journal.failure;
      await journal.dropBefore(keepFrom);
      this.#dueAtBytes = this.#bound();
      this.#lacksSpace = false;
    } catch (error) {
      // Nothing is lost: the journal still holds it all.
      this.#postpone();
      this.#lacksSpace = storageError(error).code === "STORAGE_FULL";
      const failure = diskFailure(error);
      if (failure !== null) this.#parts.journal.fail(failure);
      this.#parts.logger.error("The snapshot could not be written.", { error });
    } finally {
      this.#forget();
      this.#running = null;
    }
  }

  async #persistLogs(): Promise<void> {
    for (const log of this.#parts.logs.values()) await log.persist();
  }

  /** The database holds the documents: lowdb's own view of them would keep replaced ones alive. */
  #forget(): void {
    this.#parts.low.data = emptySnapshot();
  }

  #view(): Snapshot {
    const { database, journal, schemaVersion } = this.#parts;
    return {
      format: folderFormat,
      schema_version: schemaVersion,
      sequence: journal.sequence,
      ...database.view(),
    };
  }

  #bound(): number {
    return Math.max(this.#parts.minJournalBytes, this.#parts.snapshots.bytes);
  }

  #postpone(): void {
    this.#dueAtBytes = this.#parts.journal.bytes + this.#parts.minJournalBytes;
  }
}
