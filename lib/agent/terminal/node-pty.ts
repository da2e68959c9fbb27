/**
 * Pseudoterminals of the system, made by the native part of `@lydell/node-pty`, which is optional.
 *
 *   running --the program ends--> draining --nothing left--> ended
 *
 * running:  this process holds the program's side open, too, so that reading never comes to an end by itself: the stream of the library
 *           takes the hang-up for the end and drops what it had not read, up to 11 kB (microsoft/node-pty#72)
 * draining: the rest is read here, to the last byte, as fast as it is asked for
 * ended:    both sides are closed
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import type { OnReadOpts, SocketConstructorOpts } from "node:net";
import { ReadStream } from "node:tty";
import { systemClock, type Timer } from "../../clock.ts";
import { OrchestratorError } from "../../errors.ts";
import { terminalVariable } from "../../host/marked-scope.ts";
import { bootOf, processAt } from "../../host/process-table.ts";
import type { ProgramScope, ProgramScopes } from "../../host/program-scope.ts";
import { PtyInput } from "./pty-input.ts";
import type { OpenPty, Pty, PtyHandlers, PtyProgram } from "./pty.ts";
import { TerminalProcesses } from "./terminal-processes.ts";

/** What of the library is used: its functions in C++. */
interface NativePty {
  fork(
    file: string,
    args: readonly string[],
    environment: readonly string[],
    folder: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    isUtf8: boolean,
    helper: string,
    ended: (exitCode: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string };
  resize(fd: number, cols: number, rows: number): void;
}

/** More than a terminal keeps. */
const pieceBytes = 65_536;

/** What one read of a terminal gives at most, on Linux. */
const readBytes = 4_096;

/** How long what is ended may take to be gone. */
const goneMs = 1_000;
/** So long have those who were told that the terminal is gone to end. */
const graceMs = 2_500;
/** What an ended program started is looked for after so long, then after twice as long, and so on. */
const firstLookMs = 20;

/**
 * Loads what makes pseudoterminals.
 *
 * @param groups - Where the processes of each are kept together; null where they can't be: then they are known by their mark, their session
 *   and their parents alone.
 * @throws {OrchestratorError} `TERMINALS_UNAVAILABLE` where the package is not installed, or not made for this machine.
 */
export function loadNodePty(groups: ProgramScopes | null): OpenPty {
  const name = `@lydell/node-pty-${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    const near = createRequire(require.resolve("@lydell/node-pty"));
    const native = near(`${name}/pty.node`) as NativePty;
    const helper = process.platform === "darwin" ? near.resolve(`${name}/spawn-helper`) : "";
    return (program, handlers) =>
      new SystemPty(native, helper, { program, handlers, group: groupIn(groups) });
  } catch (error) {
    throw new OrchestratorError("TERMINALS_UNAVAILABLE", {
      message: "The package @lydell/node-pty is not installed on the agent's machine, or not made for it.",
      cause: error,
    });
  }
}

class SystemPty implements Pty {
  readonly pid: number;
  readonly #native: NativePty;
  readonly #handlers: PtyHandlers;
  readonly #processes: TerminalProcesses;
  readonly #group: ProgramScope | null;
  readonly #fd: number;
  /** The program's side, held open. */
  readonly #held: number;
  readonly #stream: ReadStream;
  readonly #input: PtyInput;
  #state: "running" | "draining" | "ended" = "running";
  #exitCode = 0;
  #isPaused = false;
  /** Set while those who were told that the terminal is gone have time to end. */
  #grace: Timer | null = null;
  #look: Timer | null = null;
  /** How the program ended meanwhile. */
  #endedInGrace: number | null = null;
  /** What output is read into, one piece after the other: memory for each would cost more than to read it. */
  #memory = new Uint8Array();
  #used = 0;

  constructor(
    native: NativePty,
    helper: string,
    { program, handlers, group }: { program: PtyProgram; handlers: PtyHandlers; group: ProgramScope | null },
  ) {
    this.#native = native;
    this.#handlers = handlers;
    const { file, args, environment, folder, cols, rows, mark } = program;
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    variables.push(`${terminalVariable}=${mark}`);
    const ended = (exitCode: number, signal: number): void => this.#end(signal > 0 ? 128 + signal : exitCode);
    const fork = (): ReturnType<NativePty["fork"]> =>
      native.fork(file, args, variables, folder, cols, rows, -1, -1, true, helper, ended);
    const made = startedIn(group, fork);
    this.pid = made.pid;
    const first = processAt(made.pid) ?? { pid: made.pid, begun: -1 };
    this.#processes = new TerminalProcesses(mark, { first, group });
    this.#group = group;
    this.#fd = made.fd;
    try {
      this.#held = openSync(made.pty, constants.O_RDWR | constants.O_NOCTTY);
    } catch (error) {
      // The program runs already, and nobody would ever hear of it.
      this.#state = "ended";
      this.#processes.end();
      this.#leaveGroup();
      closeSync(made.fd);
      throw error;
    }
    const onread: OnReadOpts = { buffer: () => this.#room(), callback: (size) => this.#read(size) };
    // It passes its options on to the constructor of sockets, whose types leave `onread` out.
    this.#stream = new ReadStream(made.fd, { onread } as SocketConstructorOpts);
    this.#input = new PtyInput(made.fd);
    this.#stream.resume();
    // Without a listener an error would end the process; what is left is read when the program has ended.
    this.#stream.on("error", () => {});
  }

  get unreadBytes(): number {
    return this.#input.size;
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.#input.write(bytes);
  }

  resize(cols: number, rows: number): void {
    if (this.#state === "running") this.#native.resize(this.#fd, cols, rows);
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#state === "running") this.#stream.resume();
    else this.#drain();
  }

  hangUp(): void {
    if (this.#state !== "running") return this.kill();
    if (this.#grace !== null) return;
    this.#input.end();
    this.#processes.hangUp();
    this.#grace = systemClock.setTimer(graceMs, () => this.kill());
  }

  kill(): void {
    this.#isPaused = false;
    this.#grace?.cancel();
    this.#look?.cancel();
    this.#grace = null;
    if (this.#state !== "running") this.#drain();
    else if (this.#endedInGrace === null) this.#processes.end();
    else this.#end(this.#endedInGrace);
  }

  #room(): Uint8Array {
    if (this.#memory.length - this.#used < readBytes) {
      this.#memory = Buffer.allocUnsafeSlow(pieceBytes);
      this.#used = 0;
    }
    return this.#memory.subarray(this.#used);
  }

  #read(size: number): true {
    const bytes = this.#memory.subarray(this.#used, this.#used + size);
    this.#used += size;
    this.#handlers.output(bytes);
    return true;
  }

  /** What the program started may still be saving something. */
  #awaitRest(lookMs: number): void {
    if (!this.#processes.areLeft()) return this.kill();
    this.#look = systemClock.setTimer(lookMs, () => this.#awaitRest(lookMs * 2));
  }

  #end(exitCode: number): void {
    if (this.#state !== "running") return;
    if (this.#grace !== null) {
      this.#endedInGrace = exitCode;
      return this.#awaitRest(firstLookMs);
    }
    this.#exitCode = exitCode;
    this.#input.end();
    // What it left behind would hold the terminal open, and write on.
    this.#processes.end();
    this.#state = "draining";
    this.#stream.pause();
    this.#drain();
  }

  /** Reads what is left: the terminal hands it over at once or says that there is none. */
  #drain(): void {
    while (this.#state === "draining" && !this.#isPaused) {
      const bytes = this.#readRest();
      if (bytes.length > 0) this.#handlers.output(bytes);
      else this.#close();
    }
  }

  #readRest(): Uint8Array {
    const piece = Buffer.allocUnsafe(pieceBytes);
    try {
      return piece.subarray(0, readSync(this.#fd, piece));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EINTR") return this.#readRest();
      return new Uint8Array();
    }
  }

  #close(): void {
    this.#state = "ended";
    this.#stream.destroy();
    closeSync(this.#held);
    this.#leaveGroup();
    this.#handlers.ended(this.#exitCode);
  }

  /** A group goes when the last of what was ended in it is gone. */
  #leaveGroup(): void {
    const group = this.#group;
    if (group !== null) systemClock.setTimer(goneMs, () => group.remove());
  }
}

/** Starts something in a group, which goes where that fails. */
function startedIn<Made extends { pid: number }>(group: ProgramScope | null, start: () => Made): Made {
  if (group === null) return start();
  try {
    return group.start(start);
  } catch (error) {
    group.remove();
    throw error;
  }
}

function groupIn(groups: ProgramScopes | null): ProgramScope | null {
  const held = { id: randomUUID(), program: "a terminal", boot: bootOf(), first: null, group: null };
  return groups?.create(held) ?? null;
}
