import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** How often a folder is tried above which another was missing: somebody else may make that in between, or take it away. */
const attempts = 3;

/**
 * Makes a folder and those above it; one that is there stays as it is.
 *
 * One by one: Node's own recursion never ends where a folder can't be made although the one above it is there, below /proc for one.
 *
 * @param mode - Of each that is made. Default: 0o777, less what the umask takes away.
 * @throws What the system says, such as `ENOTDIR`.
 */
export function makeFolders(path: string, mode = 0o777): void {
  makeFolder(resolve(path), mode, attempts);
}

function makeFolder(path: string, mode: number, left: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || left === 1) throw error;
    if (!existsSync(dirname(path))) makeFolder(dirname(path), mode, attempts);
    makeFolder(path, mode, left - 1);
  }
}
