import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { errorCodeOf, type Disk } from "./disk.ts";
import { storageError } from "./errors.ts";

/** Who holds a data folder. */
interface LockHolder {
  pid: number;
  /** When the process was started, as the system counts it; a process id is used again, this is not. "" where unknown. */
  started: string;
  /** Tells two storages of one process apart, and a process from its predecessor of the same id in a container. */
  token: string;
}

/** Tokens of the locks that this process holds: with them, a lock left by a predecessor with our own id is known as stale. */
const heldHere = new Set<string>();

/**
 * Keeps a data folder for one process by the file `lock` in it. One left by a process that is gone is taken over.
 * Processes that can't see each other (two machines, or containers apart, on one shared folder) are not kept apart.
 */
export class FolderLock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #token: string;

  private constructor(disk: Disk, path: string, token: string) {
    this.#disk = disk;
    this.#path = path;
    this.#token = token;
  }

  /** @throws {OrchestratorError} `STORAGE_LOCKED` with `details.pid` of the process that holds it. */
  static async take(disk: Disk, folder: string, logger: Logger): Promise<FolderLock> {
    const path = join(folder, "lock");
    const token = randomUUID();
    const mine: LockHolder = { pid: process.pid, started: startOf(process.pid), token };
    try {
      for (let attempt = 0; attempt < 5; attempt++) {
        if (await disk.createExclusive(path, JSON.stringify(mine))) {
          heldHere.add(token);
          return new FolderLock(disk, path, token);
        }
        await removeIfStale(disk, path, logger);
      }
    } catch (error) {
      throw storageError(error);
    }
    throw new OrchestratorError("STORAGE_LOCKED", {
      message: "Other processes keep taking the data folder.",
    });
  }

  async release(): Promise<void> {
    heldHere.delete(this.#token);
    await this.#disk.remove(this.#path);
  }
}

async function removeIfStale(disk: Disk, path: string, logger: Logger): Promise<void> {
  const text = (await disk.readWhole(path))?.toString("utf8");
  if (text === undefined) return;
  const holder = parseHolder(text);
  if (holder !== null && isAlive(holder)) {
    const message = `Process ${holder.pid} uses the data folder.`;
    throw new OrchestratorError("STORAGE_LOCKED", { message, details: { pid: holder.pid } });
  }
  logger.warn("A lock left by a process that is gone was taken over.", { path, pid: holder?.pid });
  // Moved, not removed: between reading and here another process may have put its own lock in place.
  const aside = `${path}.${randomUUID()}`;
  try {
    await disk.rename(path, aside);
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return;
    throw error;
  }
  const moved = (await disk.readWhole(aside))?.toString("utf8") ?? "";
  if (moved !== text) await disk.createExclusive(path, moved);
  await disk.remove(aside);
}

function parseHolder(text: string): LockHolder | null {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder> | null;
    if (typeof holder?.pid !== "number" || !Number.isInteger(holder.pid) || holder.pid < 1) return null;
    return { pid: holder.pid, started: String(holder.started), token: String(holder.token) };
  } catch {
    return null;
  }
}

function isAlive({ pid, started, token }: LockHolder): boolean {
  if (pid === process.pid) return heldHere.has(token);
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user is alive too.
    if (errorCodeOf(error) !== "EPERM") return false;
  }
  return started === "" || startOf(pid) === "" || startOf(pid) === started;
}

/** The start time of a process: field 22 of its line in /proc, where there is one. */
function startOf(pid: number): string {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "latin1");
    return line.slice(line.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
