/**
 * PORT: what a resource may do to a machine. Everything that the state engine does goes through here.
 *
 * File calls are synchronous: on a running agent they cost a tenth of their promise twins, and the engine runs them in
 * short slices. Paths are absolute.
 *
 * Promises, each a part of the conformance suite (`lib/testing/host-conformance.ts`):
 * 1. `stat` tells what stands at a path and never follows a link there; nothing there is null, not an error.
 * 2. `writeFile` replaces the whole content at once; mode and owner of a file that stood there stay where not given; a new
 *    file is 0600. A link at the path is replaced, its target never touched.
 * 3. Reading, hashing and comparing see the same bytes; these and listing never follow a link.
 * 4. Folders are made with the given mode (default 0700) and removed only while empty; `list` is sorted.
 * 5. Links are made or replaced at once; their target is stored as given.
 * 6. `setAttributes` changes what is given and nothing else, and refuses a link.
 * 7. A refusal of the machine is `HOST_ERROR` with `details { path, errno }`, and has changed nothing.
 * 8. Backups are kept by content; restoring one gives back the same bytes; pruning forgets all but those named.
 * 9. `run` gives exit code and output, takes standard input, ends the program when the signal is aborted, and rejects only
 *    for what can't be started: no such program, user or folder.
 * 10. `barrier` resolves after any number of changes, also when what was changed is gone again.
 * 11. Confined to a root folder, no path leads out of it, neither by `..` nor by a link above it: `PATH_OUTSIDE_ROOT`.
 *     (Capability "root".) `isConfined` says so.
 * 12. `below`, of files and of backups, refuses whatever leads through a link below its folder, and what is not below it.
 * 13. `download` puts a file in its place only when its SHA-256 is right, and leaves nothing else behind; `DOWNLOAD_FAILED`
 *     names no user, password or query of the address. Addresses are http or https, and no redirect leads back to http.
 * 14. What is read or kept with what was seen before, `expected`, is that file, or it is refused: `HOST_ERROR`, `ESTALE`.
 */

/** What stands at a path; links are not followed. */
export interface FileStat {
  kind: "file" | "directory" | "symlink" | "other";
  /** Permission bits, e.g. 0o644. */
  mode: number;
  uid: number;
  gid: number;
  sizeBytes: number;
}

/** How a file or folder is to be. What is absent stays as it was. */
export interface FileAttributes {
  mode?: number;
  uid?: number;
  gid?: number;
}

/** The content of a file in short. */
export interface FileDigest {
  /** Hex. */
  sha256: string;
  sizeBytes: number;
}

/** A file beside the content that it should have. */
export interface FileComparison {
  /** Null where nothing stands. */
  stat: FileStat | null;
  /** False for anything but a file. */
  same: boolean;
}

/** A program to run: never a line for a shell to take apart. */
export interface HostCommand {
  argv: readonly [string, ...string[]];
  cwd?: string;
  /** The whole environment of the program beside PATH, HOME and LANG, which the host gives. */
  environment?: Readonly<Record<string, string>>;
  /** Name of the user to run as; absent = the agent's own. */
  user?: string;
  stdin?: string;
  /** Ends the program after this time. Absent = it may run until the signal ends it. */
  timeoutMs?: number;
  /**
   * Whether it is a question: the program tells something and changes nothing. Its output is then for who asked and nobody
   * else, and a plan asks it too. Default: no.
   */
  asks?: boolean;
  /** Output that is kept of each stream, bytes. Default 256 KiB. */
  maxOutputBytes?: number;
  /** Called with each piece of output as it comes, also with what the result has no room for. */
  onOutput?: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
}

/** How a program ended. Output beyond {@link HostCommand.maxOutputBytes} a stream is dropped and marked. */
export interface HostCommandResult {
  /** Null where a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  stdout: string;
  stderr: string;
  truncated: { stdout: boolean; stderr: boolean };
}

/** A file to fetch. */
export interface HostDownload {
  /** http or https. A user and password in it are sent to its own server only. */
  url: string;
  /** Where the file goes. What stands there stays until the new content is known to be right. */
  path: string;
  /** What the content must be, hex. */
  sha256: string;
  /** As for {@link HostFiles.writeFile}. */
  attributes: FileAttributes;
  /** A longer content is refused as soon as that shows. Default 4 GiB. */
  maxBytes?: number;
  /** Sent to the address itself, not to a server that it redirects to. May be secret. */
  headers?: Readonly<Record<string, string>>;
}

/** Files and folders of a machine. */
export interface HostFiles {
  /**
   * The same files for paths below a folder that somebody else may write to: no link among the folders below it is
   * followed, `HOST_ERROR` with errno ELOOP instead. On Linux also one that is put there while a call is made.
   */
  below(folder: string): HostFiles;
  /** Null where nothing stands. */
  stat(path: string): FileStat | null;
  /** With `expected`, `HOST_ERROR` with errno ESTALE unless the file that was opened is as `stat` told. */
  readFile(path: string, expected?: FileStat): Uint8Array;
  /**
   * SHA-256 of a file's content, hex, and its size, in one pass. At once for a small file; one of many megabytes lets others
   * have their turn in between, and is left where the signal is aborted.
   */
  hashFile(path: string, signal?: AbortSignal): FileDigest | Promise<FileDigest>;
  /** What stands at a path, and whether it is a file with exactly this content: one open, and no read where the size tells. */
  compareFile(path: string, content: Uint8Array): FileComparison;
  readLink(path: string): string;
  /** Names in a folder, sorted. */
  list(path: string): string[];
  /**
   * Writes atomically: a temporary file in the same folder, then rename. Owner and mode of a file that stood there are kept
   * where not given.
   */
  writeFile(path: string, content: Uint8Array, attributes: FileAttributes): void;
  makeDirectory(path: string, attributes: FileAttributes): void;
  /** Makes or replaces a link, atomically. */
  makeSymlink(path: string, target: string): void;
  setAttributes(path: string, attributes: FileAttributes): void;
  removeFile(path: string): void;
  /** Removes an empty folder. */
  removeDirectory(path: string): void;
}

/** Users and groups by name; null where there is none. */
export interface HostUsers {
  userId(name: string): number | null;
  groupId(name: string): number | null;
  userName(uid: number): string | null;
  groupName(gid: number): string | null;
}

/** How a copy is kept. */
export interface BackupOptions {
  /** As for {@link HostFiles.readFile}. */
  expected?: FileStat;
  /** Leaves a large file where it is; nothing is kept then. */
  signal?: AbortSignal;
}

/** How a copy comes back: the attributes of the file, as for {@link HostFiles.writeFile}. */
export interface RestoreOptions extends FileAttributes {
  /** Leaves a large file where it is; what stands at the path stays then. */
  signal?: AbortSignal;
}

/** Copies of files that stood before us, kept by content until nothing refers to them. They are secret: nobody else may read them. */
export interface HostBackups {
  /** The same copies for paths below a folder that somebody else may write to, as {@link HostFiles.below}. */
  below(folder: string): HostBackups;
  /** Keeps a copy of a file, of any size; waits as {@link HostFiles.hashFile} does. */
  save(path: string, options?: BackupOptions): FileDigest | Promise<FileDigest>;
  /** Null where it is not kept. */
  sizeBytes(sha256: string): number | null;
  /** The whole content of a kept copy. `HOST_ERROR` where it is not kept. */
  read(sha256: string): Uint8Array;
  /** Writes a kept copy to a path, as {@link HostFiles.writeFile} does; waits as `save` does. `HOST_ERROR` where it is not kept. */
  restore(sha256: string, path: string, options: RestoreOptions): void | Promise<void>;
  /** Forgets every copy but these. */
  prune(keep: ReadonlySet<string>): void;
}

/** What a resource may do to a machine. */
export interface Host {
  /** As Node names it: "linux", "darwin", ... */
  readonly platform: string;
  /**
   * Whether a root folder stands for `/`. It confines files alone: a program that acts on the machine itself, such as
   * useradd(8), would act outside of it.
   */
  readonly isConfined: boolean;
  readonly files: HostFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  /** SHA-256 of bytes, hex. */
  sha256(content: Uint8Array): string;
  /**
   * Runs a program to its end; aborting the signal ends it and everything it started. Rejects only where it could not be
   * started (`HOST_ERROR`).
   */
  run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult>;
  /**
   * Fetches a file; aborting the signal ends it. At most five redirects are followed.
   *
   * @throws {OrchestratorError} `DOWNLOAD_FAILED` where the file can't be had or is not the one that was asked for;
   *   `HOST_ERROR` where the machine refuses to keep it.
   */
  download(request: HostDownload, signal: AbortSignal): Promise<FileDigest>;
  /** Resolves when every change made so far survives a power loss: one barrier for a whole run. */
  barrier(): Promise<void>;
}
