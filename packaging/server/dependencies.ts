/** The packages that the server loads, as the lock file has them: what `npm ci --omit=dev` would install, for any kind of machine. */
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { placeNatives, placeShared } from "../natives.ts";
import type { Architecture } from "../node.ts";
import { repository } from "../tools.ts";

/** What the lock file says about a package. */
interface Locked {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** Brought as small as they work, with the part for the kind of machine. */
const withNativeParts = new Set(["koffi", "@lydell/node-pty"]);

/** What a program doesn't load. */
const isForBuilders = /\.(?:d\.[cm]?ts|map|tsbuildinfo)$/;

/**
 * Copies a folder without what only builders read, such as types, and without the packages in it.
 *
 * @param from - Folder that is copied.
 * @param to - Where to.
 */
export function copyProgram(from: string, to: string): void {
  const filter = (path: string): boolean =>
    !isForBuilders.test(path) && !path.slice(from.length).includes("node_modules");
  cpSync(from, to, { recursive: true, filter });
}

/**
 * Puts the packages into `node_modules` of a folder.
 *
 * @param cache - Folder for what was brought from the registry before.
 * @throws {NotBuilt} Where a native part for another kind of machine can't be had.
 */
export function placeDependencies(folder: string, architecture: Architecture, cache: string): void {
  for (const path of productionPaths()) copyProgram(join(repository, path), join(folder, path));
  placeShared(folder);
  placeNatives(folder, architecture, cache);
}

/** Paths of all packages that the program needs, but those with native parts. */
function productionPaths(): string[] {
  const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
    packages: Record<string, Locked | undefined>;
  };
  const found = new Set<string>();
  const visit = (path: string): void => {
    const { dependencies, optionalDependencies } = packages[path] ?? {};
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      if (withNativeParts.has(name)) continue;
      const next = resolve(path, name);
      if (found.has(next)) continue;
      found.add(next);
      visit(next);
    }
  };
  // Where Node would find a package that is asked for at a path: there or above.
  const resolve = (from: string, name: string): string => {
    for (let path = from; ; path = path.slice(0, Math.max(0, path.lastIndexOf("/node_modules/")))) {
      const candidate = path === "" ? `node_modules/${name}` : `${path}/node_modules/${name}`;
      if (candidate in packages) return candidate;
      if (path === "") throw new Error(`package-lock.json has no ${name}, which ${from} needs.`);
    }
  };
  visit("");
  return [...found];
}
