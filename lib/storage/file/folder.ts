import { Low } from "lowdb";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { Database } from "../database.ts";
import type { LogEntry, StorageSchema } from "../storage.ts";
import { BlobFiles } from "./blobs.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { Disk } from "./disk.ts";
import { corrupt } from "./errors.ts";
import { effectsFromText } from "./effects.ts";
import { fileNameOf } from "./file-name.ts";
import { Journal } from "./journal.ts";
import { LogFile } from "./log-file.ts";
import { emptySnapshot, folderFormat, SnapshotFile } from "./snapshot.ts";
import type { Snapshot } from "./snapshot-text.ts";

/** A file that says that a restore into the folder is not finished: what is there must not be taken for all of it. */
export const restoreMark = "restore-unfinished";

/** What a data folder is opened with. */
export interface FolderOptions {
  clock: Clock;
  disk: Disk;
  folder: string;
  logger: Logger;
  /** Size of a preallocated journal segment. */
  segmentBytes: number;
  /** The journal may grow to this, or to the size of the snapshot if that is larger. */
  minJournalBytes: number;
  /** A log segment that is larger takes no more entries. */
  logSegmentBytes: number;
}

/** A data folder that is open: its content in memory and the files behind it. */
export interface OpenFolder {
  database: Database;
  journal: Journal;
  logs: Map<string, LogFile>;
  blobs: BlobFiles;
  checkpoints: Checkpoints;
}

/**
 * Reads a data folder, snapshot first and then the journal, and makes it ready for writing. The caller holds its lock.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT`, `STORAGE_VERSION_UNSUPPORTED`; what was opened is closed again then.
 */
export async function openFolder(options: FolderOptions, schema: StorageSchema): Promise<OpenFolder> {
  const { disk, folder, logger } = options;
  if ((await disk.list(folder)).includes(restoreMark)) {
    throw corrupt(join(folder, restoreMark), 0, "a restore into this folder was not finished");
  }
  const snapshots = new SnapshotFile(disk, join(folder, "db.json"));
  const low = new Low(snapshots, emptySnapshot());
  await low.read();
  const snapshot = low.data;
  checkVersions(snapshot, schema);
  const database = new Database(schema, snapshot);
  const journal = new Journal(options);
  const logs = new Map<string, LogFile>();
  try {
    const replayed = await replay(journal, database, snapshot.sequence);
    for (const [name, { base }] of database.logs()) {
      const log = new LogFile({
        disk,
        folder: join(folder, "logs", fileNameOf(name)),
        segmentBytes: options.logSegmentBytes,
        onError: (error) =>
          logger.error("Log entries could not be written to their segment.", { log: name, error }),
      });
      logs.set(name, log);
      await log.open(snapshot.logs[name]?.head.sequence ?? 0, base.sequence);
      for (const entry of replayed.get(name) ?? []) if (entry.sequence > base.sequence) log.append(entry);
    }
    const blobs = new BlobFiles(disk, join(folder, "blobs"));
    await blobs.open();
    await disk.makeFolder(join(folder, "logs"));
    // Names that a killed process made and did not sync. Those in the data folder itself are synced before anything is
    // kept under them: a segment when it is made, all others with the first snapshot.
    for (const name of ["logs", "blobs"]) await disk.syncFolder(join(folder, name));
    const parts = { ...options, database, journal, logs, low, snapshots };
    const checkpoints = new Checkpoints({ ...parts, schemaVersion: schema.version });
    const stored = snapshot.schema_version;
    if (stored > 0 && stored < schema.version) await backUp(options, snapshot, database);
    if (stored !== schema.version) await checkpoints.writeNow();
    return { database, journal, logs, blobs, checkpoints };
  } catch (error) {
    for (const log of logs.values()) await log.close();
    await journal.close();
    throw error;
  }
}

function checkVersions({ format, schema_version: stored }: Snapshot, schema: StorageSchema): void {
  if (format <= folderFormat && stored <= schema.version) return;
  throw new OrchestratorError("STORAGE_VERSION_UNSUPPORTED", {
    details: {
      format,
      supported_format: folderFormat,
      schema_version: stored,
      supported_version: schema.version,
    },
  });
}

/** Applies the journal. Returns the log entries in it, by log. */
async function replay(
  journal: Journal,
  database: Database,
  afterSequence: number,
): Promise<Map<string, LogEntry[]>> {
  const entries = new Map<string, LogEntry[]>();
  await journal.recover(afterSequence, (text, place) => {
    for (const effect of effectsOf(text, place)) {
      database.apply(effect);
      if (effect.kind !== "append") continue;
      const log = entries.get(effect.log) ?? [];
      entries.set(effect.log, log);
      log.push(effect.entry);
    }
  });
  return entries;
}

function effectsOf(text: string, { path, at }: { path: string; at: number }) {
  try {
    return effectsFromText(text);
  } catch {
    throw corrupt(path, at, "a journal record can't be read");
  }
}

/** Keeps the documents as the older version left them. */
async function backUp(
  { disk, folder, logger }: FolderOptions,
  snapshot: Snapshot,
  database: Database,
): Promise<void> {
  const path = join(folder, `db.version-${snapshot.schema_version}.json`);
  await new SnapshotFile(disk, path).write({ ...snapshot, ...database.view() });
  logger.info("The data of an older version was backed up before it is used.", { path });
}
