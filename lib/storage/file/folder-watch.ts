import type { Logger } from "../../logger.ts";
import type { Disk, FileIdentity } from "./disk.ts";
import { folderGone } from "./errors.ts";
import type { Journal } from "./journal.ts";
import type { FolderLock } from "./lock.ts";

/** How often it is looked whether the folder is still the one that was opened. */
const everyMs = 500;

/** What is watched. */
export interface WatchedFolder {
  disk: Disk;
  folder: string;
  lock: FolderLock;
  journal: Journal;
  logger: Logger;
}

/**
 * Notices within a second that the data folder was removed, renamed, replaced or mounted over, or its lock or
 * journal: then nothing is
 * written any more. A commit looks by itself before it is answered.
 */
export class FolderWatch {
  readonly #parts: WatchedFolder;
  readonly #identity: FileIdentity | null;
  readonly #end: () => void;

  constructor(parts: WatchedFolder) {
    this.#parts = parts;
    this.#identity = parts.disk.identityOf(parts.folder);
    this.#end = parts.disk.repeat(everyMs, () => {
      this.check();
      void parts.journal.syncHead();
    });
  }

  /** Looks now. Afterwards the journal's failure tells what was found. */
  check(): void {
    const { disk, folder, lock, journal, logger } = this.#parts;
    if (journal.failure !== null) return;
    const found = disk.identityOf(folder);
    const isSame = found?.ino === this.#identity?.ino && found?.dev === this.#identity?.dev;
    if (isSame && journal.isInPlace && lock.isInPlace()) return;
    logger.error("The data folder is not the one that was opened, or its lock or journal is gone.", {
      folder,
    });
    journal.fail(folderGone());
  }

  end(): void {
    this.#end();
  }
}
