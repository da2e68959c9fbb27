import {
  closeSync,
  fstatSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { isOrchestratorError } from "../errors.ts";
import { toTargetText } from "../internal/link-target.ts";
import { andThen, type MaybeWaiting } from "../internal/maybe-waiting.ts";
import { dressThere } from "./dress-there.ts";
import { guardFiles } from "./files-below.ts";
import { refuseHeld } from "./held.ts";
import { errnoOf, hostError, requireSame, toHostError } from "./host-error.ts";
import type {
  ChangeOptions,
  FileAttributes,
  FileChange,
  FileComparison,
  FileDigest,
  FileExtras,
  FileOwner,
  FileStat,
  HostFiles,
  WriteOptions,
} from "./host.ts";
import { attempt, orNull } from "./local-attempt.ts";
import { type LocalPaths, PathsBelow, type PathUse } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";
import { moveFile } from "./move-file.ts";
import { digest, holds, refuseLinked, toStat, withFile, writeAll } from "./open-file.ts";
import { ledBy, listOpen, makeFolder, openOwn, placeLink, requireNewFolder } from "./path-calls.ts";
import { extrasAt, requireWritable } from "./place-file.ts";
import {
  changeAttributes,
  type LocalFilesParts,
  replaceFile,
  requireAttributes,
  type Replacement,
} from "./replace-file.ts";
import { beginPart, temporaryBeside } from "./temporary-files.ts";

/** The files of this machine, by synchronous calls; of large ones in slices, so that others get their turn. */
export class LocalFiles implements HostFiles {
  readonly #paths: LocalPaths;
  readonly #pending: PendingWrites;
  readonly #parts: LocalFilesParts;
  #missedLast = false;
  /** Looked at right after, and there. */
  #wroteLast = "";

  constructor(paths: LocalPaths, pending: PendingWrites) {
    this.#paths = paths;
    this.#pending = pending;
    this.#parts = { paths, pending };
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

  ledBy(path: string): number | null {
    return ledBy(path, this.#paths);
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    const read = (fd: number): Uint8Array => {
      if (expected) requireSame(path, toStat(fstatSync(fd)), expected);
      return readFileSync(fd);
    };
    return this.#open(path, read);
  }

  hashFile(path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    return this.#open(path, (fd) => digest(fd, signal));
  }

  /** Opens a file for reading that is nobody else's by another name. */
  #open<T>(path: string, use: (fd: number, lasting: string, real: string) => T): T {
    const look: PathUse<T> = (real, lasting, linksOf) =>
      withFile(real, (fd) => {
        refuseLinked(path, fstatSync, { fd, linksOf });
        return use(fd, lasting, real);
      });
    return attempt(path, look, this.#paths);
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    // A failed open costs three times what this look does: worth it after one that was missing, and while files are made.
    const maybeMissing = this.#missedLast || (!this.#pending.isEmpty && path !== this.#wroteLast);
    if (maybeMissing && !this.stat(path)) return { stat: null, same: false };
    this.#missedLast = false;
    let fd: number;
    try {
      fd = this.#paths.use(path, (real, _lasting, linksOf) => openOwn(path, real, linksOf));
    } catch (error) {
      const errno = isOrchestratorError(error) ? error.details["errno"] : errnoOf(error);
      this.#missedLast = errno === "ENOENT";
      if (this.#missedLast) return { stat: null, same: false };
      // A link or a socket: what it is says lstat. A file that may not be read is an error.
      const stat = this.stat(path);
      if (stat?.kind === "file" || stat?.kind === "directory") throw toHostError(path, error);
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
    return attempt(path, (real) => toTargetText(readlinkSync(real, "buffer")), this.#paths);
  }

  list(path: string): string[] {
    return attempt(
      path,
      (real, _lasting, linksOf) => {
        if (!lstatSync(real).isDirectory()) throw hostError(path, "ENOTDIR");
        return (linksOf === null ? readdirSync(real) : listOpen(real)).sort();
      },
      this.#paths,
    );
  }

  extras(path: string): FileExtras | null {
    const look: PathUse<FileExtras | null> = (real, _lasting, linksOf) => {
      const stats = lstatSync(real, { throwIfNoEntry: false });
      if (!stats?.isFile() && !stats?.isDirectory()) return null;
      return extrasAt(real, (fd) => refuseLinked(path, fstatSync, { fd, linksOf }));
    };
    return orNull(() => this.#paths.use(path, look), path);
  }

  requireChangeable(path: string, change: FileChange, options: WriteOptions = {}): void {
    const look: PathUse<void> = (real, _lasting, linksOf) => {
      if (change === "write") requireWritable({ path, real, linksOf }, options);
      else if (change === "attributes") requireAttributes({ path, real, linksOf }, options);
      else refuseHeld({ path, real }, change);
    };
    attempt(path, look, this.#paths);
  }

  writeFile(path: string, content: Uint8Array, options: WriteOptions): void {
    const fill = (fd: number): void => writeAll(fd, content);
    void replaceFile(path, { options, fill, temporaryFor: temporaryBeside }, this.#parts);
    this.#noteWritten(path);
  }

  /** Writes a file atomically with what `fill` gives it, which may take long: the next try takes away what a killed process left. */
  replaceFile(path: string, options: WriteOptions, fill: Replacement["fill"]): MaybeWaiting<void> {
    const replacement = { options, fill, temporaryFor: beginPart };
    return andThen(replaceFile(path, replacement, this.#parts), () => this.#noteWritten(path));
  }

  #noteWritten(path: string): void {
    this.#wroteLast = path;
    this.#missedLast = false;
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    attempt(
      path,
      (real, lasting, linksOf) => {
        refuseHeld({ path, real }, "write");
        makeFolder(real, (fd) => {
          if (linksOf !== null) requireNewFolder(path, fd);
          dressThere(fd, path, attributes);
        });
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }

  makeSymlink(path: string, target: string, owner: FileOwner = {}): void {
    attempt(
      path,
      (real, lasting) => {
        refuseHeld({ path, real }, "replace");
        this.#pending.begin(lasting);
        placeLink(real, target, owner);
        this.#paths.forget();
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }

  move(from: string, to: string): MaybeWaiting<void> {
    return moveFile(from, to, this.#parts);
  }

  setAttributes(path: string, attributes: ChangeOptions): MaybeWaiting<void> {
    return changeAttributes(path, attributes, this.#parts);
  }

  removeFile(path: string): void {
    attempt(
      path,
      (real, lasting) => {
        const there = lstatSync(real);
        if (there.isDirectory()) throw hostError(path, "EISDIR");
        if (there.isSymbolicLink()) this.#paths.forget();
        refuseHeld({ path, real }, "replace");
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
        refuseHeld({ path, real }, "replace");
        rmdirSync(real);
        this.#paths.forget();
        this.#pending.addEntry(lasting);
      },
      this.#paths,
    );
  }
}
