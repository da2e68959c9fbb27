import { join } from "node:path";
import { OrchestratorError } from "../../errors.ts";
import { errorCodeOf, type Disk, type DiskFile } from "./disk.ts";
import { storageError } from "./errors.ts";
import { fileNameOf } from "./file-name.ts";

/** A stretch of a blob, in bytes. */
interface BlobRange {
  from?: number;
  to?: number;
}

/** Blobs that are known as durable; what falls out of it costs a sync more. */
const maxKnown = 10_000;

/** Blobs, one file each. Calls on the same blob run one after the other, so that none sees bytes that are not durable. */
export class BlobFiles {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #queues = new Map<string, Promise<unknown>>();
  /** Files that this process synced: a killed one may have left bytes that can be read and are not on the disk yet. */
  readonly #synced = new Set<string>();

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  append(id: string, bytes: Uint8Array, expectedSize: number | undefined): Promise<number> {
    const own = Uint8Array.from(bytes);
    return this.#enqueue(id, async (path) => {
      const file = await this.#openExisting(path, "update");
      const size = file === null ? 0 : await file.size();
      try {
        if (expectedSize !== undefined && expectedSize !== size) {
          const details = { blob: id, expected: expectedSize, actual: size };
          throw new OrchestratorError("REVISION_CONFLICT", { details });
        }
        if (file === null) await this.#create(path, own);
        else await addBytes(file, own, size);
      } finally {
        await file?.close();
      }
      return size + own.length;
    });
  }

  read(id: string, { from = 0, to = Infinity }: BlobRange): Promise<Uint8Array | null> {
    return this.#enqueue(id, async (path) => {
      const file = await this.#openExisting(path, "read");
      if (file === null) return null;
      try {
        const end = Math.min(to, await file.size());
        const start = Math.max(0, from);
        return new Uint8Array(await file.read(start, Math.max(0, end - start)));
      } finally {
        await file.close();
      }
    });
  }

  delete(id: string): Promise<void> {
    return this.#enqueue(id, async (path) => {
      await this.#disk.remove(path);
      await this.#disk.syncFolder(this.#folder);
    });
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#queues.size > 0) await Promise.all(this.#queues.values());
  }

  async #openExisting(path: string, mode: "read" | "update"): Promise<DiskFile | null> {
    let file: DiskFile;
    try {
      file = await this.#disk.open(path, mode);
    } catch (error) {
      if (errorCodeOf(error) === "ENOENT") return null;
      throw error;
    }
    try {
      await this.#syncOnce(path, file);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file;
  }

  async #syncOnce(path: string, file: DiskFile): Promise<void> {
    if (this.#synced.has(path)) return;
    await file.sync();
    if (this.#synced.size === maxKnown) this.#synced.clear();
    this.#synced.add(path);
  }

  async #create(path: string, bytes: Uint8Array): Promise<void> {
    const file = await this.#disk.open(path, "write");
    try {
      await addBytes(file, bytes, 0);
      await this.#disk.syncFolder(this.#folder);
    } catch (error) {
      await this.#disk.remove(path);
      throw error;
    } finally {
      await file.close();
    }
  }

  #enqueue<T>(id: string, work: (path: string) => Promise<T>): Promise<T> {
    const path = join(this.#folder, `${fileNameOf(id)}.blob`);
    const before = this.#queues.get(id) ?? Promise.resolve();
    const result = before
      .then(() => work(path))
      .catch((error: unknown) => {
        throw storageError(error);
      });
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#queues.set(id, settled);
    void settled.then(() => this.#queues.get(id) === settled && this.#queues.delete(id));
    return result;
  }
}

/** Adds bytes at the end of a file, durably; on failure it is as long as before. */
async function addBytes(file: DiskFile, bytes: Uint8Array, size: number): Promise<void> {
  try {
    await file.write(bytes, size);
    await file.sync();
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
}
