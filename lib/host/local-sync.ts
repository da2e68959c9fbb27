import { spawn } from "node:child_process";
import { constants, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { isOrchestratorError } from "../errors.ts";
import { isBeside } from "../internal/path-text.ts";
import { errnoOf, hostError } from "./host-error.ts";
import type { Leftovers } from "./leftovers.ts";
import type { HeldPath } from "./local-paths.ts";

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

/** A path that nobody leads elsewhere until it is released. */
type Held = Pick<HeldPath, "real" | "shown" | "release">;
type Hold = (path: string) => Held;

/** Remembers what was written and makes it survive a power loss, all at once. */
export class PendingWrites {
  readonly #files = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #hold: Hold;
  readonly #leftovers: Leftovers | null;
  /** The folder that was asked for last: most files stand beside the one before. */
  #folder = "/";

  /**
   * @param hold - Finds what was written again: whoever owns the folder may have put a link in its place since. Default: by
   *   its path.
   * @param leftovers - Is told where files are written, and when all are durable.
   */
  constructor(
    hold: Hold = (path) => ({ real: path, shown: path, release() {} }),
    leftovers: Leftovers | null = null,
  ) {
    this.#hold = hold;
    this.#leftovers = leftovers;
  }

  /** Notes that a file is about to be written beside a path. */
  begin(path: string): void {
    this.#leftovers?.note(this.#folderOf(path));
  }

  /** Whether nothing was written since the last flush. */
  get isEmpty(): boolean {
    return this.#folders.size === 0;
  }

  /** Whether a name in the folder of this path came or went since the last flush. */
  hasChanged(path: string): boolean {
    return this.#folders.has(this.#folderOf(path));
  }

  /** Notes a file that was written, and with it the folder that names it. */
  addFile(path: string): void {
    this.#files.add(path);
    this.addEntry(path);
  }

  /** Notes that a name came or went. */
  addEntry(path: string): void {
    this.#folders.add(this.#folderOf(path));
  }

  #folderOf(path: string): string {
    if (!isBeside(path, this.#folder)) this.#folder = dirname(path);
    return this.#folder;
  }

  /** Resolves when all that was noted so far is durable. `HOST_ERROR` where the disk fails; it is noted again then. */
  async flush(): Promise<void> {
    await this.#syncNoted();
    if (this.isEmpty) this.#leftovers?.forget();
  }

  async #syncNoted(): Promise<void> {
    const files = [...this.#files];
    const folders = [...this.#folders];
    this.#files.clear();
    this.#folders.clear();
    const all = [
      ...files.map((path) => ({ path, flags: fileFlags })),
      ...folders.map((path) => ({ path, flags: folderFlags })),
    ];
    try {
      if (all.length >= wholeSyncFrom && (await syncFileSystems(folders, this.#hold))) return;
      for (let at = 0; at < all.length; at += atOnce) {
        await Promise.all(all.slice(at, at + atOnce).map((one) => sync(one, this.#hold)));
      }
    } catch (error) {
      for (const path of files) this.#files.add(path);
      for (const path of folders) this.#folders.add(path);
      throw error;
    }
  }
}

async function sync({ path, flags }: { path: string; flags: number }, hold: Hold): Promise<void> {
  try {
    const held = hold(path);
    try {
      const handle = await open(held.real, flags);
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    } finally {
      held.release();
    }
  } catch (error) {
    // What is gone again, or became something that can't be synced, need not survive; its folder is synced for it.
    const errno = systemErrno(error);
    if (!others.has(errno)) throw hostError(path, errno, error);
  }
}

/** Syncs the file systems of these folders with the system's own program; false where it can't. */
async function syncFileSystems(folders: readonly string[], hold: Hold): Promise<boolean> {
  const byDevice = new Map<number, Held>();
  try {
    for (const folder of folders) holdOnePerDevice(folder, { byDevice, hold });
    return await runSync([...byDevice.values()].map(({ shown }) => shown));
  } finally {
    for (const held of byDevice.values()) held.release();
  }
}

/** Nothing to do where no folder stands any more. */
function holdOnePerDevice(
  folder: string,
  { byDevice, hold }: { byDevice: Map<number, Held>; hold: Hold },
): void {
  let held: Held | null = null;
  try {
    held = hold(folder);
    const { dev } = statSync(held.real);
    if (byDevice.has(dev)) return;
    byDevice.set(dev, held);
    held = null;
  } catch (error) {
    const errno = systemErrno(error);
    if (!others.has(errno)) throw hostError(folder, errno, error);
  } finally {
    held?.release();
  }
}

function runSync(folders: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { stdio: "ignore", env: { PATH: "/usr/bin:/bin" } } as const;
    const child = spawn("sync", ["-f", "--", ...folders], options);
    child.once("error", () => resolve(false));
    child.once("close", (code) => resolve(code === 0));
  });
}

/** The system's error, also where it has been named already. */
function systemErrno(error: unknown): string {
  return isOrchestratorError(error, "HOST_ERROR") ? String(error.details["errno"]) : errnoOf(error);
}
