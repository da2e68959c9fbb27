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

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** The owner of the folder may have put a pipe there since, or a link to a device, which it may matter to be opened. */
const fileFlags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW;
const folderFlags = O_RDONLY | O_DIRECTORY;

/** What the system says where something else stands, or nothing. */
const others = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EINVAL", "ENXIO"]);

/** Remembers what was written and makes it survive a power loss, all at once. */
export class PendingWrites {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();

  /** Whether nothing was written since the last flush. */
  get isEmpty(): boolean {
    return this.#folders.size === 0;
  }

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
    const files = [...this.#files];
    const folders = [...this.#folders];
    this.#files.clear();
    this.#folders.clear();
    const all = [
      ...files.map((path) => ({ path, flags: fileFlags })),
      ...folders.map((path) => ({ path, flags: folderFlags })),
    ];
    try {
      if (all.length >= wholeSyncFrom && (await syncFileSystems(folders))) return;
      for (let at = 0; at < all.length; at += atOnce) {
        await Promise.all(all.slice(at, at + atOnce).map(sync));
      }
    } catch (error) {
      for (const path of files) this.#files.add(path);
      for (const path of folders) this.#folders.add(path);
      throw error;
    }
  }
}

async function sync({ path, flags }: { path: string; flags: number }): Promise<void> {
  try {
    const handle = await open(path, flags);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // What is gone again, or became something that can't be synced, need not survive; its folder is synced for it.
    if (!others.has(errnoOf(error))) throw hostError(path, errnoOf(error), error);
  }
}

/** Syncs the file systems of these folders with the system's own program; false where it can't. */
function syncFileSystems(folders: readonly string[]): Promise<boolean> {
  const byDevice = new Map<number, string>();
  for (const folder of folders) {
    const device = deviceOf(folder);
    if (device !== null) byDevice.set(device, folder);
  }
  return new Promise((resolve) => {
    const options = { stdio: "ignore", env: { PATH: "/usr/bin:/bin" } } as const;
    const child = spawn("sync", ["-f", "--", ...byDevice.values()], options);
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

/** Null where no folder stands any more. */
function deviceOf(folder: string): number | null {
  try {
    return statSync(folder).dev;
  } catch (error) {
    if (others.has(errnoOf(error))) return null;
    throw hostError(folder, errnoOf(error), error);
  }
}
