/** The machine that the process runs on. */
import { hash } from "node:crypto";
import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";
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
  LeftProgram,
} from "./host.ts";
import { Leftovers, workName } from "./leftovers.ts";
import { askDownload } from "./local-ask-download.ts";
import { LocalBackups } from "./local-backups.ts";
import { downloadFile } from "./local-download.ts";
import { LocalFiles } from "./local-files.ts";
import { type HeldPath, LocalPaths } from "./local-paths.ts";
import { HeldPrograms, type ScopeKind } from "./local-programs.ts";
import { runProgram } from "./local-run.ts";
import { PendingWrites } from "./local-sync.ts";
import { LocalUsers } from "./local-users.ts";
import { ownProcess } from "./own-process.ts";
import { withPaths } from "./program-paths.ts";
import { accountEnvironment, ownHome, requireStarted, startAs, type StartAs } from "./run-as.ts";
import { ownMark } from "./temporary-files.ts";

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
  /**
   * How it is known what a program has started, so that all of it can be ended. "cgroup": Linux with cgroups of version 2
   * that this process may make; "subreaper": a mark in the environment of programs, and this process adopts orphans.
   * Default: "cgroup" where it can be.
   */
  holdBy?: ScopeKind;
}

/**
 * Gives the state engine this machine. File calls block the process for as long as the disk takes; {@link LocalHost.run},
 * {@link LocalHost.download} and {@link LocalHost.barrier} never do.
 */
export class LocalHost implements Host {
  readonly platform: string = process.platform;
  readonly isConfined: boolean;
  readonly mark = ownMark;
  readonly files: HostFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  readonly #paths: LocalPaths;
  readonly #pending: PendingWrites;
  readonly #users = new LocalUsers();
  readonly #clock: Clock;
  readonly #programs: HeldPrograms;
  /** Absent where files are confined: it would be outside of their root. */
  readonly workFolder?: () => string;

  /** @throws {OrchestratorError} `CONFIGURATION_INVALID` where `root` is no folder that can be entered. */
  constructor(options: LocalHostOptions) {
    this.#paths = new LocalPaths(options.root);
    this.isConfined = this.#paths.root !== null;
    this.#clock = options.clock ?? systemClock;
    const leftovers = new Leftovers(options.stateFolder, this.#paths);
    this.#pending = new PendingWrites((path) => this.#paths.holdLasting(path), leftovers);
    this.#programs = new HeldPrograms(options.stateFolder, options.holdBy);
    const { stateFolder } = options;
    if (!this.isConfined) {
      this.workFolder = () => {
        mkdirSync(stateFolder, { recursive: true, mode: 0o700 });
        return join(realpathSync(stateFolder), workName);
      };
    }
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
    const held: HeldPath[] = [];
    const reach = (path: string, isFolder: boolean): HeldPath => {
      const place = isFolder ? this.#paths.holdFolder(path) : this.#paths.holdThing(path);
      held.push(place);
      return place;
    };
    try {
      const cwd = reach(command.cwd ?? "/", true).real;
      const given = withPaths(command, (path) => reach(path, false).shown);
      const { argv, env, ids } = this.#startOf({ ...command, argv: given }, cwd);
      const hold = this.#programs.hold(command);
      const setting = { clock: this.#clock, signal, hold, options: { cwd, env, ...ids } };
      const result = await runProgram({ ...command, argv }, setting);
      if (argv !== given) requireStarted(command.argv, result);
      return result;
    } finally {
      for (const place of held) place.release();
      this.#users.forget();
      this.#paths.forget();
    }
  }

  endLeftPrograms(): Promise<LeftProgram[]> {
    return this.#programs.endLeft();
  }

  ownProcess(): HostProcess {
    return ownProcess();
  }

  askDownload(question: DownloadQuestion, signal: AbortSignal): Promise<string | null> {
    return askDownload(question, this.#clock, signal);
  }

  download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    return downloadFile(request, { paths: this.#paths, pending: this.#pending }, signal);
  }

  barrier(): Promise<void> {
    return this.#pending.flush();
  }

  #startOf({ argv, environment, user }: HostCommand, cwd: string): StartAs {
    const account = user === undefined ? null : this.#users.account(user);
    if (user !== undefined && !account) throw hostError(`user ${user}`, "ENOENT");
    const own = account ? accountEnvironment(account) : { HOME: ownHome() };
    const env = { PATH: searchPath, ...own, LANG: "C.UTF-8", ...environment };
    const start: StartAs = { argv, env, ids: {} };
    return account ? startAs(account, start, cwd) : start;
  }
}
