/** Who holds a lock, as the text of its file says, and whether that process is still there. */
import { readFileSync } from "node:fs";
import { kill } from "node:process";

/** Who a lock file names. */
export interface LockHolder {
  pid: number;
  /** When the process began, as its system counts, with or without the boot before a slash; "" where unknown. */
  began: string;
  /** Tells two locks of one process apart, and a process from its predecessor of the same number; "" where there is none. */
  token: string;
  /** Whether the kernel keeps the lock: then it is free as soon as the kernel says so, whatever became of the process. */
  isKernel: boolean;
}

/** Reads the text of a lock file; null where it names nobody: its writer was killed before it had written it. */
export function parseHolder(text: string): LockHolder | null {
  try {
    const { pid, began, started, token, kernel } = JSON.parse(text) as Record<string, unknown>;
    if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return null;
    return { pid, began: textOf(began ?? started), token: textOf(token), isKernel: kernel === true };
  } catch {
    return null;
  }
}

/** Whether another process still lives that a lock names. One that has ended and waits for its parent does not. */
export function isAlive({ pid, began }: LockHolder): boolean {
  try {
    kill(pid, 0);
  } catch (error) {
    // A process of another user is alive too.
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  const now = stateOf(pid);
  if (now === null) return true;
  if (now.hasEnded) return false;
  // A number is given to a new process one day: only with the same beginning is it the same one.
  return began === "" || began === (began.includes("/") ? now.began : now.ticks);
}

/** When a process began, with the boot, since a number and a time come again after a restart; null where that is unknown. */
export function beginOf(pid: number): { began: string; ticks: string } | null {
  return stateOf(pid);
}

function stateOf(pid: number): { began: string; ticks: string; hasEnded: boolean } | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const line = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in parentheses, may hold anything.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    const [state = "", ticks] = [fields[0], fields[19]];
    if (ticks === undefined) return null;
    return { began: `${boot}/${ticks}`, ticks, hasEnded: state === "Z" || state === "X" };
  } catch {
    return null;
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
