/** Folders that are in use. */
import { cpSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Copies a folder that an open storage of this process writes to, as a process that is killed now would leave it. A call that was begun before may
 * still move or remove a file while others are copied: then the copy is made again.
 */
export function copyAsKilled(folder: string, to: string): void {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    try {
      const before = filesOf(folder);
      cpSync(folder, to, { recursive: true, filter: (path) => !path.endsWith("lock") });
      if (filesOf(folder) === before) return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    rmSync(to, { recursive: true, force: true });
  }
  throw new Error(`${folder} never stood still.`);
}

function filesOf(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names
    .map((name) => {
      const { ino, size, mtimeMs } = statSync(join(folder, name));
      return `${name} ${ino} ${size} ${mtimeMs}`;
    })
    .join("\n");
}
