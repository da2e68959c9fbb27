import { join } from "node:path";
import { Low } from "lowdb";
import type { Clock } from "../../clock.ts";
import { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { Database } from "../database.ts";
import { blobFieldsOf, missingBlobs, toMissing } from "../named-blobs.ts";
import type { LogEntry, StorageSchema } from "../storage.ts";
import { BlobFiles } from "./blobs.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { Disk } from "./disk.ts";
import { DroppedBlobs, noteDrop } from "./dropped-blobs.ts";
import { effectsFromText } from "./effects.ts";
import { corrupt, diskFailure, takeEach } from "./errors.ts";
import { fileNameOf } from "./file-name.ts";
import { readHead } from "./head-file.ts";
import { replayJournal, type ReplayedJournal, type ReplayOptions } from "./journal-replay.ts";
import { Journal } from "./journal.ts";
import { LogFile } from "./log-file.ts";
import { LossRecord } from "./loss-record.ts";
import { Losses } from "./losses.ts";
import { RestoreNoteFile } from "./restore-note.ts";
import type { Snapshot } from "./snapshot-text.ts";
import { emptySnapshot, folderFormat, SnapshotFile } from "./snapshot.ts";
import { Space, triedFile } from "./space.ts";

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
  /** Whether to go on without what is found missing. */
  acceptLoss: boolean;
}

/** A data folder that is open: its content in memory and the files behind it. */
export interface OpenFolder {
  database: Database;
  journal: Journal;
  logs: Map<string, LogFile>;
  blobs: BlobFiles;
  dropped: DroppedBlobs;
  checkpoints: Checkpoints;
  losses: LossRecord;
  space: Space;
  restored: RestoreNoteFile;
}

/**
 * Reads a data folder, snapshot first and then the journal, and makes it ready for writing. The caller holds its lock.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT`, `STORAGE_VERSION_UNSUPPORTED`; what was opened is closed again then.
 */
export async function openFolder(options: FolderOptions, schema: StorageSchema): Promise<OpenFolder> {
  const { disk, folder } = options;
  if ((await disk.list(folder)).includes(restoreMark)) {
    throw corrupt(join(folder, restoreMark), 0, "a restore into this folder was not finished");
  }
  await disk.remove(join(folder, triedFile));
  const snapshots = new SnapshotFile(disk, join(folder, "db.json"));
  const low = new Low(snapshots, emptySnapshot());
  await low.read();
  const snapshot = low.data;
  checkVersions(snapshot, schema);
  const record = await LossRecord.open(disk, folder);
  const restored = await RestoreNoteFile.open(disk, folder);
  const losses = new Losses(options, record);
  const head = await readHead(disk, folder);
  const database = new Database(schema, snapshot);
  const { replayed, entries, drops } = await replay(
    { ...options, losses, head },
    database,
    snapshot.sequence,
  );
  if (snapshots.bytes === 0 && (replayed.sequence > 0 || (await isInUse(disk, folder))))
    throw corrupt(join(folder, "db.json"), 0, "the documents are missing; restore a backup");
  const journal = new Journal(options);
  const logs = new Map<string, LogFile>();
  try {
    for (const [name, { base, head: last }] of database.logs()) {
      const log = newLog(name, options, journal);
      logs.set(name, log);
      const persisted = snapshot.logs[name]?.head ?? { sequence: 0, hash: null };
      const places = { persisted: persisted.sequence, base: base.sequence, head: last.sequence };
      const { isLost } = await log.open(places, losses);
      if (isLost) database.apply({ kind: "trim", log: name, base: { ...persisted } });
      for (const entry of entries.get(name) ?? []) if (entry.sequence > base.sequence) log.append(entry);
    }
    await losses.save();
    await journal.begin(replayed);
    const blobs = new BlobFiles(disk, join(folder, "blobs"), journal);
    await blobs.open();
    const dropped = new DroppedBlobs(blobs, options.logger, drops);
    await dropped.open();
    await checkBlobs(blobs, { database, schema, losses, folder });
    await disk.makeFolder(join(folder, "logs"));
    // Names that a killed process made and did not sync. Those in the data folder itself are synced before anything is
    // kept under them: a segment when it is made, all others with the first snapshot.
    for (const name of ["logs", "blobs"]) await disk.syncFolder(join(folder, name));
    const parts = { ...options, database, dropped, journal, logs, low, snapshots };
    const checkpoints = new Checkpoints({ ...parts, schemaVersion: schema.version });
    const stored = snapshot.schema_version;
    if (stored > 0 && stored < schema.version) await backUp(options, snapshot, database);
    if (stored !== schema.version || losses.accepted.length > 0) await checkpoints.writeNow();
    const space = new Space(options);
    return { database, journal, logs, blobs, dropped, checkpoints, losses: record, space, restored };
  } catch (error) {
    // Why it can't be opened is what the caller is told, whatever becomes of this.
    await takeEach([...logs.values(), journal].map((each) => () => each.close())).catch(() => {});
    throw error;
  }
}

function newLog(
  name: string,
  { disk, folder, logger, logSegmentBytes }: FolderOptions,
  journal: Journal,
): LogFile {
  return new LogFile({
    disk,
    folder: join(folder, "logs", fileNameOf(name)),
    segmentBytes: logSegmentBytes,
    failure: () => journal.failure,
    onError: (error) => {
      logger.error("Log entries could not be written to their segment.", { log: name, error });
      const failure = diskFailure(error);
      if (failure !== null) journal.fail(failure);
    },
  });
}

/** Looks whether every blob that a document names is there. */
async function checkBlobs(
  blobs: BlobFiles,
  {
    database,
    schema,
    losses,
    folder,
  }: { database: Database; schema: StorageSchema; losses: Losses; folder: string },
): Promise<void> {
  const { collections } = database.view();
  const missing = missingBlobs(collections, blobFieldsOf(schema), await blobs.known());
  if (missing.length === 0) return;
  const file = join(folder, "blobs", `${missing[0]}.blob`);
  losses.report({ file, offset: 0, what: toMissing(missing) });
  await losses.save();
  for (const id of missing) await blobs.acceptLoss(id);
}

/** Whether a folder without a snapshot is no new one: nothing is kept before the first snapshot was written. */
async function isInUse(disk: Disk, folder: string): Promise<boolean> {
  for (const name of ["blobs", "series"]) {
    const names = await disk.list(join(folder, name)).catch(() => []);
    if (names.length > 0) return true;
  }
  return false;
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

/** Applies the journal. Gives what was read, the log entries in it, by log, and the blobs that it drops. */
async function replay(
  options: ReplayOptions,
  database: Database,
  afterSequence: number,
): Promise<{ replayed: ReplayedJournal; entries: Map<string, LogEntry[]>; drops: Set<string> }> {
  const drops = new Set<string>();
  const entries = new Map<string, LogEntry[]>();
  const replayed = await replayJournal(options, afterSequence, (text, place) => {
    for (const effect of effectsOf(text, place)) {
      database.apply(effect);
      noteDrop(drops, effect);
      if (effect.kind !== "append") continue;
      const log = entries.get(effect.log) ?? [];
      entries.set(effect.log, log);
      log.push(effect.entry);
    }
  });
  return { replayed, entries, drops };
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
