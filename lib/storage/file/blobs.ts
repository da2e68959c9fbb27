import { join } from "node:path";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import { KeyedQueue } from "../../internal/keyed-queue.ts";
import type { BlobWriter } from "../storage.ts";
import { BlobFileWriter, syncedSize, writeAgain } from "./blob-file-writer.ts";
import { changingSuffix, deletedSuffix, draftSuffix, lostSuffix, suffix, withSuffix } from "./blob-names.ts";
import { errorCodeOf, type Disk, type DiskFile } from "./disk.ts";
import { storageError } from "./errors.ts";
import { fileNameOf } from "./file-name.ts";
import { throughGate, type WriteGate } from "./write-gate.ts";

/** A stretch of a blob, in bytes. */
interface BlobRange {
  from?: number;
  to?: number;
}

/**
 * Blobs, one file each. Calls on the same blob run one after the other, so that none sees bytes that are not durable, but for those of an
 * open writer. The next process sees none: see {@link BlobFiles.open}.
 */
export class BlobFiles {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #gate: WriteGate;
  /** By path. */
  readonly #queue = new KeyedQueue();
  /** Blobs that are still to be written again as they read, by path, and from which byte on. */
  readonly #owed = new Map<string, number>();
  /** By path. */
  readonly #writers = new Map<string, BlobFileWriter>();
  #isHeld = false;

  constructor(disk: Disk, folder: string, gate: WriteGate = { failure: null, fail() {} }) {
    this.#disk = disk;
    this.#folder = folder;
    this.#gate = gate;
  }

  /**
   * Makes the folder ready, once, before anything else. A process that was killed may have left bytes that can be read, are
   * not on the disk and, where their sync had failed, count as clean: drafts are removed, and a blob that was being changed
   * is written again as it reads, from where it is not certain.
   */
  async open(): Promise<void> {
    await this.#disk.makeFolder(this.#folder);
    await this.#removeAll(deletedSuffix);
    await this.#removeAll(draftSuffix);
    for (const name of await this.#disk.list(this.#folder)) {
      if (!name.endsWith(changingSuffix)) continue;
      const mark = join(this.#folder, name);
      const path = mark.slice(0, -changingSuffix.length) + suffix;
      this.#owed.set(path, syncedSize(await this.#disk.readWhole(mark)));
      try {
        await this.#settleDebt(path);
        await this.#disk.remove(mark);
      } catch (error) {
        // On a full disk: before the next bytes are added, or at the next start.
        if (!isOrchestratorError(storageError(error), "STORAGE_FULL")) throw error;
      }
    }
  }

  /** Which blobs are there, by id; with those that were accepted as lost. Read once: what comes later is not in it. */
  async known(): Promise<(id: string) => boolean> {
    const names = new Set(await this.#disk.list(this.#folder));
    return (id) => {
      const name = fileNameOf(id);
      return [suffix, `${suffix}.deleted`, lostSuffix].some((ending) => names.has(name + ending));
    };
  }

  /** Accepts that a blob is missing: a document may go on naming it, and a backup says the same. */
  async acceptLoss(id: string): Promise<void> {
    await (await this.#disk.open(join(this.#folder, fileNameOf(id) + lostSuffix), "write")).close();
    await this.#disk.syncFolder(this.#folder);
  }

  /** File names of what stands for missing blobs. */
  async lostNames(): Promise<string[]> {
    return (await this.#disk.list(this.#folder)).filter((name) => name.endsWith(lostSuffix)).sort();
  }

  /** @param bytes - Not to be changed any more. */
  append(id: string, bytes: Uint8Array, expectedSize: number | undefined): Promise<number> {
    return this.#enqueueWrite(this.#pathOf(id), async (path) => {
      this.#refuseWhereWritten(path, id);
      await this.#settleDebt(path);
      const file = await this.#openExisting(path, "update");
      try {
        const size = file === null ? 0 : await file.size();
        if (expectedSize !== undefined && expectedSize !== size) {
          const details = { blob: id, expected: expectedSize, actual: size };
          throw new OrchestratorError("REVISION_CONFLICT", { details });
        }
        if (file === null) await this.#create(path, bytes);
        else await this.#add(path, { file, size }, bytes);
        return size + bytes.length;
      } finally {
        // What was synced is on the disk, whatever the close says.
        await file?.close().catch(() => {});
      }
    });
  }

  /** Opens the writer of a blob, making the blob durably if it is new. */
  openWriter(id: string): Promise<BlobWriter> {
    return this.#enqueueWrite(this.#pathOf(id), async (path) => {
      this.#refuseWhereWritten(path, id);
      await this.#settleDebt(path);
      const isNew = (await this.#openExisting(path, "read").then(closed)) === null;
      if (isNew) await this.#create(path, new Uint8Array());
      const writer = await BlobFileWriter.open(this.#disk, path, {
        mark: withSuffix(path, changingSuffix),
        inTurn: (work) => this.#enqueueWrite(path, work),
        guarded: (work) => throughGate(this.#gate, work),
        closed: () => this.#writers.delete(path),
      }).catch(async (error: unknown) => {
        // Nobody was given it. Why it can't be opened is what the caller is told, whatever becomes of this; a loss of power may bring it back.
        if (isNew) await this.#disk.remove(path).catch(() => {});
        throw error;
      });
      this.#writers.set(path, writer);
      return writer;
    });
  }

  read(id: string, range: BlobRange): Promise<Uint8Array | null> {
    return this.#enqueue(this.#pathOf(id), (path) => this.#read(path, range));
  }

  delete(id: string): Promise<void> {
    return this.#enqueueWrite(this.#pathOf(id), async (path) => {
      if (this.#isHeld) await this.#setAside(path);
      else await this.#disk.remove(path);
      await this.#disk.syncFolder(this.#folder);
    });
  }

  /** Keeps what is deleted for {@link readHeld}, until the function that it returns is called. One holder at a time. */
  hold(): () => Promise<void> {
    this.#isHeld = true;
    return () => {
      this.#isHeld = false;
      return this.#removeAll(deletedSuffix);
    };
  }

  /** File names of the blobs that are there or were when the hold began, in order. */
  async heldNames(): Promise<string[]> {
    const names = await this.#disk.list(this.#folder);
    const blobs = names.map((name) =>
      name.endsWith(deletedSuffix) ? name.slice(0, -".deleted".length) : name,
    );
    return [...new Set(blobs.filter((name) => name.endsWith(suffix)))].sort();
  }

  /** Reads durable bytes of a blob by its file name, also when it was deleted since the hold began. */
  readHeld(name: string, range: Required<BlobRange>): Promise<Uint8Array | null> {
    return this.#enqueue(join(this.#folder, name), async (path) => {
      return (await this.#read(`${path}.deleted`, range)) ?? (await this.#read(path, range));
    });
  }

  /** Closes all writers; resolves when nothing is under way. */
  async settled(): Promise<void> {
    const closes = await Promise.allSettled([...this.#writers.values()].map((writer) => writer.close()));
    await this.#queue.idle();
    const failed = closes.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  #refuseWhereWritten(path: string, id: string): void {
    if (this.#writers.has(path))
      throw new OrchestratorError("REVISION_CONFLICT", { message: `The blob ${id} has a writer.` });
  }

  async #read(path: string, { from = 0, to = Infinity }: BlobRange): Promise<Uint8Array | null> {
    const file = await this.#openExisting(path, "read");
    if (file === null) return null;
    try {
      const end = Math.min(to, await file.size());
      const start = Math.max(0, from);
      return new Uint8Array(await file.read(start, Math.max(0, end - start)));
    } finally {
      await file.close();
    }
  }

  /** Only the first one deleted under a name was there when the hold began. */
  async #setAside(path: string): Promise<void> {
    const isLater = (await this.#openExisting(`${path}.deleted`, "read").then(closed)) !== null;
    if (isLater) return this.#disk.remove(path);
    if ((await this.#openExisting(path, "read").then(closed)) === null) return;
    await this.#disk.rename(path, `${path}.deleted`);
  }

  async #removeAll(ending: string): Promise<void> {
    for (const name of await this.#disk.list(this.#folder)) {
      if (name.endsWith(ending)) await this.#disk.remove(join(this.#folder, name));
    }
  }

  async #settleDebt(path: string): Promise<void> {
    const from = this.#owed.get(path);
    if (from === undefined) return;
    await this.#rewrite(path, from);
    this.#owed.delete(path);
  }

  async #rewrite(path: string, from: number): Promise<void> {
    const file = await this.#openExisting(path, "update");
    if (file === null) return;
    try {
      await writeAgain(file, from, await file.size());
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async #openExisting(path: string, mode: "read" | "update"): Promise<DiskFile | null> {
    try {
      return await this.#disk.open(path, mode);
    } catch (error) {
      if (errorCodeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  async #create(path: string, bytes: Uint8Array): Promise<void> {
    const draft = withSuffix(path, draftSuffix);
    const file = await this.#disk.open(draft, "replace");
    try {
      try {
        await file.write(bytes, 0);
        await file.sync();
      } finally {
        await file.close();
      }
      await this.#disk.rename(draft, path);
    } catch (error) {
      await this.#disk.remove(draft).catch(() => {});
      throw error;
    }
    try {
      await this.#disk.syncFolder(this.#folder);
    } catch (error) {
      await this.#disk.remove(path);
      throw error;
    }
  }

  /** Adds bytes at the end, durably; on failure the blob is as long as before. */
  async #add(
    path: string,
    { file, size }: { file: DiskFile; size: number },
    bytes: Uint8Array,
  ): Promise<void> {
    const mark = withSuffix(path, changingSuffix);
    await (await this.#disk.open(mark, "replace")).close();
    try {
      await file.write(bytes, size);
      await file.sync();
    } catch (error) {
      await file.truncate(size);
      throw error;
    }
    // One mark too many costs the next start a write, no more: the bytes are durable, and that is the answer.
    await this.#disk.remove(mark).catch(() => {});
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${fileNameOf(id)}${suffix}`);
  }

  /** After an error of the disk nothing more is written, also not what has waited for its turn by then. */
  #enqueueWrite<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
    return this.#enqueue(path, () => throughGate(this.#gate, () => work(path)));
  }

  #enqueue<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
    return this.#queue.do(path, () =>
      work(path).catch((error: unknown) => {
        throw storageError(error);
      }),
    );
  }
}

async function closed(file: DiskFile | null): Promise<DiskFile | null> {
  await file?.close();
  return file;
}
