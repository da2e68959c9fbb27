/** PORT: what a resource may do to a machine. Everything that the state engine does goes through here. */
import type { HostCommand, HostCommandResult, HostProcess, LeftProgram } from "./host-command.ts";

export type { HostCommand, HostCommandResult, HostProcess, LeftProgram } from "./host-command.ts";

/**
 * What a resource may do to a machine. Everything that the state engine does goes through here.
 *
 * File calls are synchronous: on a running agent they cost a tenth of their promise twins, and the engine runs them in
 * short slices. Paths are absolute.
 *
 * What every host promises (each number is the `promise` of cases of the conformance suite in `fleetwright/testing`):
 *
 * 1. `stat` tells what stands at a path and never follows a link there; nothing there is null, not an error.
 * 2. `writeFile` replaces the whole content at once; mode and owner of a file that stood there stay where not given; a new
 *    file is 0600. A link at the path is replaced, its target never touched.
 * 3. Reading, hashing and comparing see the same bytes; these and listing never follow a link.
 * 4. Folders are made with the given mode (default 0700) and removed only while empty; `list` is sorted.
 * 5. Links are made or replaced at once; their target is stored as given.
 * 6. `setAttributes` changes what is given and nothing else, of whatever stands there, also a pipe, socket or device; but a file that
 *    gets another owner or group loses its set-id bits where no mode is given, here and with every write. A link gets an
 *    owner itself and refuses a mode; its target is never touched. Nobody who had a file open changes what it is by then: see there.
 * 7. A refusal of the machine is `HOST_ERROR` with `details { path, errno }`, and has changed nothing.
 * 8. Backups are kept by content; restoring one gives back the same bytes; pruning forgets all but those named.
 * 9. `run` gives exit code and output, takes standard input, and rejects only for what can't be started: no such program,
 *    user or folder. When the signal is aborted or the time is over it ends the program and whatever that started, also what
 *    detached itself or ignores SIGTERM, and resolves when nothing of it is left. What a program leaves running when it ends
 *    by itself lives on. `endLeftPrograms` ends what was running when an earlier life of the host was killed.
 * 10. `barrier` resolves after any number of changes, also when what was changed is gone again.
 * 11. Confined to a root folder, no path leads out of it, neither by `..` nor by a link above it: `PATH_OUTSIDE_ROOT`.
 *     (Capability "root".) `isConfined` says so.
 * 12. `below`, of files and of backups, refuses whatever leads through a link below its folder, and what is not below it.
 * 13. `download` puts a file in its place only when its SHA-256 is right, and leaves nothing else behind; `DOWNLOAD_FAILED`
 *     names no user, password or query of the address. Addresses are http or https, and no redirect leads back to http.
 *     What `askDownload` says can't be had, a download says in the same words; it fetches and leaves nothing.
 * 14. What is read or kept with what was seen before, `expected`, is that file, or it is refused: `HOST_ERROR`, `ESTALE`.
 * 15. The extras of a file stay with every write, download and restore, and with `setAttributes`; where others are given it
 *     has exactly these. At no moment is what was written open to more than the old file or the new mode lets in. What can't
 *     be kept is refused, `HOST_ERROR` with `details.extras`, unless `loseExtras` says otherwise. (Capability "extras")
 * 16. `stat` tells the names of a file that has several. With `keepLinks` a write reaches all of them, else the path alone.
 *     (Capability "links")
 * 17. What `requireChangeable` refuses, a change of that kind refuses in the same words, and has changed nothing.
 *     (Capability "held")
 * 18. Nobody who can change a folder leads what is done elsewhere, neither by what stands there nor (on Linux) by what he
 *     puts there meanwhile. A link in a folder that somebody else than root and the agent can change is followed only where
 *     that folder, and all that the path goes through from there on, belongs to the owner of the folder, and the link to
 *     him or to root: else `HOST_ERROR`, `ELOOP`. A file in it with several names is neither read nor changed unless it
 *     is his: `HOST_ERROR`, `EMLINK`. It holds for every path of every call, and of what a program `opens` and begins in.
 * 19. `ownProcess` is the process that starts the programs, and stays so for the life of the host.
 */
export interface Host {
  /** As Node names it: "linux", "darwin", ... */
  readonly platform: string;
  /**
   * Whether a root folder stands for `/`. It confines files alone: a program that acts on the machine itself, such as
   * useradd(8), would act outside of it.
   */
  readonly isConfined: boolean;
  /**
   * Stands in the name of what is written beside a file before it takes its place: 16 hex digits, others for each life of the
   * host. What a kill leaves is known by it.
   */
  readonly mark: string;
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
   * Names a folder where only the host can put anything, for work that a program does by names. Nothing stands there; who
   * makes it takes it away again. Absent where files have no such folder.
   */
  workFolder?(): string;
  /**
   * Ends what an earlier life of this host was running when it was killed, and tells what that was. Called before anything
   * is run, and only where no other life can be using the machine. Absent where no program outlives the host.
   */
  endLeftPrograms?(): Promise<LeftProgram[]>;
  /** Where the host runs on the machine, for who asks what would end it. Absent where that is another machine, or not known. */
  ownProcess?(): HostProcess;
  /**
   * Fetches a file; aborting the signal ends it. At most five redirects are followed.
   *
   * @throws {OrchestratorError} `DOWNLOAD_FAILED` where the file can't be had or is not the one that was asked for;
   *   `HOST_ERROR` where the machine refuses to keep it.
   */
  download(request: HostDownload, signal: AbortSignal): Promise<FileDigest>;
  /**
   * Asks the server whether a file can be had, and fetches nothing: for a plan. It goes the way of {@link download}, redirects
   * included, and waits for ten seconds at most. Resolves with why that can't be told, in one sentence; null = it can be had as far
   * as the server tells. Absent where nobody can be asked.
   *
   * @throws {OrchestratorError} `DOWNLOAD_FAILED` where it can't be had, in the words of a download.
   */
  askDownload?(question: DownloadQuestion, signal: AbortSignal): Promise<string | null>;
  /** Resolves when every change made so far survives a power loss: one barrier for a whole run. */
  barrier(): Promise<void>;
}

/** What stands at a path; links are not followed. */
export interface FileStat {
  kind: "file" | "directory" | "symlink" | "other";
  /** Permission bits, e.g. 0o644. */
  mode: number;
  uid: number;
  gid: number;
  sizeBytes: number;
  /** How many names (hard links) a file has, where it is more than one. */
  links?: number;
}

/** What a file or folder has beside content, mode and owner. JSON, to be kept and given back. */
export interface FileExtras {
  /** Extended attributes by name, in base64: ACLs, capabilities and security labels are among them. */
  attributes?: Readonly<Record<string, string>> | undefined;
  /** Flags as chattr(1) sets them, without those that forbid changes. Absent = none. */
  flags?: number | undefined;
}

/** How a file or folder is to be. What is absent stays as it was. */
export interface FileAttributes {
  /** Of a file with an ACL these are the bits that stat(2) shows: those of the group are its mask. */
  mode?: number;
  uid?: number;
  gid?: number;
  /** Exactly these. */
  extras?: FileExtras;
}

/** How the attributes of what stands are changed. */
export interface ChangeOptions extends FileAttributes {
  /**
   * Leaves a file of several names in its place, so that all of them go on naming it. What is written so is not atomic: who reads
   * meanwhile may see a part. Default: no.
   */
  keepLinks?: boolean;
  /** Goes on where the file can't have an extra any more that it had. Default: refused. */
  loseExtras?: boolean;
}

/** How a file is written. */
export interface WriteOptions extends ChangeOptions {
  /** Keeps nothing of what stood there, its owner neither: for a file of the agent's own in a folder of somebody else. Default: no. */
  fresh?: boolean;
}

/** A kind of change: content, mode and owner, or another thing (or nothing) in the place. */
export type FileChange = "write" | "attributes" | "replace";
/** Whose something is to be. */
export type FileOwner = Pick<FileAttributes, "uid" | "gid">;

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

/** A file to fetch. */
export interface HostDownload {
  /** http or https. A user and password in it are sent to its own server only. */
  url: string;
  /** Where the file goes. What stands there stays until the new content is known to be right. */
  path: string;
  /** What the content must be, hex. */
  sha256: string;
  /** As for {@link HostFiles.writeFile}. */
  attributes: WriteOptions;
  /** A longer content is refused as soon as that shows. Default 4 GiB. */
  maxBytes?: number;
  /** Sent to the address itself, not to a server that it redirects to. May be secret. */
  headers?: Readonly<Record<string, string>>;
}

/** Whether a file can be had, as {@link HostDownload} would fetch it. */
export type DownloadQuestion = Pick<HostDownload, "url" | "headers" | "maxBytes">;

/** Files and folders of a machine. */
export interface HostFiles {
  /**
   * The same files for paths below a folder that somebody else may write to: no link among the folders below it is
   * followed, `HOST_ERROR` with errno ELOOP instead. On Linux also one that is put there while a call is made.
   */
  below(folder: string): HostFiles;
  /** Null where nothing stands. */
  stat(path: string): FileStat | null;
  /**
   * The owner of the first folder on the way to a path, or of the folder that stands there, that somebody else than root and
   * the agent can change: he can lead a program that goes there by itself. Null where there is none.
   */
  ledBy(path: string): number | null;
  /** With `expected`, `HOST_ERROR` with errno ESTALE unless the file that was opened is as `stat` told. */
  readFile(path: string, expected?: FileStat): Uint8Array;
  /**
   * SHA-256 of a file's content, hex, and its size, in one pass. At once for a small file; one of many megabytes lets others
   * have their turn in between, and is left where the signal is aborted.
   */
  hashFile(path: string, signal?: AbortSignal): FileDigest | Promise<FileDigest>;
  /** What stands at a path, and whether it is a file with exactly this content: one open, and no read where the size tells. */
  compareFile(path: string, content: Uint8Array): FileComparison;
  /**
   * Where a link points, as it was given; a byte that is no part of UTF-8 is the lone surrogate U+DC00 and its value, which
   * `makeSymlink` makes the byte again. `HOST_ERROR` where no link stands.
   */
  readLink(path: string): string;
  /** What a file or folder has beside content, mode and owner; null where nothing stands or the system can't tell. */
  extras(path: string): FileExtras | null;
  /**
   * Changes nothing.
   *
   * @throws OrchestratorError `HOST_ERROR` where what stands at the path, or its folder, is held as it is: EPERM where it is
   *   immutable or append-only, EBUSY where something is mounted there that would have to go, EROFS where that, or the disk, is read-only;
   *   EMLINK and EPERM where it is somebody else's by another name, or a new file is needed and none can be put there; and
   *   where it would lose an extra, as far as that can be told before.
   */
  requireChangeable(path: string, change: FileChange, options?: WriteOptions): void;
  /** Names in a folder, sorted. */
  list(path: string): string[];
  /**
   * Writes atomically: a temporary file in the same folder, then rename. Owner, mode and extras of a file that stood there are
   * kept where not given. What can't be renamed over, since it is mounted there, is written in its place.
   */
  writeFile(path: string, content: Uint8Array, options: WriteOptions): void;
  /** Makes one folder, whose parent must be there; mode 0700 where none is given. `HOST_ERROR` where something stands. */
  makeDirectory(path: string, attributes: FileAttributes): void;
  /** Makes or replaces a link, atomically. It belongs to who is given, else to the agent. */
  makeSymlink(path: string, target: string, owner?: FileOwner): void;
  /**
   * Renames a file or link, in the place of a file or link that stands there; copies it, as it is, where that is another file
   * system: a power loss before the next barrier may then leave neither, so it is for what can be made again. Of files below a folder, what comes may stand anywhere. A promise only where it is large.
   */
  move(from: string, to: string): void | Promise<void>;
  /**
   * Changes what is given. A file that its unprivileged owner gives up, or that gets a set-id bit or capabilities where others
   * than root could write to it, becomes a new file of the same content: who has the old one open changes nothing of it.
   * A promise only where it is large. `HOST_ERROR`, EPERM, where the file has to stay in its place then.
   */
  setAttributes(path: string, attributes: ChangeOptions): void | Promise<void>;
  /** Removes whatever stands there but a folder; a link itself. */
  removeFile(path: string): void;
  /** Removes an empty folder. */
  removeDirectory(path: string): void;
}

/** Users and groups by name; null where there is none. */
export interface HostUsers {
  /** The number of a user. */
  userId(name: string): number | null;
  /** The number of a group. */
  groupId(name: string): number | null;
  /** The name of a user. */
  userName(uid: number): string | null;
  /** The name of a group. */
  groupName(gid: number): string | null;
}

/** How a copy is kept. */
export interface BackupOptions {
  /** As for {@link HostFiles.readFile}. */
  expected?: FileStat;
  /** Leaves a large file where it is; nothing is kept then. */
  signal?: AbortSignal;
}

/** How a copy comes back: as for {@link HostFiles.writeFile}. */
export interface RestoreOptions extends WriteOptions {
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
