/** The machine that the process runs on. */
import { hash } from "node:crypto";
import { userInfo } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";
import type {
  FileDigest,
  Host,
  HostBackups,
  HostCommand,
  HostCommandResult,
  HostDownload,
  HostFiles,
  HostUsers,
} from "./host.ts";
import { hostError } from "./host-error.ts";
import { LocalBackups } from "./local-backups.ts";
import { downloadFile } from "./local-download.ts";
import { LocalFiles } from "./local-files.ts";
import { LocalPaths } from "./local-paths.ts";
import { runProgram, type RunSetting } from "./local-run.ts";
import { PendingWrites } from "./local-sync.ts";
import { LocalUsers } from "./local-users.ts";

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** How a host uses its machine. */
export interface LocalHostOptions {
  /** Folder of the agent itself, for backups; made when needed, with mode 0700. Never inside `root`. */
  stateFolder: string;
  /**
   * Folder that stands for `/`: no file outside is read or written. Default: the whole machine. It confines files alone;
   * a program begins in it and may do whatever its user may. Types of resources that act on the machine through programs
   * are refused with `HOST_ERROR`.
   */
  root?: string;
  /** Default: the process's clock. */
  clock?: Clock;
}

/**
 * Gives the state engine this machine. File calls block the process for as long as the disk takes; {@link LocalHost.run},
 * {@link LocalHost.download} and {@link LocalHost.barrier} never do.
 */
export class LocalHost implements Host {
  readonly platform: string = process.platform;
  readonly isConfined: boolean;
  readonly files: HostFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  readonly #paths: LocalPaths;
  readonly #pending = new PendingWrites();
  readonly #users = new LocalUsers();
  readonly #clock: Clock;

  /** @throws {OrchestratorError} `CONFIGURATION_INVALID` where `root` is no folder that can be entered. */
  constructor(options: LocalHostOptions) {
    this.#paths = new LocalPaths(options.root);
    this.isConfined = this.#paths.root !== null;
    this.#clock = options.clock ?? systemClock;
    const files = new LocalFiles(this.#paths, this.#pending);
    this.files = files;
    this.users = this.#users;
    const parts = { files, paths: this.#paths, pending: this.#pending };
    this.backups = new LocalBackups(join(options.stateFolder, "backups"), parts);
  }

  sha256(content: Uint8Array): string {
    return hash("sha256", content);
  }

  async run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    signal.throwIfAborted();
    const options = this.#spawnOptions(command);
    try {
      return await runProgram(command, { clock: this.#clock, signal, options });
    } finally {
      this.#users.forget();
    }
  }

  download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    return downloadFile(request, { paths: this.#paths, pending: this.#pending }, signal);
  }

  barrier(): Promise<void> {
    return this.#pending.flush();
  }

  #spawnOptions({ cwd, environment, user }: HostCommand): RunSetting["options"] {
    const account = user === undefined ? null : this.#users.account(user);
    if (user !== undefined && !account) throw hostError(`user ${user}`, "ENOENT");
    const home = account?.home ?? userInfo().homedir;
    const env = { PATH: searchPath, HOME: home, LANG: "C.UTF-8", ...environment };
    // Setting the ids makes Node drop every supplementary group too.
    const ids = account && account.uid !== process.getuid?.() ? { uid: account.uid, gid: account.gid } : {};
    return { cwd: this.#paths.resolveFolder(cwd ?? "/"), env, ...ids };
  }
}
