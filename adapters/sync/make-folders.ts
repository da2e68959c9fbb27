import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it; one that is there stays as it is.
 *
 * One by one: Node's own recursion never ends where a folder can't be made although the one above it is there, below /proc for one.
 *
 * @param mode - Of each that is made. Default: 0o777, less what the umask takes away.
 * @throws What the system says, such as `ENOTDIR`.
 */
export function makeFolders(path: string, mode = 0o777): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeFolders(dirname(path), mode);
    mkdirSync(path, { mode });
  }
}
