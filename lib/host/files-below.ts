/** Files below a folder whose owner may put links into it. */
import { OrchestratorError } from "../errors.ts";
import { hostError } from "./host-error.ts";
import type { HostFiles } from "./host.ts";

/** The names on the way from a folder to a path below it; none for the folder itself. `PATH_OUTSIDE_ROOT` for another. */
export function partsBelow(folder: string, path: string): string[] {
  if (path === folder) return [];
  const prefix = folder === "/" ? "/" : `${folder}/`;
  const parts = path.slice(prefix.length).split("/");
  const isBelow =
    path.startsWith(prefix) && !parts.some((part) => part === "" || part === "." || part === "..");
  if (!isBelow) throw new OrchestratorError("PATH_OUTSIDE_ROOT", { details: { path } });
  return parts;
}

/** `HOST_ERROR` with errno ELOOP where one of the folders between a folder and a path below it is a link. */
export function refuseLinksBelow(files: Pick<HostFiles, "stat">, folder: string, path: string): void {
  let above = folder === "/" ? "" : folder;
  for (const part of partsBelow(folder, path).slice(0, -1)) {
    above = `${above}/${part}`;
    if (files.stat(above)?.kind === "symlink") throw hostError(path, "ELOOP");
  }
}

/**
 * Looks at every folder on the way before each call and refuses a link. Enough where nobody can put one there between the
 * look and the call; {@link HostFiles.below} promises more where the system can.
 */
export function guardFiles(files: HostFiles, folder: string): HostFiles {
  const guard = (path: string): string => {
    refuseLinksBelow(files, folder, path);
    return path;
  };
  const guarded: HostFiles = {
    // A folder below is guarded from here on already.
    below: () => guarded,
    stat: (path) => files.stat(guard(path)),
    ledBy: (path) => files.ledBy(guard(path)),
    readFile: (path, expected) => files.readFile(guard(path), expected),
    hashFile: (path, signal) => files.hashFile(guard(path), signal),
    compareFile: (path, content) => files.compareFile(guard(path), content),
    readLink: (path) => files.readLink(guard(path)),
    extras: (path) => files.extras(guard(path)),
    requireChangeable: (path, change, options) => files.requireChangeable(guard(path), change, options),
    list: (path) => files.list(guard(path)),
    writeFile: (path, content, attributes) => files.writeFile(guard(path), content, attributes),
    makeDirectory: (path, attributes) => files.makeDirectory(guard(path), attributes),
    makeSymlink: (path, target, owner) => files.makeSymlink(guard(path), target, owner),
    move: (from, to) => files.move(from, guard(to)),
    setAttributes: (path, attributes) => files.setAttributes(guard(path), attributes),
    removeFile: (path) => files.removeFile(guard(path)),
    removeDirectory: (path) => files.removeDirectory(guard(path)),
  };
  return guarded;
}
