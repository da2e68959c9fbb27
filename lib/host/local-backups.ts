import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { join } from "node:path";
import { andThen, lastly, type MaybeWaiting, orFail } from "../internal/maybe-waiting.ts";
import { errnoOf, hostError, requireSame, toHostError } from "./host-error.ts";
import type { BackupOptions, FileDigest, HostBackups, RestoreOptions } from "./host.ts";
import type { LocalFiles } from "./local-files.ts";
import { type LocalPaths, PathsBelow } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";
import { copyFile, refuseLinked, toStat, withFile } from "./open-file.ts";

/** What the backups need of the host they belong to. */
export interface LocalBackupsParts {
  files: LocalFiles;
  paths: LocalPaths;
  pending: PendingWrites;
}

/** Copies of files in a folder that only the agent can read, each named by its content. */
export class LocalBackups implements HostBackups {
  readonly #folder: string;
  readonly #parts: LocalBackupsParts;

  /** @param folder - Made when the first copy is. */
  constructor(folder: string, parts: LocalBackupsParts) {
    this.#folder = folder;
    this.#parts = parts;
  }

  below(folder: string): HostBackups {
    const { files, paths, pending } = this.#parts;
    const inside = files.localBelow(folder);
    if (inside) {
      const pathsBelow = paths instanceof PathsBelow ? paths : new PathsBelow(paths, folder);
      return new LocalBackups(this.#folder, { files: inside, paths: pathsBelow, pending });
    }
    const guarded = files.below(folder);
    return {
      below: () => this.below(folder),
      // Looking refuses a link among the folders on the way.
      save: (path, options) => (guarded.stat(path), this.save(path, options)),
      sizeBytes: (sha256) => this.sizeBytes(sha256),
      read: (sha256) => this.read(sha256),
      restore: (sha256, path, options) => (guarded.stat(path), this.restore(sha256, path, options)),
      prune: (keep) => this.prune(keep),
    };
  }

  save(path: string, { expected, signal }: BackupOptions = {}): MaybeWaiting<FileDigest> {
    const temporary = join(this.#folder, `.${randomBytes(8).toString("hex")}`);
    const copy = (): MaybeWaiting<FileDigest> => {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      return this.#parts.paths.use(path, (real, _lasting, linksOf) =>
        withFile(real, (source) => {
          refuseLinked(path, fstatSync, { fd: source, linksOf });
          if (expected) requireSame(path, toStat(fstatSync(source)), expected);
          return copyTo(source, temporary, signal);
        }),
      );
    };
    const keep = (digest: FileDigest): FileDigest => {
      const kept = this.#pathOf(digest.sha256);
      renameSync(temporary, kept);
      this.#parts.pending.addFile(kept);
      return digest;
    };
    return orFail(
      () => andThen(copy(), keep),
      (error) => {
        try {
          removeIfThere(temporary);
        } catch {
          // What failed first says more.
        }
        throw toHostError(isOfCopy(error, this.#folder) ? this.#folder : path, error);
      },
    );
  }

  sizeBytes(sha256: string): number | null {
    return statSync(this.#pathOf(sha256), { throwIfNoEntry: false })?.size ?? null;
  }

  read(sha256: string): Uint8Array {
    const path = this.#pathOf(sha256);
    try {
      return readFileSync(path);
    } catch (error) {
      throw hostError(`backup ${sha256}`, errnoOf(error), error);
    }
  }

  restore(sha256: string, path: string, { signal, ...options }: RestoreOptions): MaybeWaiting<void> {
    if (this.sizeBytes(sha256) === null) throw hostError(`backup ${sha256}`, "ENOENT");
    return this.#parts.files.replaceFile(path, options, (target) =>
      withFile(this.#pathOf(sha256), (source) => copyFile(source, target, { signal })),
    );
  }

  prune(keep: ReadonlySet<string>): void {
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return;
      throw hostError(this.#folder, errnoOf(error), error);
    }
    for (const name of names) if (!keep.has(name)) removeIfThere(join(this.#folder, name));
  }

  #pathOf(sha256: string): string {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw hostError(`backup ${sha256}`, "EINVAL");
    return join(this.#folder, sha256);
  }
}

/** Whether the folder of the copies is what fails: it is its disk that is full, not that of the file. */
function isOfCopy(error: unknown, folder: string): boolean {
  const { syscall, path } = error as { syscall?: unknown; path?: unknown };
  const writes: readonly unknown[] = ["mkdir", "write", "ftruncate", "rename"];
  return writes.includes(syscall) || (typeof path === "string" && path.startsWith(`${folder}/`));
}

/** Copies an open file and takes its hash on the way. */
function copyTo(source: number, path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
  const hash = createHash("sha256");
  const target = openSync(path, "wx", 0o600);
  const take = (piece: Uint8Array): void => void hash.update(piece);
  return lastly(
    () =>
      andThen(copyFile(source, target, { take, signal }), (sizeBytes) => ({
        sha256: hash.digest("hex"),
        sizeBytes,
      })),
    () => closeSync(target),
  );
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw hostError(path, errnoOf(error), error);
  }
}
