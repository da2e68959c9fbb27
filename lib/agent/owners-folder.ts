/**
 * What the owner of a machine adds to an agent: a folder of files, and of programs that print what a file would hold. It is looked at anew
 * each time, so that nothing has to be started again.
 *
 * What others could have put there is not believed, and not run: the folder and each entry belong to the agent's user or root, and nobody
 * else may write to them. Links are not followed.
 */
import { lstatSync, readFileSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { isOrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";

/** Bytes of a file, and of what a program prints. */
const maxBytes = 64 * 1024;
/** How long a program may take, milliseconds. */
const programMs = 5_000;
const mostEntries = 50;

/** A file or a program of the owner's. */
export interface OwnersEntry {
  path: string;
  isProgram: boolean;
}

/** What is read as it stands there, what is run, and what they are in. */
type Kind = "file" | "program" | "folder";

/** What such a folder is read with. */
export interface OwnersFolderOptions {
  folder: string;
  /** How the names of files end: whatever else may be executed is a program. */
  suffix: string;
  /** Runs programs. */
  host: Host;
  logger: Logger;
}

/** A folder that the machine's owner fills. */
export class OwnersFolder {
  readonly #options: OwnersFolderOptions;
  /** Why an entry is left out, by its path: said when it changes, not each time. */
  readonly #faults = new Map<string, string>();
  /** Programs that run: one that takes long is not begun beside itself. */
  readonly #running = new Set<string>();
  readonly #abort = new AbortController();

  constructor(options: OwnersFolderOptions) {
    this.#options = options;
  }

  /** The entries that can be used, by name. */
  list(): OwnersEntry[] {
    const { folder, suffix } = this.#options;
    const names = namesIn(folder);
    this.#forgetGone(names ?? []);
    if (names === null || (names.length > 0 && !this.#isSafe(folder, "folder"))) return [];
    if (names.length > mostEntries) this.fault(folder, `It has more than ${mostEntries} files.`);
    else this.used(folder);
    const entries = names.sort().slice(0, mostEntries);
    return entries.flatMap((name) => {
      const path = join(folder, name);
      const isFile = name.endsWith(suffix);
      if (!isFile && !isExecutable(path)) return [];
      return this.#isSafe(path, isFile ? "file" : "program") ? [{ path, isProgram: !isFile }] : [];
    });
  }

  /** Reads a file; null where it can't be read. */
  read({ path }: OwnersEntry): string | null {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      return this.fault(path, "It can't be read.", error);
    }
  }

  /** Runs a program to its end, five seconds at most; null where it is not there in time or fails. */
  async run({ path }: OwnersEntry): Promise<string | null> {
    if (this.#running.has(path)) return null;
    this.#running.add(path);
    try {
      const command = { argv: [path], asks: true, timeoutMs: programMs, maxOutputBytes: maxBytes } as const;
      const result = await this.#options.host.run(command, this.#abort.signal);
      // Ended with the agent, it had no time to print anything.
      if (this.#abort.signal.aborted) return null;
      if (result.timedOut) return this.fault(path, `It took longer than ${programMs / 1_000} s.`);
      if (result.exitCode !== 0)
        return this.fault(path, `It ended with ${result.exitCode ?? result.signal}.`);
      if (result.truncated.stdout) return this.fault(path, `It printed more than ${maxBytes} bytes.`);
      return result.stdout;
    } catch (error) {
      return this.#abort.signal.aborted ? null : this.fault(path, "It could not be run.", error);
    } finally {
      this.#running.delete(path);
    }
  }

  /** Says why an entry is left out, where that was not said before. */
  fault(path: string, reason: string, error?: unknown): null {
    if (this.#faults.get(path) === reason) return null;
    if (this.#faults.size > 2 * mostEntries) this.#faults.clear();
    this.#faults.set(path, reason);
    const code = isOrchestratorError(error) ? { error } : {};
    this.#options.logger.warn("What the owner of the machine added was left out.", { path, reason, ...code });
    return null;
  }

  /** Says that an entry, or the folder, is used, so that the next fault of it is news. */
  used(path: string): void {
    this.#faults.delete(path);
  }

  /** Ends the programs that run. */
  stop(): void {
    this.#abort.abort();
  }

  /** What comes again is news, with whatever fault. */
  #forgetGone(names: readonly string[]): void {
    if (this.#faults.size === 0) return;
    const { folder } = this.#options;
    const there = new Set(names.map((name) => join(folder, name)));
    for (const path of this.#faults.keys())
      if (path !== folder && !there.has(path)) this.#faults.delete(path);
  }

  #isSafe(path: string, kind: Kind): boolean {
    const reason = reasonAgainst(path, kind);
    if (reason !== null) this.fault(path, reason);
    return reason === null;
  }
}

function reasonAgainst(path: string, kind: Kind): string | null {
  const stat = statOf(path);
  if (stat === null) return "It can't be looked at.";
  if (kind === "folder" ? !stat.isDirectory() : !stat.isFile()) return `It is no ${kind}.`;
  if (kind === "file" && stat.size > maxBytes) return `It has more than ${maxBytes} bytes.`;
  const own = process.getuid?.();
  // Windows has no such owners.
  if (own === undefined) return null;
  if (stat.uid !== 0 && stat.uid !== own)
    return "It belongs to somebody else than root and the agent's user.";
  return (stat.mode & 0o022) === 0 ? null : "Others than its owner may write to it.";
}

function isExecutable(path: string): boolean {
  return ((statOf(path)?.mode ?? 0) & 0o100) !== 0;
}

/** Null where nothing is there any more, or the folder does not let this user look. */
function statOf(path: string): Stats | null {
  try {
    return lstatSync(path);
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] | null {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith("."));
  } catch {
    return null;
  }
}
