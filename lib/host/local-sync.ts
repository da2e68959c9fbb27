import { spawn } from "node:child_process";
import { constants, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf, hostError } from "./host-error.ts";

/**
 * From so many paths on, one `sync` of the whole file system is cheaper than one of each. Both cost the same at 30 on an
 * idle disk (4 ms); on a busy one it also writes what others have waiting, hence the margin.
 */
const wholeSyncFrom = 64;

/** How many paths are synced at once. */
const atOnce = 16;

/** Remembers what was written and makes it survive a power loss, all at once. */
export class PendingWrites {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /** Notes a file that was written, and with it the folder that names it. */
  addFile(path: string): void {
    this.#files.add(path);
    this.addEntry(path);
  }

  /** Notes that a name came or went. */
  addEntry(path: string): void {
    this.#folders.add(dirname(path));
  }

  /** Resolves when all that was noted so far is durable. `HOST_ERROR` where the disk fails; it is noted again then. */
  async flush(): Promise<void> {
    const paths = [...this.#files, ...this.#folders];
    const folders = [...this.#folders];
    this.#files.clear();
    this.#folders.clear();
    if (paths.length >= wholeSyncFrom && (await syncFileSystems(folders))) return;
    try {
      for (let at = 0; at < paths.length; at += atOnce) {
        await Promise.all(paths.slice(at, at + atOnce).map(syncPath));
      }
    } catch (error) {
      for (const path of paths) this.#files.add(path);
      throw error;
    }
  }
}

async function syncPath(path: string): Promise<void> {
  try {
    // Not blocking, because the owner of the folder may have put a pipe there since.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // What is gone again, or became something that can't be synced, need not survive; its folder is synced for it.
    if (!["ENOENT", "EINVAL", "ENXIO"].includes(errnoOf(error))) throw hostError(path, errnoOf(error), error);
  }
}

/** Syncs the file systems of these folders with the system's own program; false where it can't. */
function syncFileSystems(folders: readonly string[]): Promise<boolean> {
  const byDevice = new Map<number, string>();
  for (const folder of folders) {
    const stat = statSync(folder, { throwIfNoEntry: false });
    if (stat) byDevice.set(stat.dev, folder);
  }
  return new Promise((resolve) => {
    const options = { stdio: "ignore", env: { PATH: "/usr/bin:/bin" } } as const;
    const child = spawn("sync", ["-f", "--", ...byDevice.values()], options);
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}
