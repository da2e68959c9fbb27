import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { OrchestratorError } from "../../errors.ts";
import { silentLogger } from "../../logger.ts";
import { readArchive, type ArchivePart } from "./archive.ts";
import { BackupCheck, type BackupSummary } from "./backup-check.ts";
import { nodeDisk, type Disk, type DiskFile } from "./disk.ts";
import { storageError } from "./errors.ts";
import { restoreMark } from "./folder.ts";
import { FolderLock } from "./lock.ts";

/**
 * Checks a backup whole and changes nothing: every checksum, and every log entry against the one before it.
 *
 * @param archive - The bytes of the backup, in pieces of any size.
 * @throws {OrchestratorError} `STORAGE_CORRUPT` with `details { entry, offset }`; `STORAGE_VERSION_UNSUPPORTED`.
 */
export async function verifyBackup(archive: AsyncIterable<Uint8Array>): Promise<BackupSummary> {
  const check = new BackupCheck();
  for await (const part of readArchive(archive)) check.take(part);
  return check.finish();
}

/**
 * Makes a data folder out of a backup, checking it on the way. No server may run on the folder. When it fails, the folder is
 * empty again; when the process dies, the folder is refused at the next start until it is emptied.
 *
 * @param archive - The bytes of the backup, in pieces of any size.
 * @param folder - Where to; made if it is new, and else it must be empty.
 * @throws {OrchestratorError} `ALREADY_EXISTS` when the folder is not empty; `STORAGE_LOCKED`; `STORAGE_FULL`; `STORAGE_CORRUPT`
 *   with `details { entry, offset }`; `STORAGE_VERSION_UNSUPPORTED`.
 */
export async function restoreBackup(
  archive: AsyncIterable<Uint8Array>,
  folder: string,
): Promise<BackupSummary> {
  const disk = nodeDisk;
  const target = resolve(folder);
  await disk.makeFolder(target);
  if ((await disk.list(target)).length > 0) throw notEmpty(target);
  const lock = await FolderLock.take(disk, target, silentLogger);
  try {
    // Between looking and locking a server may have come and gone.
    if ((await disk.list(target)).some((name) => name !== "lock")) throw notEmpty(target);
    return await write(archive, disk, target);
  } catch (error) {
    throw storageError(error);
  } finally {
    await lock.release();
  }
}

async function write(archive: AsyncIterable<Uint8Array>, disk: Disk, folder: string): Promise<BackupSummary> {
  const mark = join(folder, restoreMark);
  const files = new RestoredFiles(disk, folder);
  try {
    await disk.createExclusive(mark, "");
    await disk.syncFolder(folder);
    const check = new BackupCheck();
    for await (const part of readArchive(archive)) {
      check.take(part);
      await files.write(part);
    }
    const summary = check.finish();
    await files.finish();
    await disk.remove(mark);
    await disk.syncFolder(folder);
    return summary;
  } catch (error) {
    await files.abandon();
    await disk.remove(mark);
    throw error;
  }
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

  /** Resolves when all of it is durable. */
  async finish(): Promise<void> {
    await this.#sync();
    for (const path of this.#folders) await this.#disk.syncFolder(path);
  }

  /** Removes what was written. */
  async abandon(): Promise<void> {
    await this.#file?.close();
    const names = (await this.#disk.list(this.#folder)).filter(
      (name) => name !== restoreMark && name !== "lock",
    );
    for (const name of names) await rm(join(this.#folder, name), { recursive: true, force: true });
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
