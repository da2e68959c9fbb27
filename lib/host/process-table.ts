/** The processes of a Linux machine, as /proc tells of them. */
import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "./host-error.ts";

/** A process. Its number is given to another one day: only with the same begin is it the same one. */
export interface ProcessEntry {
  pid: number;
  parent: number;
  session: number;
  /** When it began, in ticks since the start of the machine. */
  begun: number;
  /** Whether it has ended and its parent has not taken note. */
  isZombie: boolean;
  /** Whether it is a thread of the kernel, which never has an environment. */
  isKernels: boolean;
  /** Whether it is ending, which a slow disk holds up: it does nothing more, and has no environment any more. */
  isEnding: boolean;
  /** Length of the environment that it was started with; null while it takes on another program, or that can't be seen. */
  environmentBytes: number | null;
}

/** How often a process that executes a program is looked at, a millisecond apart while it has no environment. */
const mostLooks = 20;

/** Nobody wakes who waits on it. */
const sleeping = new Int32Array(new SharedArrayBuffer(4));

/** PF_KTHREAD and PF_EXITING of `flags` in proc_pid_stat(5). */
const kernelThread = 0x0020_0000;
const exiting = 0x4;

/** Every process that can be seen; none on a machine without /proc. */
export function listProcesses(): ProcessEntry[] {
  return numbersIn("/proc").flatMap((pid) => processAt(pid) ?? []);
}

/** One process; null where there is none of that number. */
export function processAt(pid: number): ProcessEntry | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The name of the program, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, , session, , , flags] = fields;
  // The kernel notes the place of the program when that of its environment stands: until then, both ends of it may be one.
  const hasBegun = Number(fields[23]) !== 0;
  const environmentEnd = Number(fields[48]);
  return {
    pid,
    parent: Number(parent),
    session: Number(session),
    begun: Number(fields[19]),
    isZombie: state === "Z" || state === "X",
    isKernels: (Number(flags) & kernelThread) !== 0,
    isEnding: (Number(flags) & exiting) !== 0,
    environmentBytes: hasBegun && environmentEnd !== 0 ? environmentEnd - Number(fields[47]) : null,
  };
}

/**
 * A variable of the environment that a process was started with; null where it has none, or may not be read; undefined where
 * that can't be told now: the process takes on another program, which a busy machine or a slow disk holds up.
 */
export function environmentOf(pid: number, name: string): string | null | undefined {
  const environment = readEnvironment(pid);
  if (environment === undefined) return undefined;
  const variables = environment?.split("\0") ?? [];
  const found = variables.find((variable) => variable.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? null;
}

/** What a start of the machine is known by: numbers and begins of processes begin anew with each. */
export function bootOf(): string {
  return readOrNull("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
}

/** Sends a signal to a process, unless it is gone or its number is another's by now. */
export function signalProcess({ pid, begun }: ProcessEntry, signal: NodeJS.Signals): void {
  if (processAt(pid)?.begun !== begun) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    // EPERM: it has become another user's, and an agent that is not root can do nothing about it.
    if (errnoOf(error) !== "ESRCH" && errnoOf(error) !== "EPERM") throw error;
  }
}

/** This process and those above it, by number: never to be ended, whatever they are found in. */
export function ownLine(all: readonly ProcessEntry[]): Set<number> {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const line = new Set<number>();
  for (let pid = process.pid; pid > 0 && !line.has(pid); pid = parents.get(pid) ?? 0) line.add(pid);
  return line;
}

/**
 * These processes with all that they started: children, theirs, and whoever shares a session with one of them, which nobody
 * can enter from outside. This process and those above it are left out.
 */
export function withDescendants(some: readonly ProcessEntry[], all: readonly ProcessEntry[]): ProcessEntry[] {
  const spared = ownLine(all);
  const own = all.find(({ pid }) => pid === process.pid)?.session;
  const found = new Map<number, ProcessEntry>();
  const sessions = new Set<number>();
  const add = (entry: ProcessEntry): void => {
    if (spared.has(entry.pid)) return;
    found.set(entry.pid, entry);
    if (entry.session > 0 && entry.session !== own) sessions.add(entry.session);
  };
  for (const entry of some) add(entry);
  for (let before = -1; found.size > before;) {
    before = found.size;
    for (const entry of all) {
      if (!found.has(entry.pid) && (found.has(entry.parent) || sessions.has(entry.session))) add(entry);
    }
  }
  return [...found.values()];
}

/**
 * While a process executes another program, its environment reads as empty for a moment, and its mark would be missed: it is
 * looked at again until the new one has its place in memory.
 */
function readEnvironment(pid: number): string | null | undefined {
  for (let looks = 0; looks < mostLooks; looks += 1) {
    const environment = readOrNull(`/proc/${pid}/environ`);
    if (environment !== "") return environment;
    const entry = processAt(pid);
    if (!entry || entry.environmentBytes === 0) return "";
    if (entry.isZombie || entry.isKernels || entry.isEnding) return null;
    if (entry.environmentBytes === null) Atomics.wait(sleeping, 0, 0, 1);
  }
  return undefined;
}

/** The names in a folder that are numbers; none where it can't be read. */
function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
