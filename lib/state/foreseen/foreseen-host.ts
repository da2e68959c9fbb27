/** A machine as it will be. */
import { isOrchestratorError } from "../../errors.ts";
import { hostError, requireSame } from "../../host/host-error.ts";
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
} from "../../host/host.ts";
import { andThen } from "../../internal/maybe-waiting.ts";
import type { ForeseenMachine } from "../resource-type.ts";
import { AskedServers } from "./asked-servers.ts";
import type { AskedInVain } from "./bringers.ts";
import { ForeseenFiles, type ForeseenFilesParts } from "./foreseen-files.ts";
import { type ForeseenContent, type ForeseenPlace, ForeseenTree } from "./foreseen-tree.ts";
import { foreseenUsers } from "./foreseen-users.ts";
import { judgeCopies, wordsOf } from "./judged-copy.ts";

/**
 * A host over another one that is never changed: what is written here is kept in memory and read back from there. Programs
 * that would change something do nothing and succeed. Those that are asked something are run on the machine below, once
 * each, and know nothing of what is foreseen.
 */
export class ForeseenHost implements ForeseenMachine {
  readonly platform: string;
  readonly isConfined: boolean;
  readonly mark: string;
  readonly files: ForeseenFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  readonly ownProcess?: () => HostProcess;
  /** Why it can't be told what an apply would do; null = it can. */
  untold: string | null = null;
  /** On what a refusal rests beside its own words. */
  restingPlaces: readonly string[] = [];
  readonly #below: Host;
  readonly #tree: ForeseenTree;
  readonly #servers: AskedServers;
  readonly #answers = new Map<string, HostCommandResult | Error>();
  readonly #kept = new Map<string, ForeseenContent>();
  /** What was asked since the last {@link forgetQuestions}. */
  #questions: HostCommand[] = [];
  #hasReadUnknown = false;
  #looked = new Set<string>();

  /** @param below - The machine as it is. */
  constructor(below: Host) {
    this.#below = below;
    this.#servers = new AskedServers(below, this);
    this.platform = below.platform;
    this.isConfined = below.isConfined;
    this.mark = below.mark;
    if (below.ownProcess) this.ownProcess = below.ownProcess.bind(below);
    this.#tree = new ForeseenTree(below);
    const parts: ForeseenFilesParts = {
      tree: this.#tree,
      all: below.files,
      sha256: (content) => below.sha256(content),
      noteLook: (path) => this.#looked.add(path),
    };
    this.files = new ForeseenFiles(below.files, parts);
    this.users = foreseenUsers(this.files, below, this.#tree);
    this.backups = this.#createBackups(this.files, below.backups);
  }

  /** Whether anything differs from the machine below. */
  get isChanged(): boolean {
    return this.#tree.isChanged;
  }

  /** The same machine, which keeps no copy of what it is asked to keep, and reads it no further than to see that it can be. */
  withoutCopies(): Host {
    const lookAt = (backups: HostBackups, files: HostFiles): HostBackups => ({
      ...backups,
      below: (folder) => lookAt(backups.below(folder), files.below(folder)),
      save: (path, { expected } = {}) => {
        const { stat } = files.compareFile(path, new Uint8Array());
        if (stat) requireSame(path, stat, expected);
        return { sha256: "0".repeat(64), sizeBytes: stat?.sizeBytes ?? 0 };
      },
    });
    const { platform, isConfined, mark, files, users } = this;
    return {
      platform,
      isConfined,
      mark,
      files,
      users,
      backups: lookAt(this.backups, files),
      sha256: (content) => this.sha256(content),
      run: (command, signal) => this.run(command, signal),
      download: (request, signal) => this.download(request, signal),
      barrier: () => this.barrier(),
    };
  }

  cannotTell(why: string): void {
    this.untold ??= why;
  }

  refusalRestsOn(places: readonly string[]): void {
    this.restingPlaces = places;
  }

  /** Begins anew to note what is asked, looked at and said. */
  forgetQuestions(): void {
    this.#questions = [];
    this.#hasReadUnknown = false;
    this.#looked = new Set();
    this.untold = null;
    this.restingPlaces = [];
  }

  /** Whether something below a folder was looked at of which nothing is foreseen. */
  hasLookedBelow(folder: string): boolean {
    return [...this.#looked].some((path) => {
      const place = this.#placeOf(path);
      return place !== null && place.real.startsWith(`${folder}/`) && !this.#tree.says(place);
    });
  }

  /** Where something else is said than before, since it was asked last. */
  takeWritten(): string[] {
    return this.#tree.takeWritten();
  }

  /** A path with the links above it followed, those that are foreseen too; as it is where they can't be. */
  realPath(path: string): string {
    return this.#placeOf(path)?.real ?? path;
  }

  /** What was asked, of a program or a file, that only the foreseen machine knows. */
  askedInVain(): AskedInVain {
    const about = this.#foreseenWords();
    return { isInVain: this.#hasReadUnknown || about.length > 0, about };
  }

  #foreseenWords(): string[] {
    if (!this.isChanged || this.#questions.length === 0) return [];
    const names = this.#tree.fileNames();
    return this.#questions
      .flatMap(wordsOf)
      .filter((word) => names.has(word) || this.#isForeseenAccount(word) || this.#isForeseenPath(word));
  }

  sha256(content: Uint8Array): string {
    return this.#below.sha256(content);
  }

  async run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    signal.throwIfAborted();
    if (command.asks === true) return this.#ask(command, signal);
    if (command.judges === true) return this.#judge(command, signal);
    const { user, cwd } = command;
    if (user !== undefined && !/^\d+$/.test(user) && this.users.userId(user) === null)
      throw hostError(`user ${user}`, "ENOENT");
    if (cwd !== undefined && cwd !== "/" && !this.files.stat(cwd)) throw hostError(cwd, "ENOENT");
    // Looking at the way refuses one that leads elsewhere.
    for (const path of [cwd ?? "/", ...Object.values(command.opens ?? {})]) this.files.ledBy(path);
    return done;
  }

  askDownload(question: DownloadQuestion, signal: AbortSignal): Promise<string | null> {
    return this.#servers.ask(question, signal);
  }

  async download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    signal.throwIfAborted();
    this.files.requireRoom(request.path, request.attributes);
    await this.askDownload(request, signal);
    const digest = { sha256: request.sha256, sizeBytes: 0 };
    const read = (): never => {
      this.#hasReadUnknown = true;
      throw hostError(request.path, "ENOENT");
    };
    this.files.putFile(
      request.path,
      { ...digest, digest: () => digest, read, isUnread: true },
      request.attributes,
    );
    return digest;
  }

  async barrier(): Promise<void> {}

  /** What can't be judged yet counts as accepted, and as not to be told. */
  async #judge(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    const [program] = command.argv;
    const paths = Object.values(command.opens ?? {});
    if (this.#isForeseenPath(program)) {
      this.refusalRestsOn([program]);
      throw hostError(program, "ENOENT");
    }
    const isThere = paths.every((path) => this.files.isContentKnown(path));
    const read = (path: string): Uint8Array => this.files.readFile(path);
    const answer = isThere ? await judgeCopies(command, { below: this.#below, read }, signal) : null;
    if (answer === null) {
      const why = isThere ? "there is no place for a copy" : "it has to be downloaded first";
      this.cannotTell(`${program} can't be asked about the content: ${why}.`);
    } else if (answer.exitCode !== 0) {
      this.refusalRestsOn(["/", ...paths.map((path) => path.slice(0, path.lastIndexOf("/")) || "/")]);
    }
    return answer ?? done;
  }

  async #ask(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    this.#questions.push(command);
    const { argv, cwd, user, environment, stdin, opens } = command;
    const key = JSON.stringify([argv, cwd, user, environment, stdin, opens]);
    const known = this.#answers.get(key) ?? (await this.#askBelow(command, signal));
    if (!signal.aborted) this.#answers.set(key, known);
    if (known instanceof Error) throw known;
    return known;
  }

  async #askBelow(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult | Error> {
    try {
      return await this.#below.run(command, signal);
    } catch (error) {
      if (isOrchestratorError(error)) return error;
      throw error;
    }
  }

  #placeOf(path: string): ForeseenPlace | null {
    try {
      return this.#tree.find(path);
    } catch (error) {
      if (isOrchestratorError(error)) return null;
      throw error;
    }
  }

  #isForeseenAccount(name: string): boolean {
    const { users } = this.#below;
    return users.userId(name) !== this.users.userId(name) || users.groupId(name) !== this.users.groupId(name);
  }

  #isForeseenPath(path: string): boolean {
    if (path.length < 2 || !path.startsWith("/") || path.includes("//")) return false;
    try {
      return this.#tree.concerns(path);
    } catch (error) {
      // A word need not be a path that one may look at.
      if (isOrchestratorError(error)) return false;
      throw error;
    }
  }

  #createBackups(files: ForeseenFiles, below: HostBackups): HostBackups {
    const take = (sha256: string): ForeseenContent => {
      const kept = this.#kept.get(sha256);
      if (kept) return kept;
      const sizeBytes = below.sizeBytes(sha256);
      if (sizeBytes === null) throw hostError(`backup ${sha256}`, "ENOENT");
      return { sha256, sizeBytes, digest: () => ({ sha256, sizeBytes }), read: () => below.read(sha256) };
    };
    const sizeOf = (content: ForeseenContent): number =>
      content instanceof Uint8Array ? content.length : (content.sizeBytes ?? 0);
    return {
      below: (folder) => this.#createBackups(files.below(folder), below),
      save: (path, { expected, signal } = {}) => {
        const content = files.contentAt(path, expected);
        return andThen(files.digest(content, signal), (digest) => {
          this.#kept.set(digest.sha256, content);
          return digest;
        });
      },
      sizeBytes: (sha256) => {
        const kept = this.#kept.get(sha256);
        return kept ? sizeOf(kept) : below.sizeBytes(sha256);
      },
      read: (sha256) => {
        const content = take(sha256);
        return content instanceof Uint8Array ? Uint8Array.from(content) : content.read();
      },
      restore: (sha256, path, { signal: _signal, ...options }) => files.putFile(path, take(sha256), options),
      prune: (keep) => {
        for (const sha256 of this.#kept.keys()) if (!keep.has(sha256)) this.#kept.delete(sha256);
      },
    };
  }
}

/** What a program says that does nothing. */
const done: HostCommandResult = {
  exitCode: 0,
  signal: null,
  timedOut: false,
  stdout: "",
  stderr: "",
  truncated: { stdout: false, stderr: false },
};
