import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pid as ownPid, kill } from "node:process";
import { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import { createFile, readText, removeFile } from "./durable-file.ts";

const holderSchema = z.strictObject({
  pid: z.number().int().positive(),
  /** When the process began, as its kernel counts; null where that can't be found out. */
  began: z.string().nullable(),
});

/** Keeps a second agent out of a state folder: two would change the machine at once, and each other's journal. */
export class StateLock {
  readonly #path: string;

  /** @throws {OrchestratorError} `STORAGE_LOCKED` where a living process holds the folder. */
  constructor(stateDir: string) {
    this.#path = join(stateDir, "agent.lock");
    const text = `${JSON.stringify({ pid: ownPid, began: beginOf(ownPid) })}\n`;
    const found = readText(this.#path);
    if (found !== null) this.#takeAway(found);
    try {
      createFile(this.#path, text);
    } catch (cause) {
      if (readText(this.#path) === null) throw cause;
      throw locked(this.#path, cause);
    }
  }

  /** Lets the folder go. */
  release(): void {
    removeFile(this.#path);
  }

  /** Takes away the lock of a process that is gone. Renamed first, so that of two who try only one goes on. */
  #takeAway(found: string): void {
    if (isHeld(found)) throw locked(this.#path);
    const stale = `${this.#path}.${ownPid}`;
    try {
      renameSync(this.#path, stale);
    } catch (cause) {
      throw locked(this.#path, cause);
    }
    const taken = readText(stale);
    if (taken !== found) {
      // Another was quicker, and this is its lock.
      renameSync(stale, this.#path);
      throw locked(this.#path);
    }
    removeFile(stale);
  }
}

function locked(path: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("STORAGE_LOCKED", {
    message: "Another agent uses the state folder.",
    details: { path },
    cause,
  });
}

/** A number is given to a new process one day: only with the same begin is it the same one. */
function isHeld(text: string): boolean {
  const holder = parseHolder(text);
  if (!holder || !isAlive(holder.pid)) return false;
  const began = beginOf(holder.pid);
  return began === null || holder.began === null ? holder.pid !== ownPid : began === holder.began;
}

function parseHolder(text: string): z.infer<typeof holderSchema> | null {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    // Killed while it wrote the lock, and therefore gone.
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Field 22 of /proc/<pid>/stat, with the boot, so that a number that comes again after a restart is told apart. */
function beginOf(pid: number): string | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program, in parentheses, may hold anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[19] === undefined ? null : `${boot}/${fields[19]}`;
  } catch {
    return null;
  }
}
