import { dirname, join } from "node:path";
import type { AcceptedLosses, StorageLoss } from "../storage.ts";
import type { Disk } from "./disk.ts";

/** Keeps what was accepted as lost in the file `losses.json` until it was told: a process that dies before has told nobody. */
export class LossRecord implements AcceptedLosses {
  readonly #disk: Disk;
  readonly #path: string;
  #losses: readonly StorageLoss[];

  private constructor(disk: Disk, path: string, losses: readonly StorageLoss[]) {
    this.#disk = disk;
    this.#path = path;
    this.#losses = losses;
  }

  /** Reads what was not told yet. */
  static async open(disk: Disk, folder: string): Promise<LossRecord> {
    const path = join(folder, "losses.json");
    return new LossRecord(disk, path, parseLosses((await disk.readWhole(path))?.toString("utf8") ?? "[]"));
  }

  /** Adds what is accepted now. Durable when it resolves: before anything is set aside. */
  async add(accepted: readonly StorageLoss[]): Promise<void> {
    this.#losses = [...this.#losses, ...accepted];
    const draft = `${this.#path}.tmp`;
    try {
      await this.#write(draft);
      // What is there may be all that tells of an earlier loss, whose files were changed already.
      await this.#disk.rename(draft, this.#path);
    } catch (error) {
      await this.#disk.remove(draft).catch(() => {});
      throw error;
    }
    await this.#disk.syncFolder(dirname(this.#path));
  }

  list(): readonly StorageLoss[] {
    return this.#losses;
  }

  async told(): Promise<void> {
    this.#losses = [];
    await this.#disk.remove(this.#path);
  }

  async #write(path: string): Promise<void> {
    const file = await this.#disk.open(path, "replace");
    try {
      await file.write(Buffer.from(JSON.stringify(this.#losses)), 0);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** One that can't be read tells of nothing, and is no reason not to start. */
function parseLosses(text: string): StorageLoss[] {
  try {
    return JSON.parse(text) as StorageLoss[];
  } catch {
    return [];
  }
}
