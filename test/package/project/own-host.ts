/** A host of one's own: another one that counts what is done to it. */
import {
  hostError,
  type BackupOptions,
  type FileChangeOptions,
  type FileAttributes,
  type FileChange,
  type FileComparison,
  type FileDigest,
  type FileExtras,
  type FileOwner,
  type FileStat,
  type Host,
  type HostBackups,
  type HostCommand,
  type HostCommandResult,
  type HostDownload,
  type HostFiles,
  type HostUsers,
  type LeftProgram,
  type CopyRestoreOptions,
  type WriteOptions,
} from "fleetwright/ports";

/** Counts what is done. */
export interface Tally {
  calls: number;
}

export class OwnHost implements Host {
  readonly tally: Tally = { calls: 0 };
  readonly platform: string;
  readonly isConfined: boolean;
  readonly mark: string;
  readonly files: HostFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
    this.platform = host.platform;
    this.isConfined = host.isConfined;
    this.mark = host.mark;
    this.files = new OwnFiles(host.files, this.tally);
    this.users = host.users;
    this.backups = new OwnBackups(host.backups, this.tally);
  }

  sha256(content: Uint8Array): string {
    return this.#host.sha256(content);
  }

  async run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    this.tally.calls += 1;
    if (command.argv[0] === "forbidden") throw hostError("forbidden", "EACCES");
    return this.#host.run(command, signal);
  }

  async endLeftPrograms(): Promise<LeftProgram[]> {
    return (await this.#host.endLeftPrograms?.()) ?? [];
  }

  async download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    this.tally.calls += 1;
    return this.#host.download(request, signal);
  }

  async barrier(): Promise<void> {
    await this.#host.barrier();
  }
}

class OwnFiles implements HostFiles {
  readonly #files: HostFiles;
  readonly #tally: Tally;

  constructor(files: HostFiles, tally: Tally) {
    this.#files = files;
    this.#tally = tally;
  }

  below(folder: string): HostFiles {
    return new OwnFiles(this.#files.below(folder), this.#tally);
  }
  stat(path: string): FileStat | null {
    return this.#files.stat(path);
  }
  ledBy(path: string): number | null {
    return this.#files.ledBy(path);
  }
  readFile(path: string, expected?: FileStat): Uint8Array {
    return this.#files.readFile(path, expected);
  }
  hashFile(path: string, signal?: AbortSignal): FileDigest | Promise<FileDigest> {
    return this.#files.hashFile(path, signal);
  }
  compareFile(path: string, content: Uint8Array): FileComparison {
    return this.#files.compareFile(path, content);
  }
  readLink(path: string): string {
    return this.#files.readLink(path);
  }
  extras(path: string): FileExtras | null {
    return this.#files.extras(path);
  }
  requireChangeable(path: string, change: FileChange, options?: WriteOptions): void {
    this.#files.requireChangeable(path, change, options);
  }
  list(path: string): string[] {
    return this.#files.list(path);
  }
  writeFile(path: string, content: Uint8Array, options: WriteOptions): void {
    this.#tally.calls += 1;
    this.#files.writeFile(path, content, options);
  }
  makeDirectory(path: string, attributes: FileAttributes): void {
    this.#tally.calls += 1;
    this.#files.makeDirectory(path, attributes);
  }
  makeSymlink(path: string, target: string, owner?: FileOwner): void {
    this.#tally.calls += 1;
    this.#files.makeSymlink(path, target, owner);
  }
  move(from: string, to: string): void | Promise<void> {
    this.#tally.calls += 1;
    return this.#files.move(from, to);
  }
  setAttributes(path: string, attributes: FileChangeOptions): void | Promise<void> {
    this.#tally.calls += 1;
    return this.#files.setAttributes(path, attributes);
  }
  removeFile(path: string): void {
    this.#tally.calls += 1;
    this.#files.removeFile(path);
  }
  removeDirectory(path: string): void {
    this.#tally.calls += 1;
    this.#files.removeDirectory(path);
  }
}

class OwnBackups implements HostBackups {
  readonly #backups: HostBackups;
  readonly #tally: Tally;

  constructor(backups: HostBackups, tally: Tally) {
    this.#backups = backups;
    this.#tally = tally;
  }

  below(folder: string): HostBackups {
    return new OwnBackups(this.#backups.below(folder), this.#tally);
  }
  save(path: string, options?: BackupOptions): FileDigest | Promise<FileDigest> {
    return this.#backups.save(path, options);
  }
  sizeBytes(sha256: string): number | null {
    return this.#backups.sizeBytes(sha256);
  }
  read(sha256: string): Uint8Array {
    return this.#backups.read(sha256);
  }
  restore(sha256: string, path: string, options: CopyRestoreOptions): void | Promise<void> {
    this.#tally.calls += 1;
    return this.#backups.restore(sha256, path, options);
  }
  prune(keep: ReadonlySet<string>): void {
    this.#backups.prune(keep);
  }
}
