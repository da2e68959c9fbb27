/**
 * The writer of one blob in a file:
 *
 *   open --close--> closed
 *
 * While it is open a mark lies beside the blob, with the size up to which the blob is certain: after a kill the next process writes again
 * what stands beyond it, which may be in the cache of the system alone and count as clean.
 */
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { BlobWriter } from "../storage.ts";
import type { Disk, DiskFile } from "./disk.ts";
import { storageError, takeEach } from "./errors.ts";

/** What a writer needs of the blobs around it. */
interface WriterEnds {
  /** Path of the mark. */
  mark: string;
  /** Does work on the blob when all that was asked for before has ended; not after an error of the disk. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Does work at once; not after an error of the disk. */
  guarded: <T>(work: () => Promise<T>) => Promise<T>;
  /** It is closed. */
  closed: () => void;
}

const digits = 16;
/** How much is written again at once. */
const rewrittenBytes = 1_048_576;

/** The size that a mark tells; 0 where it tells none. It stands there twice: a write of which a part arrived tells none. */
export function syncedSize(mark: Buffer | null): number {
  const told = /^([0-9]{16}) \1$/.exec(mark?.toString("latin1") ?? "");
  return Number(told?.[1] ?? 0);
}

/** Writes a part of a file again as it reads: after a sync that failed it may be in the cache of the system alone and count as clean. */
export async function writeAgain(file: DiskFile, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += rewrittenBytes)
    await file.write(await file.read(at, Math.min(rewrittenBytes, to - at)), at);
}

export class BlobFileWriter implements BlobWriter {
  readonly #disk: Disk;
  readonly #ends: WriterEnds;
  readonly #file: DiskFile;
  readonly #mark: DiskFile;
  #size: number;
  #synced: number;
  /** Whether what was taken back may still be on the disk. */
  #wasCut = false;
  /** Whether a sync found no space: what was to be synced may be in the cache of the system alone and count as clean. */
  #isDoubted = false;
  #syncing: Promise<void> = Promise.resolve();
  #closing: Promise<void> | null = null;

  /** Opens the writer of a blob that is there. */
  static async open(disk: Disk, path: string, ends: WriterEnds): Promise<BlobFileWriter> {
    const file = await disk.open(path, "stream");
    let mark: DiskFile | null = null;
    try {
      const size = await file.size();
      mark = await disk.open(ends.mark, "note");
      await writeMark(mark, size);
      return new BlobFileWriter(disk, ends, { file, mark, size });
    } catch (error) {
      // One mark too many costs the next start a write, no more.
      const removal = mark === null ? [] : [() => disk.remove(ends.mark)];
      await takeEach([() => mark?.close(), () => file.close(), ...removal]).catch(() => {});
      throw error;
    }
  }

  private constructor(
    disk: Disk,
    ends: WriterEnds,
    { file, mark, size }: { file: DiskFile; mark: DiskFile; size: number },
  ) {
    this.#disk = disk;
    this.#ends = ends;
    this.#file = file;
    this.#mark = mark;
    this.#size = size;
    this.#synced = size;
  }

  get size(): number {
    return this.#size;
  }

  append(bytes: Uint8Array): Promise<void> {
    this.#checkOpen();
    return this.#ends.inTurn(async () => {
      try {
        await this.#file.write(bytes, this.#size);
      } catch (error) {
        try {
          await this.#file.truncate(this.#size);
        } finally {
          // Not before: a sync that is under way may still bring to the disk what is taken back here.
          this.#wasCut = true;
        }
        throw error;
      }
      this.#size += bytes.length;
    });
  }

  /** Not in turn with what is appended: a disk that is slow to sync would hold that up. */
  sync(): Promise<void> {
    this.#checkOpen();
    return this.#syncAppended();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #syncAppended(): Promise<void> {
    // What was asked to be appended before has to be among it.
    const appended = this.#ends.inTurn(async () => this.#size);
    const synced = Promise.all([appended, this.#syncing.catch(() => {})]).then(([size]) =>
      this.#syncTo(size),
    );
    this.#syncing = synced;
    return synced;
  }

  async #syncTo(size: number): Promise<void> {
    if (size <= this.#synced && !this.#wasCut) return;
    const wasCut = this.#wasCut;
    this.#wasCut = false;
    try {
      await this.#ends.guarded(async () => {
        if (this.#isDoubted) await writeAgain(this.#file, this.#synced, size);
        await this.#file.sync();
        await writeMark(this.#mark, size);
      });
    } catch (error) {
      this.#wasCut ||= wasCut;
      this.#isDoubted = true;
      throw error;
    }
    this.#isDoubted = false;
    this.#synced = size;
  }

  async #close(): Promise<void> {
    try {
      await this.#syncAppended();
      // One mark too many costs the next start a write, no more.
      await this.#disk.remove(this.#ends.mark).catch(() => {});
    } finally {
      this.#ends.closed();
      // What was synced is on the disk, whatever the closes say.
      await takeEach([() => this.#mark.close(), () => this.#file.close()]).catch(() => {});
    }
  }

  #checkOpen(): void {
    if (this.#closing !== null)
      throw new OrchestratorError("STORAGE_CLOSED", { message: "The writer of the blob is closed." });
  }
}

/** Where there is no space for it the next process writes all of the blob again. */
async function writeMark(mark: DiskFile, size: number): Promise<void> {
  const number = String(size).padStart(digits, "0");
  try {
    await mark.write(Buffer.from(`${number} ${number}`, "latin1"), 0);
  } catch (error) {
    if (!isOrchestratorError(storageError(error), "STORAGE_FULL")) throw error;
  }
}
