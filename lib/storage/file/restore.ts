import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { systemClock, toTimestamp } from "../../clock.ts";
import { OrchestratorError } from "../../errors.ts";
import { silentLogger } from "../../logger.ts";
import { checkOrigin, type BackupOrigin } from "./archive-signature.ts";
import { readArchive, type ArchivePart } from "./archive.ts";
import { BackupCheck, type BackupContent } from "./backup-check.ts";
import { nodeDisk, type Disk, type DiskFile } from "./disk.ts";
import { storageError } from "./errors.ts";
import { restoreMark } from "./folder.ts";
import { FolderLock } from "./lock.ts";
import { restoreNoteName, restoreNoteText } from "./restore-note.ts";

/** What a backup holds, and who made it. */
export interface BackupSummary extends BackupContent {
  /** The public key that it is signed by, hex; null where it has no signature. */
  orchestrator_key: string | null;
}

/** How a backup is restored. */
export interface RestoreOptions extends BackupOrigin {
  /** An epoch that the new one is to be above, which agents refused an earlier restore for. Default 0. */
  epochAfter?: number;
}

/**
 * Checks a backup whole and changes nothing: every checksum, every log entry against the one before it, and the signature.
 *
 * @param archive - The bytes of the backup, in pieces of any size.
 * @param origin - Whose it must be. Default: anybody's, and the summary says whose it is.
 * @throws {OrchestratorError} `STORAGE_CORRUPT` with `details { entry, offset }`; `SIGNATURE_INVALID`; `STORAGE_VERSION_UNSUPPORTED`;
 *   `BACKUP_UNSIGNED`, `ORCHESTRATOR_KEY_CHANGED` where it is not of the origin; `KEY_REFUSED`.
 */
export async function verifyBackup(
  archive: AsyncIterable<Uint8Array>,
  origin: BackupOrigin | null = null,
): Promise<BackupSummary> {
  return read(archive, { origin, take: async () => {} });
}

/**
 * Makes a data folder out of a backup, checking it on the way. No server may run on the folder. When it fails, the folder is
 * empty again; when the process dies, the folder is refused at the next start until it is emptied. The orchestrator that
 * starts on it begins a new epoch, paused.
 *
 * @param archive - The bytes of the backup, in pieces of any size.
 * @param folder - Where to; made if it is new, and else it must be empty.
 * @param options - Whose backup it must be. With none given every backup is refused: who can make one up would be the orchestrator.
 * @throws {OrchestratorError} `ALREADY_EXISTS` when the folder is not empty; `BACKUP_UNSIGNED`, `ORCHESTRATOR_KEY_CHANGED` where the
 *   backup is not of the origin, before anything is written; `SIGNATURE_INVALID`; `KEY_REFUSED`; `STORAGE_LOCKED`; `STORAGE_FULL`;
 *   `STORAGE_CORRUPT` with `details { entry, offset }`; `STORAGE_VERSION_UNSUPPORTED`.
 */
export async function restoreBackup(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
  { epochAfter = 0, ...origin }: RestoreOptions = {},
): Promise<BackupSummary> {
  const disk = nodeDisk;
  const note = { restored_at: toTimestamp(systemClock.now()), epoch_after: epochAfter, random: randomUUID() };
  const target = resolve(folder);
  await disk.makeFolder(target);
  if ((await disk.list(target)).length > 0) throw notEmpty(target);
  const lock = FolderLock.take(disk, target, silentLogger);
  try {
    // Between looking and locking a server may have come and gone.
    if ((await disk.list(target)).some((name) => name !== "lock")) throw notEmpty(target);
    const files = new RestoredFiles(disk, target);
    return await write(archive, files, { origin, note: restoreNoteText(note) });
  } catch (error) {
    throw storageError(error);
  } finally {
    lock.release();
  }
}

async function write(
  archive: AsyncIterable<Uint8Array>,
  files: RestoredFiles,
  { origin, note }: { origin: BackupOrigin; note: string },
): Promise<BackupSummary> {
  try {
    await files.begin();
    const summary = await read(archive, { origin, take: (part) => files.write(part) });
    await files.finish(note);
    return summary;
  } catch (error) {
    // What could not be removed either is left marked; why it failed is what counts.
    await files.abandon().catch(() => {});
    throw error;
  }
}

/** Reads and checks a backup, and hands on its parts. */
async function read(
  archive: AsyncIterable<Uint8Array>,
  { origin, take }: { origin: BackupOrigin | null; take: (part: ArchivePart) => Promise<void> },
): Promise<BackupSummary> {
  const check = new BackupCheck();
  let orchestrator_key: string | null = null;
  const parts = readArchive(archive, (key) => {
    if (origin) checkOrigin(key, origin);
    orchestrator_key = key;
  });
  for await (const part of parts) {
    check.take(part);
    await take(part);
  }
  return { ...check.finish(), orchestrator_key };
}

/** The files of a restore, one after the other. */
class RestoredFiles {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #folders = new Set<string>();
  #path = "";
  #file: DiskFile | null = null;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  async write({ file, offset, bytes }: ArchivePart): Promise<void> {
    const path = join(this.#folder, ...file.split("/"));
    if (path !== this.#path) {
      await this.#sync();
      await this.#disk.makeFolder(dirname(path));
      this.#folders.add(dirname(path));
      this.#file = await this.#disk.open(path, "replace");
      this.#path = path;
    }
    await this.#file?.write(bytes, offset);
  }

  /** Marks the folder as one that can't be used yet. */
  async begin(): Promise<void> {
    await this.#disk.createExclusive(join(this.#folder, restoreMark), "");
    await this.#disk.syncFolder(this.#folder);
  }

  /** Makes all of it durable, then the note of the restore, and only then the folder one that can be used. */
  async finish(note: string): Promise<void> {
    await this.write({ file: restoreNoteName, offset: 0, bytes: Buffer.from(note) });
    await this.#sync();
    for (const path of this.#folders) await this.#disk.syncFolder(path);
    await this.#disk.remove(join(this.#folder, restoreMark));
    await this.#disk.syncFolder(this.#folder);
  }

  /** Removes what was written. */
  async abandon(): Promise<void> {
    await this.#file?.close();
    const all = await this.#disk.list(this.#folder);
    // Where only the last step failed, the mark is gone; a process that dies now must not leave half a folder that looks whole.
    if (!all.includes(restoreMark)) await this.begin().catch(() => {});
    const names = all.filter((name) => name !== restoreMark && name !== "lock");
    for (const name of names) await rm(join(this.#folder, name), { recursive: true, force: true });
    await this.#disk.remove(join(this.#folder, restoreMark));
  }

  async #sync(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    try {
      await file?.sync();
    } finally {
      await file?.close();
    }
  }
}

function notEmpty(folder: string): OrchestratorError {
  return new OrchestratorError("ALREADY_EXISTS", {
    message: `The folder ${folder} is not empty: a backup is restored into an empty folder only.`,
  });
}
