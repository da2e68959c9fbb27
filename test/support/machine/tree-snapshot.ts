import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/**
 * All that stands below a folder, path by path: kind, permission bits, owner, and what it holds or where it points. Looked at
 * past our own code. Times are left out, and so are the paths for which `leaves` holds.
 */
export function treeSnapshot(folder: string, leaves: (path: string) => boolean = () => false): string[] {
  const found: string[] = [];
  const look = (path: string, shown: string): void => {
    if (leaves(shown)) return;
    const stats = lstatSync(path);
    const kind = (stats.mode >> 12).toString(8);
    const mode = (stats.mode & 0o7777).toString(8).padStart(4, "0");
    const holds = stats.isFile()
      ? `${stats.size} ${createHash("sha256").update(readFileSync(path)).digest("hex").slice(0, 12)} ${printed(path)}`
      : stats.isSymbolicLink()
        ? `-> ${readlinkSync(path)}`
        : "";
    found.push(`${JSON.stringify(shown)} ${kind} ${mode} ${stats.uid}:${stats.gid} ${holds}`.trimEnd());
    if (!stats.isDirectory()) return;
    for (const name of readdirSync(path).sort()) look(join(path, name), `${shown}/${name}`);
  };
  look(folder, "");
  return found;
}

/** The beginning, so that a failure can be read. */
function printed(path: string): string {
  return JSON.stringify(readFileSync(path, "latin1").slice(0, 120));
}
