/**
 * Where tests that are not about disks have their files: a sync costs nothing in memory. Set up and removed with each run, by Vitest;
 * null where there is no room for it, and where somebody chose a folder for temporary files.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { freemem } from "node:os";
import { join } from "node:path";

const parent = "/dev/shm";
const prefix = "fleetwright-tests-";
const leastBytes = 4 * 1024 ** 3;

export const memoryFolder = hasRoom() ? join(parent, `${prefix}${process.pid}`) : null;

export function setup(): void {
  if (memoryFolder === null) return;
  for (const name of readdirSync(parent)) if (isLeftBehind(name)) remove(join(parent, name));
  mkdirSync(memoryFolder, { mode: 0o700 });
}

export function teardown(): void {
  if (memoryFolder !== null) remove(memoryFolder);
}

function hasRoom(): boolean {
  if (["TMPDIR", "TMP", "TEMP"].some((name) => process.env[name] !== undefined)) return false;
  try {
    // Of mounts over each other the last is the one that is seen.
    const mounts = readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" "));
    const [, , type, options = ""] = mounts.findLast(([, path]) => path === parent) ?? [];
    if (type !== "tmpfs" || options.split(",").some((option) => option === "noexec" || option === "ro"))
      return false;
    const { bavail, bsize } = statfsSync(parent);
    const limit = process.constrainedMemory() || Infinity;
    return Math.min(bavail * bsize, freemem(), limit) >= leastBytes;
  } catch {
    return false;
  }
}

/** Whether a folder is one of a run that was killed. */
function isLeftBehind(name: string): boolean {
  if (!name.startsWith(prefix)) return false;
  try {
    process.kill(Number(name.slice(prefix.length)), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
