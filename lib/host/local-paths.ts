import { closeSync, constants, lstatSync, opendirSync, openSync, realpathSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { OrchestratorError } from "../errors.ts";
import { errnoOf, hostError } from "./host-error.ts";
import { partsBelow } from "./files-below.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** What is done at a path: `real` is good only meanwhile, `lasting` names the same thing for later. */
export type PathUse<T> = (real: string, lasting: string) => T;

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

  /** Does something at a path, as {@link LocalPaths.resolve} finds it. */
  use<T>(path: string, act: PathUse<T>): T {
    const real = this.resolve(path);
    return act(real, real);
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

/**
 * Paths below a folder that somebody else may write to. Each folder on the way is opened, links refused, and what is done
 * at the end is done in the open folder: a link that is put in the way meanwhile leads nowhere.
 */
export class PathsBelow extends LocalPaths {
  readonly #paths: LocalPaths;
  readonly #folder: string;

  constructor(paths: LocalPaths, folder: string) {
    super();
    this.#paths = paths;
    this.#folder = folder;
  }

  override resolve(path: string): string {
    return this.#paths.resolve(path);
  }

  override use<T>(path: string, act: PathUse<T>): T {
    const parts = partsBelow(this.#folder, path);
    const last = parts.pop();
    if (last === undefined) return this.#paths.use(path, act);
    const real = this.#paths.resolveFolder(this.#folder);
    let fd = openSync(real, O_RDONLY | O_DIRECTORY);
    try {
      for (const part of parts) {
        const next = openFolder(`/proc/self/fd/${fd}/${part}`, path);
        closeSync(fd);
        fd = next;
      }
      return act(`/proc/self/fd/${fd}/${last}`, [real, ...parts, last].join("/"));
    } finally {
      closeSync(fd);
    }
  }
}

/** Opens a folder that is no link. */
function openFolder(folder: string, path: string): number {
  try {
    return openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    const isLink = lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    throw hostError(path, isLink ? "ELOOP" : errnoOf(error), error);
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
