import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { isOrchestratorError } from "../errors.ts";
import { andThen, lastly, type MaybeWaiting, orFail } from "../internal/maybe-waiting.ts";
import type { FileAttributes, FileComparison, FileDigest, FileStat, HostFiles } from "./host.ts";
import { guardFiles } from "./files-below.ts";
import { errnoOf, hostError, requireSame, toHostError } from "./host-error.ts";
import { type LocalPaths, PathsBelow, type PathUse } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";
import { beginPart, discard, temporaryBeside } from "./temporary-files.ts";
import { digest, holds, readFlags, setAttributes, toStat, withFile, writeAll } from "./open-file.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** The files of this machine, by synchronous calls; of large ones in slices, so that others get their turn. */
export class LocalFiles implements HostFiles {
  readonly #paths: LocalPaths;
  readonly #pending: PendingWrites;
  #missedLast = false;

  constructor(paths: LocalPaths, pending: PendingWrites) {
    this.#paths = paths;
    this.#pending = pending;
  }

  below(folder: string): HostFiles {
    return this.localBelow(folder) ?? guardFiles(this, folder);
  }

  /** {@link LocalFiles.below} where the system can promise it; else null. */
  localBelow(folder: string): LocalFiles | null {
    // Only Linux names an open folder, so that what is done in it can't be led elsewhere.
    if (process.platform !== "linux") return null;
    // A folder below one that is guarded is guarded from there on already.
    if (this.#paths instanceof PathsBelow) return this;
    return new LocalFiles(new PathsBelow(this.#paths, folder), this.#pending);
  }

  stat(path: string): FileStat | null {
    const look = (real: string): Stats | undefined => lstatSync(real, { throwIfNoEntry: false });
    const stats = orNull(() => this.#paths.use(path, look), path);
    return stats ? toStat(stats) : null;
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    const read = (fd: number): Uint8Array => {
      if (expected) requireSame(path, toStat(fstatSync(fd)), expected);
      return readFileSync(fd);
    };
    return attempt(path, (real) => withFile(real, read), this.#paths);
  }

  hashFile(path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    return attempt(path, (real) => withFile(real, (fd) => digest(fd, signal)), this.#paths);
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    // A failed open costs three times what this look does, so it is worth it where files are missing: after one that
    // was, and while files are being made.
    if ((this.#missedLast || !this.#pending.isEmpty) && !this.stat(path)) return { stat: null, same: false };
    this.#missedLast = false;
    let fd: number;
    try {
      fd = this.#paths.use(path, (real) => openSync(real, readFlags));
    } catch (error) {
      const errno = isOrchestratorError(error) ? error.details["errno"] : errnoOf(error);
      this.#missedLast = errno === "ENOENT";
      if (this.#missedLast) return { stat: null, same: false };
      // A link or a socket: what it is says lstat. A file that may not be read is an error.
      const stat = this.stat(path);
      if (stat?.kind === "file" || stat?.kind === "directory") throw hostError(path, errnoOf(error), error);
      return { stat, same: false };
    }
    try {
      const stat = toStat(fstatSync(fd));
      return { stat, same: stat.kind === "file" && stat.sizeBytes === content.length && holds(fd, content) };
    } catch (error) {
      throw hostError(path, errnoOf(error), error);
    } finally {
      closeSync(fd);
    }
  }

  readLink(path: string): string {
    return attempt(path, (real) => readlinkSync(real), this.#paths);
  }

  list(path: string): string[] {
    return attempt(
      path,
      (real) => {
        if (!lstatSync(real).isDirectory()) throw hostError(path, "ENOTDIR");
        return readdirSync(real).sort();
      },
      this.#paths,
    );
  }

  writeFile(path: string, content: Uint8Array, attributes: FileAttributes): void {
    const fill = (fd: number): void => writeAll(fd, content);
    void this.#replace(path, { attributes, fill, begin: temporaryBeside });
  }

  /**
   * Writes a file atomically with whatever `fill` puts into it, which may take long: what a process that was killed left of it is
   * taken away by the next that tries. A promise only where `fill` gives one.
   */
  replaceFile(path: string, attributes: FileAttributes, fill: Replacement["fill"]): MaybeWaiting<void> {
    return this.#replace(path, { attributes, fill, begin: beginPart });
  }

  #replace(path: string, { attributes, fill, begin }: Replacement): MaybeWaiting<void> {
    const put = (temporary: string, real: string, lasting: string): void => {
      renameSync(temporary, real);
      this.#pending.addFile(lasting);
    };
    return attempt(
      path,
      (real, lasting) => {
        const there = lstatSync(real, { throwIfNoEntry: false });
        if (there?.isDirectory()) throw hostError(path, "EISDIR");
        const kept: FileAttributes = there?.isFile() ? toStat(there) : { mode: 0o600 };
        const temporary = begin(real);
        try {
          const filling = fillNew(temporary, { ...kept, ...attributes }, fill);
          if (filling instanceof Promise) return this.#putLater(path, { temporary, filling, put });
          put(temporary, real, lasting);
        } catch (error) {
          discard(temporary);
          throw error;
        }
      },
      this.#paths,
    );
  }

  /** What `temporary` stands for may be good for one turn only: it is looked for again by its name. */
  #putLater(path: string, { temporary, filling, put }: Filling): Promise<void> {
    const again = (act: (temporary: string, real: string, lasting: string) => void): void =>
      attempt(
        path,
        (real, lasting) => act(`${dirname(real)}/${basename(temporary)}`, real, lasting),
        this.#paths,
      );
    return filling
      .then(() => again(put))
      .catch((error: unknown) => {
        again(discard);
        throw error;
      });
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    attempt(
      path,
      (real, lasting) => {
        mkdirSync(real, 0o700);
        try {
          withFile(real, (fd) => setAttributes(fd, attributes));
        } catch (error) {
          rmdirSync(real);
          throw error;
        }
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }

  makeSymlink(path: string, target: string): void {
    attempt(
      path,
      (real, lasting) => {
        const temporary = temporaryBeside(real);
        symlinkSync(target, temporary);
        try {
          renameSync(temporary, real);
        } catch (error) {
          unlinkSync(temporary);
          throw error;
        }
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }

  setAttributes(path: string, attributes: FileAttributes): void {
    attempt(
      path,
      (real, lasting) => {
        withFile(real, (fd) => setAttributes(fd, attributes));
        this.#pending.addFile(lasting);
      },
      this.#paths,
    );
  }

  removeFile(path: string): void {
    attempt(
      path,
      (real, lasting) => {
        if (lstatSync(real).isDirectory()) throw hostError(path, "EISDIR");
        unlinkSync(real);
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }

  removeDirectory(path: string): void {
    attempt(
      path,
      (real, lasting) => {
        rmdirSync(real);
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }
}

/** How a file is replaced. */
interface Replacement {
  attributes: FileAttributes;
  fill: (fd: number) => MaybeWaiting<unknown>;
  /** Names the file that will take the place of another; nothing stands there. */
  begin: (real: string) => string;
}

/** A file that is being written beside the one that it will replace. */
interface Filling {
  temporary: string;
  filling: Promise<void>;
  put: (temporary: string, real: string, lasting: string) => void;
}

/** Makes a file, has it filled, and gives it its attributes. */
function fillNew(
  path: string,
  attributes: FileAttributes,
  fill: (fd: number) => MaybeWaiting<unknown>,
): MaybeWaiting<void> {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  return lastly(
    () => andThen(fill(fd), () => setAttributes(fd, attributes)),
    () => closeSync(fd),
  );
}

function attempt<T>(path: string, act: PathUse<T>, paths: LocalPaths): T {
  return orFail(
    () => paths.use(path, act),
    (error) => {
      throw toHostError(path, error);
    },
  );
}

/** Nothing there is an answer, not a failure. */
function orNull<T>(look: () => T, path: string): T | null {
  try {
    return look();
  } catch (error) {
    const errno = isOrchestratorError(error) ? error.details["errno"] : errnoOf(error);
    if (errno === "ENOENT" || errno === "ENOTDIR") return null;
    throw toHostError(path, error);
  }
}
