/**
 * Running a program:
 *
 * ```
 * spawned ──exit──> draining ──pipes closed, or 500 ms──> done
 *    └─abort, timeout─> SIGTERM to its group ──5 s──> SIGKILL to its group
 * ```
 * Every program leads a process group of its own, so that what it started is ended with it. What it leaves running on
 * purpose after a normal end (a daemon) lives on; its hold on the pipes is not waited for.
 */
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import type { Clock, Timer } from "../clock.ts";
import type { HostCommand, HostCommandResult } from "./host.ts";
import { errnoOf, hostError } from "./host-error.ts";

/** Output kept of each stream unless a command says otherwise, bytes. */
const defaultMaxOutputBytes = 262_144;

/** How long a program may take to end when asked, milliseconds. */
const termGraceMs = 5000;

/** How long output is waited for after the end, milliseconds. */
const drainMs = 500;

/** What a program is started with beside its command. */
export interface RunSetting {
  clock: Clock;
  signal: AbortSignal;
  options: Pick<SpawnOptions, "cwd" | "env" | "uid" | "gid">;
}

/** Runs a program to its end. */
export function runProgram(
  command: HostCommand,
  { clock, signal, options }: RunSetting,
): Promise<HostCommandResult> {
  return new Promise((resolve, reject) => {
    const [program, ...args] = command.argv;
    const child = start(program, args, options);
    const stdout = collect(child, "stdout", command);
    const stderr = collect(child, "stderr", command);
    const timers: Timer[] = [];
    let timedOut = false;
    let ended = false;

    const end = (): void => {
      if (ended) return;
      ended = true;
      killGroup(child, "SIGTERM");
      timers.push(clock.setTimer(termGraceMs, () => killGroup(child, "SIGKILL")));
    };
    const finish = (): void => {
      for (const timer of timers) timer.cancel();
      signal.removeEventListener("abort", end);
      child.stdout?.destroy();
      child.stderr?.destroy();
    };

    if (command.timeoutMs !== undefined) {
      timers.push(clock.setTimer(command.timeoutMs, () => ((timedOut = true), end())));
    }
    signal.addEventListener("abort", end, { once: true });
    child.once("error", (error) => {
      finish();
      reject(hostError(program, errnoOf(error), error));
    });
    child.once("exit", (exitCode, killedBy) => {
      if (ended) killGroup(child, "SIGKILL");
      const done = (): void => {
        finish();
        const truncated = { stdout: stdout.truncated, stderr: stderr.truncated };
        resolve({
          exitCode,
          signal: killedBy,
          timedOut,
          stdout: stdout.text(),
          stderr: stderr.text(),
          truncated,
        });
      };
      child.once("close", done);
      timers.push(clock.setTimer(drainMs, done));
    });
    // A program that reads nothing closes its end; that is its right.
    child.stdin?.on("error", () => {});
    child.stdin?.end(command.stdin ?? "");
  });
}

/** Also what Node itself refuses, like a NUL in an argument, is a program that can't be started. */
function start(program: string, args: string[], options: RunSetting["options"]): ChildProcess {
  try {
    return spawn(program, args, { ...options, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  } catch (error) {
    throw hostError(program, errnoOf(error), error);
  }
}

interface Collected {
  truncated: boolean;
  text(): string;
}

function collect(
  child: ChildProcess,
  stream: "stdout" | "stderr",
  { onOutput, maxOutputBytes }: HostCommand,
): Collected {
  const pieces: Buffer[] = [];
  let room = maxOutputBytes ?? defaultMaxOutputBytes;
  const collected: Collected = { truncated: false, text: () => Buffer.concat(pieces).toString("utf8") };
  child[stream]?.on("data", (piece: Buffer) => {
    onOutput?.(stream, piece);
    // What does not fit is still read, or the program would wait for ever.
    if (piece.length > room) collected.truncated = true;
    const kept = piece.subarray(0, room);
    if (kept.length === 0) return;
    room -= kept.length;
    pieces.push(kept);
  });
  return collected;
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
  }
}
