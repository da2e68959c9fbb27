/**
 * Running a program:
 *
 * ```
 * spawned ──exit──> draining ──pipes closed, or 500 ms──> done
 *    └─abort, timeout─> SIGTERM to all of it ──all of it ended, or 5 s──> SIGKILL to all of it until nothing is left ──> draining
 * ```
 * All of it is the program and whatever it started, however that detached itself (local-programs.ts). What it leaves running
 * on purpose after a normal end (a daemon) lives on; its hold on the pipes is not waited for.
 */
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { isMainThread } from "node:worker_threads";
import type { Clock, Timer } from "../clock.ts";
import { errnoOf, hostError } from "./host-error.ts";
import type { HostCommand, HostCommandResult } from "./host.ts";
import { libc } from "./libc.ts";
import type { ProgramHold } from "./local-programs.ts";

/** Output kept of each stream unless a command says otherwise, bytes. */
const defaultMaxOutputBytes = 262_144;

/** Permission bits that what a program makes does not get, unless its command says others. */
const defaultUmask = 0o022;

/** How long a program, and what it started, may take to end when asked, milliseconds. */
const termGraceMs = 5000;

/** How long output is waited for after the end, milliseconds. */
const drainMs = 500;

/** What a program is started with beside its command. */
export interface RunSetting {
  clock: Clock;
  signal: AbortSignal;
  hold: ProgramHold;
  options: Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid">;
}

/** Runs a program to its end. */
export function runProgram(command: HostCommand, setting: RunSetting): Promise<HostCommandResult> {
  return new Promise((resolve, reject) => {
    const { clock, signal, hold } = setting;
    const child = withUmask(command.umask ?? defaultUmask, () => start(command, setting));
    const stdout = collect(child, "stdout", command);
    const stderr = collect(child, "stderr", command);
    const closed = new Promise<void>((close) => child.once("close", () => close()));
    const timers: Timer[] = [];
    const after = (delayMs: number, act: () => void): void => void timers.push(clock.setTimer(delayMs, act));
    let timedOut = false;
    let killedAtMs: number | null = null;

    const end = (): void => {
      if (killedAtMs !== null) return;
      killedAtMs = clock.monotonic() + termGraceMs;
      hold.ask();
      after(termGraceMs, () => void hold.end(() => true));
    };
    /** Nothing that was planned is of use once the program has ended. */
    const settle = (): void => {
      for (const timer of timers.splice(0)) timer.cancel();
      signal.removeEventListener("abort", end);
    };
    const drain = async (): Promise<void> => {
      settle();
      // A shell ends at once; what it ran may have something to put in order still.
      if (killedAtMs !== null) {
        let isTimeOver = false;
        after(Math.max(0, killedAtMs - clock.monotonic()), () => (isTimeOver = true));
        await hold.end(() => isTimeOver);
      } else hold.release();
      await Promise.race([closed, new Promise<void>((drained) => after(drainMs, drained))]);
      settle();
      child.stdout?.destroy();
      child.stderr?.destroy();
    };

    if (command.timeoutMs !== undefined) after(command.timeoutMs, () => ((timedOut = true), end()));
    signal.addEventListener("abort", end, { once: true });
    child.once("error", (error) => {
      settle();
      hold.release();
      reject(hostError(command.argv[0], errnoOf(error), error));
    });
    child.once("exit", (exitCode, killedBy) => {
      const toResult = (): HostCommandResult => ({
        exitCode,
        signal: killedBy,
        timedOut,
        stdout: stdout.text(),
        stderr: stderr.text(),
        truncated: { stdout: stdout.truncated, stderr: stderr.truncated },
      });
      drain().then(() => resolve(toResult()), reject);
    });
    // A program that reads nothing closes its end; that is its right.
    child.stdin?.on("error", () => {});
    child.stdin?.end(command.stdin ?? "");
  });
}

/**
 * A program inherits the mask of its parent at the moment in which it is started, which is one call: what others of this process
 * make meanwhile gets its mode by itself.
 */
function withUmask<T>(umask: number, act: () => T): T {
  const set = umaskSetter();
  if (!set) return act();
  const before = set(umask);
  try {
    return act();
  } finally {
    set(before);
  }
}

let setter: ((umask: number) => number) | null | undefined;

/** Node lets no thread but the first set it; the C library does not mind. */
function umaskSetter(): ((umask: number) => number) | null {
  if (isMainThread) return (umask) => process.umask(umask);
  setter ??= (libc()?.library.func("unsigned int umask(unsigned int mask)") as typeof setter) ?? null;
  return setter;
}

/** Also what Node itself refuses, like a NUL in an argument, is a program that can't be started. */
function start(
  { argv: [program, ...args], stdin }: HostCommand,
  { hold, options }: RunSetting,
): ChildProcess {
  try {
    return hold.start((environment) =>
      spawn(program, args, {
        ...options,
        env: { ...options.env, ...environment },
        detached: true,
        // Node's pipes are sockets, and a bash that finds one takes itself for a remote login and runs ~/.bashrc.
        stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      }),
    );
  } catch (error) {
    throw hostError(program, errnoOf(error), error);
  }
}

interface Collected {
  truncated: boolean;
  text(): string;
}

/** What does not fit is still read, or the program would wait for ever. */
function collect(
  child: ChildProcess,
  stream: "stdout" | "stderr",
  { onOutput, maxOutputBytes = defaultMaxOutputBytes }: HostCommand,
): Collected {
  const collected = stream === "stdout" ? new Beginning(maxOutputBytes) : new End(maxOutputBytes);
  child[stream]?.on("data", (piece: Buffer) => {
    onOutput?.(stream, piece);
    collected.take(piece);
  });
  return collected;
}

/** Answers are taken apart from their beginning. */
class Beginning implements Collected {
  truncated = false;
  readonly #pieces: Buffer[] = [];
  #room: number;

  constructor(maxBytes: number) {
    this.#room = maxBytes;
  }

  take(piece: Buffer): void {
    if (piece.length > this.#room) this.truncated = true;
    const kept = piece.subarray(0, this.#room);
    if (kept.length === 0) return;
    this.#room -= kept.length;
    this.#pieces.push(kept);
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString("utf8");
  }
}

/** Why a program failed is what it says last, after any number of warnings. */
class End implements Collected {
  readonly #maxBytes: number;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get truncated(): boolean {
    return this.#isCut || this.#bytes > this.#maxBytes;
  }

  take(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    for (let [first] = this.#pieces; first !== undefined; [first] = this.#pieces) {
      if (this.#bytes - first.length < this.#maxBytes) break;
      this.#bytes -= first.length;
      this.#isCut = true;
      this.#pieces.shift();
    }
  }

  text(): string {
    const all = Buffer.concat(this.#pieces);
    let from = Math.max(0, all.length - this.#maxBytes);
    // It begins with no part of a character.
    if (this.truncated) while (((all[from] ?? 0) & 0xc0) === 0x80) from += 1;
    return all.toString("utf8", from);
  }
}
