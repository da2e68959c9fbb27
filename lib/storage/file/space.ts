import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Disk } from "./disk.ts";
import { storageError } from "./errors.ts";

/** The name of the file by which a disk that was full is tried; one that a killed process left means nothing. */
export const triedFile = "space.tmp";
/** Where a quota refuses what the file system says is free, writing is tried with a file of so many bytes... */
const triedBytes = 64 * 1_024;
/** ...and at most so often. */
const tryEveryMs = 1_000;

/** What is looked at. */
export interface SpaceOptions {
  clock: Clock;
  disk: Disk;
  folder: string;
  /** With less than a journal segment free, changes go on only in what is allocated already. */
  segmentBytes: number;
}

/** Whether there is space for what is not allocated ahead: blobs, snapshots and the next journal segment. */
export class Space {
  readonly #options: SpaceOptions;
  #isRefused = false;
  #triedAt = -Infinity;

  constructor(options: SpaceOptions) {
    this.#options = options;
  }

  /** Notes how a write outside of the journal ended. */
  note(outcome: { error?: unknown }): void {
    if (outcome.error === undefined) this.#isRefused = false;
    else if (isOrchestratorError(outcome.error, "STORAGE_FULL")) this.#isRefused = true;
  }

  /**
   * Looks now. `alsoBytes` are needed beside a segment.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, with how many bytes there are and how many it takes.
   */
  async check(alsoBytes = 0): Promise<void> {
    const { clock, disk, folder, segmentBytes } = this.#options;
    const neededBytes = Math.max(segmentBytes, alsoBytes);
    const freeBytes = await disk.spaceLeft(folder);
    if (freeBytes < neededBytes) throw full(freeBytes, neededBytes);
    if (!this.#isRefused) return;
    const now = clock.monotonic();
    if (now - this.#triedAt >= tryEveryMs) {
      this.#triedAt = now;
      this.#isRefused = !(await this.#canWrite());
    }
    if (this.#isRefused) throw new OrchestratorError("STORAGE_FULL");
  }

  async #canWrite(): Promise<boolean> {
    const { disk, folder } = this.#options;
    const path = join(folder, triedFile);
    try {
      const file = await disk.open(path, "replace");
      try {
        await file.write(Buffer.alloc(triedBytes), 0);
      } finally {
        await file.close();
      }
      return true;
    } catch (error) {
      if (isOrchestratorError(storageError(error), "STORAGE_FULL")) return false;
      throw storageError(error);
    } finally {
      await disk.remove(path).catch(() => {});
    }
  }
}

function full(freeBytes: number, neededBytes: number): OrchestratorError {
  // Bytes count for nothing where no file can be made.
  const inodes = freeBytes === 0 ? ", or has no inodes left (df -i)" : "";
  return new OrchestratorError("STORAGE_FULL", {
    message: `The disk of the data folder is full${inodes}: ${freeBytes} bytes are free, and ${neededBytes} are needed to go on.`,
    details: { free_bytes: freeBytes, needed_bytes: neededBytes },
  });
}
