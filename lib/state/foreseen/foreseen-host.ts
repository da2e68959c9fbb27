/** A machine as it will be. */
import { isOrchestratorError } from "../../errors.ts";
import { hostError, requireSame } from "../../host/host-error.ts";
import type {
  FileDigest,
  Host,
  HostBackups,
  HostCommand,
  HostCommandResult,
  HostDownload,
  HostFiles,
  HostUsers,
} from "../../host/host.ts";
import { andThen } from "../../internal/maybe-waiting.ts";
import type { ForeseenMachine } from "../resource-type.ts";
import { ForeseenFiles, type ForeseenFilesParts } from "./foreseen-files.ts";
import { type ForeseenContent, type ForeseenNode, ForeseenTree } from "./foreseen-tree.ts";

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
  readonly #below: Host;
  readonly #tree: ForeseenTree;
  readonly #answers = new Map<string, HostCommandResult | Error>();
  readonly #kept = new Map<string, ForeseenContent>();
  /** What was asked since the last {@link forgetQuestions}. */
  #questions: HostCommand[] = [];
  #hasReadUnknown = false;

  /** @param below - The machine as it is. */
  constructor(below: Host) {
    this.#below = below;
    this.platform = below.platform;
    this.isConfined = below.isConfined;
    this.mark = below.mark;
    this.#tree = new ForeseenTree(below);
    const parts: ForeseenFilesParts = {
      tree: this.#tree,
      all: below.files,
      sha256: (content) => below.sha256(content),
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

  /** Begins anew to note what is asked. */
  forgetQuestions(): void {
    this.#questions = [];
    this.#hasReadUnknown = false;
  }

  /** Whether something was asked, of a program or a file, about what only the foreseen machine knows. */
  wasAskedInVain(): boolean {
    if (this.#hasReadUnknown) return true;
    if (!this.isChanged || this.#questions.length === 0) return false;
    const names = this.#tree.fileNames();
    return this.#questions.some((question) =>
      wordsOf(question).some(
        (word) => names.has(word) || this.#isForeseenAccount(word) || this.#isForeseenPath(word),
      ),
    );
  }

  sha256(content: Uint8Array): string {
    return this.#below.sha256(content);
  }

  async run(command: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    signal.throwIfAborted();
    if (command.asks === true) return this.#ask(command, signal);
    const { user, cwd } = command;
    if (user !== undefined && !/^\d+$/.test(user) && this.users.userId(user) === null)
      throw hostError(`user ${user}`, "ENOENT");
    if (cwd !== undefined && cwd !== "/" && !this.files.stat(cwd)) throw hostError(cwd, "ENOENT");
    // Looking at the way refuses one that leads elsewhere.
    for (const path of [cwd ?? "/", ...Object.values(command.opens ?? {})]) this.files.ledBy(path);
    return { exitCode: 0, signal: null, timedOut: false, stdout: "", stderr: "", truncated: nothing };
  }

  async download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    signal.throwIfAborted();
    const digest = { sha256: request.sha256, sizeBytes: 0 };
    const read = (): never => {
      this.#hasReadUnknown = true;
      throw hostError(request.path, "ENOENT");
    };
    this.files.putFile(request.path, { ...digest, digest: () => digest, read }, request.attributes);
    return digest;
  }

  async barrier(): Promise<void> {}

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

  #isForeseenAccount(name: string): boolean {
    const { users } = this.#below;
    return users.userId(name) !== this.users.userId(name) || users.groupId(name) !== this.users.groupId(name);
  }

  /** "./srv" is how programs that begin in the root folder are told of "/srv". */
  #isForeseenPath(word: string): boolean {
    const path = word.replace(/^\.(?=\/)/, "").replace(/(?<=.)\/+$/, "");
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

/** What of a command may name an account, a path or a file. */
function wordsOf({ argv, user, cwd, opens = {}, stdin = "" }: HostCommand): string[] {
  const text = [...argv, user ?? "", cwd ?? "", ...Object.values(opens), stdin].join(" ");
  return [...new Set(text.split(/[^\w./@+-]+/))].filter((word) => word !== "");
}

const nothing = { stdout: false, stderr: false };

const accountFiles = { user: "/etc/passwd", group: "/etc/group" } as const;

/** Accounts from the account files where these differ, which on a confined host are not those of its machine. */
function foreseenUsers(files: ForeseenFiles, below: Host, tree: ForeseenTree): HostUsers {
  const { users, isConfined } = below;
  // A table of ten thousand users is not taken apart again for each of thousands of files.
  const taken = new Map<string, { node: ForeseenNode; ids: Map<string, number> }>();
  const table = (kind: keyof typeof accountFiles): Map<string, number> | null => {
    const path = accountFiles[kind];
    if (!tree.isChanged || isConfined) return null;
    const { node } = tree.find(path);
    if (node?.kind !== "file") return null;
    const known = taken.get(path);
    if (known?.node === node) return known.ids;
    const lines = new TextDecoder().decode(files.readFile(path)).split("\n");
    const entries = lines.map((line) => line.split(":")).filter((fields) => fields.length > 2);
    const ids = new Map(entries.map(([name = "", , id]) => [name, Number(id)]));
    taken.set(path, { node, ids });
    return ids;
  };
  const nameIn = (ids: ReadonlyMap<string, number>, id: number): string | null => {
    for (const [name, each] of ids) if (each === id) return name;
    return null;
  };
  const idOf = (kind: keyof typeof accountFiles, name: string, known: (name: string) => number | null) => {
    const ids = table(kind);
    return ids ? (ids.get(name) ?? null) : known(name);
  };
  const nameOf = (kind: keyof typeof accountFiles, id: number, known: (id: number) => string | null) => {
    const ids = table(kind);
    return ids ? nameIn(ids, id) : known(id);
  };
  return {
    userId: (name) => idOf("user", name, (each) => users.userId(each)),
    groupId: (name) => idOf("group", name, (each) => users.groupId(each)),
    userName: (uid) => nameOf("user", uid, (each) => users.userName(each)),
    groupName: (gid) => nameOf("group", gid, (each) => users.groupName(each)),
  };
}
