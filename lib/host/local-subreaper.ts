/**
 * Being the one that orphans come to: with it, whatever a program of ours leaves behind stays below this process, however it
 * detaches itself. Who adopts must also take note of their end, or they stay as zombies.
 */
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";
import { type Clock, systemClock, type Timer } from "../clock.ts";
import { libc } from "./libc.ts";
import { listProcesses, processAt, type ProcessEntry } from "./process-table.ts";

const PR_SET_CHILD_SUBREAPER = 36;
const WNOHANG = 1;

/** A zombie that is seen twice, so far apart, waits for us: another thread takes note of its own children within a turn. */
const secondLookMs = 1000;

/** Knows the processes that this one has adopted. */
export interface Subreaper {
  /** Children of this process that it did not start, the ended ones included. */
  adopted(): ProcessEntry[];
  /** Takes note of the end of an adopted one. */
  reap(pid: number): void;
}

let only: Subreaper | null | undefined;

/** Makes this process adopt orphans, for the rest of its life; null where that can't be. */
export function becomeSubreaper(): Subreaper | null {
  only ??= begin();
  return only;
}

function begin(): Subreaper | null {
  const library = libc()?.library;
  if (!library) return null;
  const prctl = library.func(
    "int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)",
  ) as (...numbers: number[]) => number;
  const waitpid = library.func("int waitpid(int pid, void *status, int options)") as (
    pid: number,
    status: null,
    options: number,
  ) => number;
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) return null;
  const started = notedChildren();
  const adopted = (): ProcessEntry[] => ownChildren().filter(({ pid }) => !started().has(pid));
  const reap = (pid: number): void => void waitpid(pid, null, WNOHANG);
  process.on("SIGCHLD", reaperOf({ adopted, reap }, systemClock));
  return { adopted, reap };
}

/** The numbers of the processes that Node started from now on and has not seen the end of. */
function notedChildren(): () => Set<number> {
  const children = new Set<ChildProcess>();
  subscribe("child_process", (message) => {
    const child = (message as { process: ChildProcess }).process;
    children.add(child);
    child.once("exit", () => children.delete(child));
    child.once("error", () => child.pid === undefined && children.delete(child));
  });
  return () => new Set([...children].flatMap(({ pid }) => pid ?? []));
}

/**
 * Takes note of the end of orphans. Never waits for just any child: Node would not hear of the end of its own.
 *
 * @returns To be called whenever a child may have ended.
 */
export function reaperOf({ adopted, reap }: Subreaper, clock: Clock): () => void {
  let seen: ProcessEntry[] = [];
  let timer: Timer | null = null;
  const look = (): void => {
    timer = null;
    const zombies = adopted().filter(({ isZombie }) => isZombie);
    const isKnown = ({ pid, begun }: ProcessEntry): boolean =>
      seen.some((each) => each.pid === pid && each.begun === begun);
    for (const zombie of zombies) if (isKnown(zombie)) reap(zombie.pid);
    seen = zombies.filter((zombie) => !isKnown(zombie));
    if (seen.length > 0) lookSoon();
  };
  const lookSoon = (): void => void (timer ??= clock.setTimer(secondLookMs, look));
  return lookSoon;
}

function ownChildren(): ProcessEntry[] {
  try {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    const pids = children.split(" ").filter((word) => word.trim() !== "");
    return pids.flatMap((pid) => processAt(Number(pid)) ?? []);
  } catch {
    // A kernel that is built without it.
    return listProcesses().filter(({ parent }) => parent === process.pid);
  }
}
