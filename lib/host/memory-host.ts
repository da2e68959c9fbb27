/** A machine in memory: files, users and programs that exist only as long as the object. */
import { createHash } from "node:crypto";
import { downloadFailed, parseDownloadUrl } from "./download-url.ts";
import { hostError } from "./host-error.ts";
import type {
  DownloadQuestion,
  FileDigest,
  Host,
  HostBackups,
  HostCommand,
  HostCommandResult,
  HostDownload,
  HostFiles,
  HostProcess,
  HostUsers,
} from "./host.ts";
import { MemoryFiles } from "./memory-files.ts";
import { withPaths } from "./program-paths.ts";

/** What a program does: a result without the parts that it has nothing to say about. */
export type MemoryProgram = (
  command: HostCommand,
  signal: AbortSignal,
) => Partial<HostCommandResult> | Promise<Partial<HostCommandResult>>;

/** What a server gives: the content, or what finds it. */
export type MemoryDownload =
  Uint8Array | ((request: HostDownload, signal: AbortSignal) => Uint8Array | Promise<Uint8Array>);

/** How a machine in memory begins. */
export interface MemoryHostOptions {
  /** Default: "linux". */
  platform?: string;
  /** Whether it passes for a machine whose files are below a root folder. Default: false. */
  isConfined?: boolean;
  /** Users and their numbers, until there is an /etc/passwd that says more. Default: root is 0. */
  users?: Readonly<Record<string, number>>;
  /** Groups and their numbers, until there is an /etc/group. Default: root is 0. */
  groups?: Readonly<Record<string, number>>;
  /** Programs by the first argument of their command. What is not here does not exist. */
  programs?: Readonly<Record<string, MemoryProgram>>;
  /** The process that it passes for. Default: process 1000, begun with the machine, in no control group. */
  ownProcess?: HostProcess;
  /** What can be downloaded, by address. What is not here answers 404. */
  downloads?: Readonly<Record<string, MemoryDownload>>;
}

/** One call that changed something or ran a program. */
export interface HostWrite {
  /** Name of the call, e.g. "writeFile". */
  call: string;
  /** The path, or the program. */
  path: string;
}

/**
 * A host whose machine is an object: for tests, and for trying modules without a machine.
 *
 * @example
 * ```ts
 * import { MemoryHost } from "fleetwright/testing";
 *
 * const host = new MemoryHost({ users: { root: 0, web: 33 } });
 * host.files.makeDirectory("/etc", {});
 * host.files.writeFile("/etc/motd", Buffer.from("hello\n"), { uid: 33 });
 * console.log(host.writes.length); // 2
 * ```
 */
export class MemoryHost implements Host {
  readonly platform: string;
  readonly isConfined: boolean;
  readonly mark = "0123456789abcdef";
  readonly workFolder = (): string => `/.fleetwright-${this.mark}-work`;
  readonly files: MemoryFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  /** Every change and every program that was run, in order. */
  readonly writes: HostWrite[] = [];
  /** How often {@link MemoryHost.barrier} was reached. */
  barriers = 0;
  readonly #programs: Readonly<Record<string, MemoryProgram>>;
  readonly #downloads: Readonly<Record<string, MemoryDownload>>;
  readonly #ownProcess: HostProcess;
  readonly #kept = new Map<string, Uint8Array>();

  constructor(options: MemoryHostOptions = {}) {
    this.platform = options.platform ?? "linux";
    this.isConfined = options.isConfined ?? false;
    this.files = new MemoryFiles(this.writes);
    this.users = memoryUsers(this.files, options);
    this.backups = this.#createBackups(this.files);
    this.#programs = options.programs ?? {};
    this.#downloads = options.downloads ?? {};
    this.#ownProcess = options.ownProcess ?? { line: [{ pid: 1000, begun: 0 }], cgroups: [], uid: 0 };
  }

  sha256(content: Uint8Array): string {
    return createHash("sha256").update(content).digest("hex");
  }

  async run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    signal.throwIfAborted();
    const [name] = command.argv;
    const program = this.#programs[name];
    const { user, cwd = "/" } = command;
    if (user !== undefined && !/^\d+$/.test(user) && this.users.userId(user) === null)
      throw hostError(`user ${user}`, "ENOENT");
    this.files.ledBy(cwd);
    if (!this.files.stat(cwd) || !program) throw hostError(name, "ENOENT");
    const argv = withPaths(command, (path) => (this.files.ledBy(path), path));
    this.writes.push({ call: "run", path: name });
    const time = command.timeoutMs === undefined ? null : AbortSignal.timeout(command.timeoutMs);
    const answer = await program({ ...command, argv }, time ? AbortSignal.any([signal, time]) : signal);
    const result: HostCommandResult = {
      exitCode: 0,
      signal: null,
      timedOut: time?.aborted === true,
      stdout: "",
      stderr: "",
      truncated: { stdout: false, stderr: false },
      ...answer,
    };
    for (const stream of ["stdout", "stderr"] as const) {
      if (result[stream] !== "") command.onOutput?.(stream, Buffer.from(result[stream]));
    }
    return result;
  }

  async download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    signal.throwIfAborted();
    const { path, sha256, attributes, maxBytes = Infinity } = request;
    const url = parseDownloadUrl(request.url);
    const answer = this.#downloads[request.url];
    if (answer === undefined) throw downloadFailed(url, "the server answered 404", { status: 404 });
    if (this.files.stat(path)?.kind === "directory") throw hostError(path, "EISDIR");
    const content = typeof answer === "function" ? await answer(request, signal) : answer;
    signal.throwIfAborted();
    if (content.length > maxBytes) throw downloadFailed(url, `it is longer than ${maxBytes} bytes`);
    const found = this.sha256(content);
    if (found !== sha256) throw downloadFailed(url, `its SHA-256 is ${found}, not ${sha256}`);
    this.files.writeFile(path, content, attributes);
    return { sha256, sizeBytes: content.length };
  }

  ownProcess(): HostProcess {
    return this.#ownProcess;
  }

  async askDownload(
    { url: text, maxBytes = Infinity }: DownloadQuestion,
    signal: AbortSignal,
  ): Promise<null> {
    signal.throwIfAborted();
    const url = parseDownloadUrl(text);
    const answer = this.#downloads[text];
    if (answer === undefined) throw downloadFailed(url, "the server answered 404", { status: 404 });
    if (typeof answer !== "function" && answer.length > maxBytes)
      throw downloadFailed(url, `it is longer than ${maxBytes} bytes`);
    return null;
  }

  async barrier(): Promise<void> {
    this.barriers += 1;
  }

  #copy(sha256: string): Uint8Array {
    const content = this.#kept.get(sha256);
    if (!content) throw hostError(`backup ${sha256}`, "ENOENT");
    return content;
  }

  #createBackups(files: HostFiles): HostBackups {
    return {
      below: (folder) => this.#createBackups(files.below(folder)),
      save: (path, { expected } = {}) => {
        const content = files.readFile(path, expected);
        const sha256 = this.sha256(content);
        this.#kept.set(sha256, content);
        return { sha256, sizeBytes: content.length };
      },
      sizeBytes: (sha256) => this.#kept.get(sha256)?.length ?? null,
      read: (sha256) => Uint8Array.from(this.#copy(sha256)),
      restore: (sha256, path, { signal: _signal, ...options }) =>
        files.writeFile(path, this.#copy(sha256), options),
      prune: (keep) => {
        for (const sha256 of this.#kept.keys()) if (!keep.has(sha256)) this.#kept.delete(sha256);
      },
    };
  }
}

function memoryUsers(
  files: MemoryFiles,
  { users = { root: 0 }, groups = { root: 0 } }: MemoryHostOptions,
): HostUsers {
  const idOf = (table: IdTable, name: string): number | null => table.get(name) ?? null;
  const nameOf = (table: IdTable, id: number): string | null =>
    [...table].find(([, entry]) => entry === id)?.[0] ?? null;
  const userTable = (): IdTable => readIds(files, "/etc/passwd") ?? new Map(Object.entries(users));
  const groupTable = (): IdTable => readIds(files, "/etc/group") ?? new Map(Object.entries(groups));
  return {
    userId: (name) => idOf(userTable(), name),
    groupId: (name) => idOf(groupTable(), name),
    userName: (uid) => nameOf(userTable(), uid),
    groupName: (gid) => nameOf(groupTable(), gid),
  };
}

type IdTable = ReadonlyMap<string, number>;

/** The names and numbers of an account file of the machine; null where it has none. */
function readIds(files: MemoryFiles, path: string): IdTable | null {
  if (files.stat(path)?.kind !== "file") return null;
  const lines = new TextDecoder().decode(files.readFile(path)).split("\n");
  const entries = lines.map((line) => line.split(":")).filter((fields) => fields.length > 2);
  return new Map(entries.map(([name = "", , id]) => [name, Number(id)]));
}
