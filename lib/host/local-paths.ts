import { opendirSync, realpathSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { OrchestratorError } from "../errors.ts";
import { errnoOf, hostError } from "./host-error.ts";

/**
 * Where the paths of a host are on the machine. Confined to a root folder, no path leads out of it: neither by `..` nor by
 * a link among the folders above it. The last part is never followed by anyone who uses the answer.
 */
export class LocalPaths {
  /** The root folder, every link in it followed; null = the machine as it is. */
  readonly root: string | null;

  /** @throws {OrchestratorError} `CONFIGURATION_INVALID` where the root folder is not there or can't be entered. */
  constructor(root?: string) {
    this.root = root === undefined || root === "/" ? null : openRoot(root);
  }

  /**
   * The same path on the machine.
   *
   * @throws OrchestratorError `PATH_OUTSIDE_ROOT`; `HOST_ERROR` where the folder above it can't be reached.
   */
  resolve(path: string): string {
    const { root } = this;
    if (root === null) return path;
    const inside = normalize(`/${path}`);
    if (inside === "/") return root;
    const full = join(root, inside);
    const folder = realFolder(dirname(full), path);
    if (folder !== root && !folder.startsWith(`${root}/`)) {
      throw new OrchestratorError("PATH_OUTSIDE_ROOT", { details: { path } });
    }
    return `${folder}/${basename(full)}`;
  }

  /** The same, with a last link followed too: for a folder to work in. */
  resolveFolder(path: string): string {
    const { root } = this;
    if (root === null) return path;
    const folder = realFolder(this.resolve(path), path);
    if (folder === root || folder.startsWith(`${root}/`)) return folder;
    throw new OrchestratorError("PATH_OUTSIDE_ROOT", { details: { path } });
  }
}

function openRoot(root: string): string {
  try {
    const real = realpathSync.native(root);
    opendirSync(real).closeSync();
    return real;
  } catch (cause) {
    const message = `The root folder ${root} can't be used: ${errnoOf(cause)}.`;
    throw new OrchestratorError("CONFIGURATION_INVALID", { message, details: { root }, cause });
  }
}

function realFolder(folder: string, path: string): string {
  try {
    return realpathSync.native(folder);
  } catch (error) {
    throw hostError(path, errnoOf(error), error);
  }
}
