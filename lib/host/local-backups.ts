import { createHash, randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, renameSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { isOrchestratorError } from "../errors.ts";
import type { FileAttributes, FileDigest, HostBackups } from "./host.ts";
import { errnoOf, hostError } from "./host-error.ts";
import { eachPiece, type LocalFiles, withFile, writeAll } from "./local-files.ts";
import type { LocalPaths } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";

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

  save(path: string): FileDigest {
    const temporary = join(this.#folder, `.${randomBytes(8).toString("hex")}`);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      const digest = withFile(this.#parts.paths.resolve(path), (source) => copyTo(source, temporary));
      const kept = this.#pathOf(digest.sha256);
      renameSync(temporary, kept);
      this.#parts.pending.addFile(kept);
      return digest;
    } catch (error) {
      removeIfThere(temporary);
      throw isOrchestratorError(error) ? error : hostError(path, errnoOf(error), error);
    }
  }

  sizeBytes(sha256: string): number | null {
    return statSync(this.#pathOf(sha256), { throwIfNoEntry: false })?.size ?? null;
  }

  restore(sha256: string, path: string, attributes: FileAttributes): void {
    if (this.sizeBytes(sha256) === null) throw hostError(`backup ${sha256}`, "ENOENT");
    this.#parts.files.replaceFile(path, attributes, (target) =>
      withFile(this.#pathOf(sha256), (source) => eachPiece(source, (piece) => writeAll(target, piece))),
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

/** Copies an open file and takes its hash on the way. */
function copyTo(source: number, path: string): FileDigest {
  const hash = createHash("sha256");
  const target = openSync(path, "wx", 0o600);
  try {
    const sizeBytes = eachPiece(source, (piece) => {
      hash.update(piece);
      writeAll(target, piece);
    });
    return { sha256: hash.digest("hex"), sizeBytes };
  } finally {
    closeSync(target);
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw hostError(path, errnoOf(error), error);
  }
}
