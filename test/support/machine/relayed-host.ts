/**
 * The host of another machine: what is asked of it is done by a `LocalHost` in a process over there.
 *
 * File calls block, as those of any host do: the question is written to a named pipe and the answer read from another.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { OrchestratorError } from "../../../lib/errors.ts";
import type {
  FileDigest,
  Host,
  HostBackups,
  HostCommand,
  HostCommandResult,
  HostDownload,
  HostFiles,
  HostUsers,
} from "../../../lib/host/host.ts";
import { fromLine, type RelayedAnswer, type RelayedCall, toLine } from "./relay.ts";

/** The host, and the process that serves it. */
export class RelayedHost implements Host, AsyncDisposable {
  readonly platform = "linux";
  readonly isConfined = false;
  readonly mark = "0123456789abcdef";
  readonly files: HostFiles;
  readonly users: HostUsers;
  readonly backups: HostBackups;
  readonly #questions: number;
  readonly #answers: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #waiting = new Map<number, (answer: RelayedAnswer) => void>();
  #lastId = 0;
  #stderr = "";

  /** `command` runs relay-process.ts on the machine. */
  constructor([program, ...args]: readonly [string, ...string[]]) {
    const [questions, answers] = [createPipe(), createPipe()];
    this.#questions = questions.writer;
    this.#answers = answers.reader;
    this.#child = spawn(program, args, { stdio: [questions.reader, "pipe", "pipe", answers.writer] });
    // When the process is gone its ends must be closed, so that nobody waits for it.
    closeSync(questions.reader);
    closeSync(answers.writer);
    this.#exited = once(this.#child, "close");
    this.#child.stderr?.on("data", (piece: Buffer) => (this.#stderr += piece.toString()));
    if (this.#child.stdout)
      createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(line));
    this.files = this.#part<HostFiles>("files", []);
    this.users = this.#part<HostUsers>("users", []);
    this.backups = this.#part<HostBackups>("backups", []);
  }

  sha256(content: Uint8Array): string {
    return hash("sha256", content);
  }

  /** `onOutput` gets everything at the end. */
  async run({ onOutput, ...command }: HostCommand, signal: AbortSignal): Promise<HostCommandResult> {
    const result = await this.#ask<HostCommandResult>("run", [command], signal);
    onOutput?.("stdout", Buffer.from(result.stdout));
    onOutput?.("stderr", Buffer.from(result.stderr));
    return result;
  }

  download(request: HostDownload, signal: AbortSignal): Promise<FileDigest> {
    return this.#ask("download", [request], signal);
  }

  barrier(): Promise<void> {
    return this.#ask("barrier", [], new AbortController().signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#questions);
    await this.#exited;
    closeSync(this.#answers);
  }

  /** The methods of a part, each of which asks and waits. */
  #part<Part extends object>(part: "files" | "users" | "backups", below: readonly string[]): Part {
    const get = (_: object, method: string | symbol): unknown => {
      if (method === "below") return (folder: string) => this.#part(part, [...below, folder]);
      return (...args: unknown[]) => this.#wait({ part, below, method: String(method), args });
    };
    return new Proxy({}, { get }) as Part;
  }

  #wait(call: Pick<RelayedCall, "part" | "below" | "method" | "args">): unknown {
    writeAll(this.#questions, toLine({ ...call, id: 0, blocks: true }));
    const piece = Buffer.alloc(65_536);
    let line = "";
    while (!line.endsWith("\n")) {
      const length = readSync(this.#answers, piece);
      if (length === 0) throw new Error(`The machine does not answer: ${this.#stderr}`);
      line += piece.toString("latin1", 0, length);
    }
    return open(fromLine(line) as RelayedAnswer);
  }

  async #ask<T>(method: string, args: unknown[], signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const id = ++this.#lastId;
    const answered = new Promise<RelayedAnswer>((resolve) => this.#waiting.set(id, resolve));
    const abort = (): void => writeAll(this.#questions, toLine({ abort: id }));
    signal.addEventListener("abort", abort);
    try {
      writeAll(this.#questions, toLine({ id, part: "host", below: [], method, args, blocks: false }));
      const gone = this.#exited.then((): never => {
        throw new Error(`The machine does not answer: ${this.#stderr}`);
      });
      return open(await Promise.race([answered, gone])) as T;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #take(line: string): void {
    const answer = fromLine(line) as RelayedAnswer;
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }
}

function open({ value, error }: RelayedAnswer): unknown {
  if (!error) return value;
  if (error.code === null) throw new Error(error.message);
  throw new OrchestratorError(error.code, { message: error.message, details: error.details });
}

/** A pipe of which this process has both ends. */
function createPipe(): { reader: number; writer: number } {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-relay-"));
  const path = join(folder, "pipe");
  spawnSync("mkfifo", [path]);
  // While it is open for both, neither of the other two waits for somebody to come.
  const both = openSync(path, constants.O_RDWR);
  const ends = { reader: openSync(path, constants.O_RDONLY), writer: openSync(path, constants.O_WRONLY) };
  closeSync(both);
  rmSync(folder, { recursive: true });
  return ends;
}

function writeAll(descriptor: number, line: string): void {
  const bytes = Buffer.from(line);
  for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written);
}
