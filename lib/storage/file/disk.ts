import { randomUUID } from "node:crypto";
import { constants, existsSync, fdatasyncSync, statSync, writeSync } from "node:fs";
import { link, mkdir, open, readdir, rename, rm, statfs, writeFile, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { systemErrorName } from "../../host/errno-words.ts";
import { takeFileLock, type LockOptions, type LockOutcome } from "../../native/file-lock.ts";
import { WritePace } from "./write-pace.ts";

/** An open file. Errors carry the operating system's `code`. */
export interface DiskFile {
  /** Bytes from a position; fewer where the file ends. */
  read(position: number, length: number): Promise<Buffer>;
  /** Writes all of the bytes. In a file opened "durable" they survive power loss when it resolves; else after {@link sync}. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  size(): Promise<number>;
  close(): Promise<void>;
}

/** What tells a file from any other on the machine, whatever its path. */
export interface FileIdentity {
  dev: number;
  ino: number;
}

/**
 * "read" and "update" (read and write): the file must exist. "write": made if it is new. "durable": as "write", and each
 * write is synced. "note": as "write", for some bytes now and then that nothing waits for. "replace": made or emptied. "stream": as
 * "update", for many writes that something waits for, and that are synced now and then.
 */
export type OpenMode = "read" | "update" | "write" | "durable" | "note" | "replace" | "stream";

/** What the file storage does to the file system: a test puts one that fails, tears and forgets in its place. */
export interface Disk {
  open(path: string, mode: OpenMode): Promise<DiskFile>;
  /** The whole of a file; null when there is none. */
  readWhole(path: string): Promise<Buffer | null>;
  /** Makes a file with this text; false when there is one. Nobody sees it without the text. */
  createExclusive(path: string, text: string): Promise<boolean>;
  /** Names in a folder, in no order. */
  list(folder: string): Promise<string[]>;
  /** Makes a folder for this user alone, and those above it. Their names are durable when it resolves. */
  makeFolder(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; nothing happens when there is none. */
  remove(path: string): Promise<void>;
  /** Makes the names in a folder durable: what was created, renamed and removed. */
  syncFolder(path: string): Promise<void>;
  /** What stands at a path now; null where nothing does, or none can be reached. Costs microseconds. */
  identityOf(path: string): FileIdentity | null;
  /** Bytes that may still be written to the file system of a folder, as far as it tells; 0 where no file can be made there. */
  spaceLeft(folder: string): Promise<number>;
  /**
   * Calls back again and again, every so many milliseconds by no test's clock: what becomes of a disk does so in real time.
   * The function that it returns ends it.
   */
  repeat(everyMs: number, callback: () => void): () => void;
  /** Takes the lock that a file stands for, as {@link takeFileLock} does. */
  lock(options: LockOptions): LockOutcome;
}

const ownerOnly = 0o600;

/** The file system of the machine. */
export const nodeDisk: Disk = {
  async open(path, mode) {
    return new NodeFile(await open(path, flagsOf(mode), ownerOnly), mode);
  },
  async readWhole(path) {
    let file: DiskFile;
    try {
      file = await nodeDisk.open(path, "read");
    } catch (error) {
      if (errorCodeOf(error) === "ENOENT") return null;
      throw error;
    }
    try {
      // In one piece: Node's readFile goes through the thread pool and back for every 512 KiB.
      return await file.read(0, await file.size());
    } finally {
      await file.close();
    }
  },
  async createExclusive(path, text) {
    const draft = `${path}.${randomUUID()}`;
    try {
      await writeFile(draft, text, { mode: ownerOnly, flag: "wx" });
      await link(draft, path);
      return true;
    } catch (error) {
      if (errorCodeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
  },
  list: (folder) => readdir(folder),
  async makeFolder(path) {
    // One by one: Node's own recursion never ends where a folder can't be made, below /proc for one.
    const missing: string[] = [];
    for (let at = path; !existsSync(at); at = dirname(at)) missing.push(at);
    for (const folder of missing.toReversed())
      await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
        // Another process may have made it by now.
        if (errorCodeOf(error) !== "EEXIST" || !statSync(folder).isDirectory()) throw error;
      });
    for (const made of missing) await syncFolder(dirname(made));
  },
  rename,
  remove: (path) => rm(path, { force: true }),
  syncFolder,
  identityOf(path) {
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? null : { dev: found.dev, ino: found.ino };
    } catch {
      return null;
    }
  },
  async spaceLeft(folder) {
    const { bavail, bsize, files, ffree } = await statfs(folder);
    return files > 0 && ffree === 0 ? 0 : bavail * bsize;
  },
  repeat(everyMs, callback) {
    const timer = setInterval(callback, everyMs);
    timer.unref();
    return () => clearInterval(timer);
  },
  lock: takeFileLock,
};

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The `code` of an error of the operating system. */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof Error ? systemErrorName(error) : undefined;
}

/**
 * On Linux, O_DSYNC makes write and sync one trip through the thread pool instead of two. Elsewhere it does not reach
 * through the drive's cache as Node's fdatasync does.
 */
const syncsEachWrite = process.platform === "linux";

function flagsOf(mode: OpenMode): number {
  const { O_CREAT, O_DSYNC, O_RDONLY, O_RDWR, O_TRUNC } = constants;
  if (mode === "read") return O_RDONLY;
  if (mode === "update" || mode === "stream") return O_RDWR;
  if (mode === "replace") return O_RDWR | O_CREAT | O_TRUNC;
  return mode === "durable" && syncsEachWrite ? O_RDWR | O_CREAT | O_DSYNC : O_RDWR | O_CREAT;
}

class NodeFile implements DiskFile {
  readonly #handle: FileHandle;
  /** Of a file for whose writes something waits; null for any other. */
  readonly #pace: WritePace | null;
  readonly #isNote: boolean;
  /** Whether each write has to be synced by itself. */
  readonly #needsSync: boolean;

  constructor(handle: FileHandle, mode: OpenMode) {
    this.#handle = handle;
    this.#isNote = mode === "note";
    this.#pace = mode === "durable" || mode === "stream" ? new WritePace() : null;
    this.#needsSync = mode === "durable" && !syncsEachWrite;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#handle.read(bytes, done, length - done, position + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    // Into the page cache: a trip through the thread pool would take longer.
    if (this.#isNote) return this.#writeAllAtOnce(bytes, position);
    if (this.#pace === null) return this.#writeAll(bytes, position);
    const start = performance.now();
    if (this.#pace.isQuick(bytes.length)) {
      this.#writeAllAtOnce(bytes, position);
      if (this.#needsSync) fdatasyncSync(this.#handle.fd);
    } else {
      await this.#writeAll(bytes, position);
      if (this.#needsSync) await this.#handle.datasync();
    }
    this.#pace.note(performance.now() - start);
  }

  // A nearly full disk takes a part first and complains at the next try: hence the loops.
  async #writeAll(bytes: Uint8Array, position: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      done += (await this.#handle.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
    }
  }

  #writeAllAtOnce(bytes: Uint8Array, position: number): void {
    const { fd } = this.#handle;
    for (let done = 0; done < bytes.length;) {
      done += writeSync(fd, bytes, done, bytes.length - done, position + done);
    }
  }

  sync(): Promise<void> {
    return this.#handle.sync();
  }

  truncate(size: number): Promise<void> {
    return this.#handle.truncate(size);
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
