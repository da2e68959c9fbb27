import { nodeDisk, type Disk, type DiskFile, type OpenMode } from "../../lib/storage/file/disk.ts";

/** The machine's file system with failures on demand. Paths that a failure applies to are chosen by `only`. */
export class LimitedDisk implements Disk {
  /** Whether every write fails for lack of space, after half of its bytes. */
  full = false;
  /** Bytes by which files can still become longer. What a cut gives back is counted, what a removal gives back is not. */
  freeBytes = Infinity;
  /** Whether every sync, and every write that includes one, fails with an input/output error. */
  broken = false;
  /** The code with which every removal fails; null where none does. */
  removalFails: string | null = null;
  /** The code with which every file that is to be opened fails; null where none does. */
  openFails: string | null = null;
  /** Whether every close fails, after it closed, and with which code. */
  brokenClose = false;
  closeFailsWith = "EIO";
  /** Which files fail. */
  only = /./;
  /** Calls of write, and their bytes, so far. */
  writes = 0;
  bytesWritten = 0;
  /** Bytes that were read of each file. */
  readonly bytesRead = new Map<string, number>();
  /** Bytes that are being read, and the most that ever were. */
  readingBytes = 0;
  mostReadingBytes = 0;
  /** What reads of open files wait for. */
  readsAwait: Promise<void> = Promise.resolve();
  /** Files that are open. */
  openFiles = 0;
  /** What happens before each write. */
  onWrite: () => void = () => undefined;
  /** Files that were read from. */
  readonly filesRead = new Set<string>();
  /** Writes that wait for {@link hold} to be released. */
  held = 0;
  #heldPaths: RegExp | null = null;
  #released: Promise<void> = Promise.resolve();

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    if (this.openFails !== null && this.only.test(path)) throw systemError(this.openFails);
    const file = await nodeDisk.open(path, mode);
    this.openFiles += 1;
    return this.#limit(path, mode, file);
  }

  /** Makes writes to some files wait until the function it returns is called. */
  hold(paths: RegExp): () => void {
    let release = (): void => {};
    this.#heldPaths = paths;
    this.#released = new Promise((resolve) => (release = resolve));
    return release;
  }

  readWhole(path: string): Promise<Buffer | null> {
    this.filesRead.add(path);
    return nodeDisk.readWhole(path);
  }

  createExclusive = nodeDisk.createExclusive;
  list = nodeDisk.list;
  makeFolder = nodeDisk.makeFolder;
  rename = nodeDisk.rename;
  remove = async (path: string): Promise<void> => {
    if (this.removalFails !== null && this.only.test(path)) throw systemError(this.removalFails);
    await nodeDisk.remove(path);
  };
  syncFolder = async (folder: string): Promise<void> => {
    if (this.broken && this.only.test(folder)) throw systemError("EIO");
    await nodeDisk.syncFolder(folder);
  };
  identityOf = nodeDisk.identityOf;
  spaceLeft = async (folder: string): Promise<number> =>
    Math.min(this.freeBytes, await nodeDisk.spaceLeft(folder));
  repeat = nodeDisk.repeat;
  lock = nodeDisk.lock;

  #limit(path: string, mode: OpenMode, file: DiskFile): DiskFile {
    const sync = async (): Promise<void> => {
      if (this.broken && this.only.test(path)) throw systemError("EIO");
    };
    return {
      read: async (position, length) => {
        await this.readsAwait;
        this.filesRead.add(path);
        this.readingBytes += length;
        this.mostReadingBytes = Math.max(this.mostReadingBytes, this.readingBytes);
        const bytes = await file.read(position, length);
        this.readingBytes -= length;
        this.bytesRead.set(path, (this.bytesRead.get(path) ?? 0) + bytes.length);
        return bytes;
      },
      write: async (bytes, position) => {
        this.writes++;
        this.onWrite();
        this.bytesWritten += bytes.length;
        if (this.#heldPaths?.test(path)) {
          this.held++;
          await this.#released;
        }
        if (this.full && this.only.test(path)) {
          await file.write(bytes.subarray(0, bytes.length / 2), position);
          throw systemError("ENOSPC");
        }
        const longer = Math.max(0, position + bytes.length - (await file.size()));
        if (longer > this.freeBytes) {
          await file.write(bytes.subarray(0, bytes.length - longer), position);
          throw systemError("ENOSPC");
        }
        this.freeBytes -= longer;
        await file.write(bytes, position);
        if (mode === "durable") await sync();
      },
      sync: async () => {
        await sync();
        await file.sync();
      },
      truncate: async (size) => {
        this.freeBytes += Math.max(0, (await file.size()) - size);
        await file.truncate(size);
      },
      size: () => file.size(),
      close: async () => {
        await file.close();
        this.openFiles -= 1;
        if (this.brokenClose && this.only.test(path)) throw systemError(this.closeFailsWith);
      },
    };
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected by the test`), { code });
}
