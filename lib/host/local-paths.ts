import { closeSync, constants, fstatSync, opendirSync, openSync, realpathSync } from "node:fs";
import { join, normalize } from "node:path";
import { OrchestratorError } from "../errors.ts";
import { lastly } from "../internal/maybe-waiting.ts";
import { isBeside } from "../internal/path-text.ts";
import { errnoWords } from "./errno-words.ts";
import { partsBelow } from "./files-below.ts";
import { errnoOf, hostError, toHostError } from "./host-error.ts";
import { LocalWalk, O_PATH, type Reached } from "./local-walk.ts";
import { refuseLinked } from "./open-file.ts";

/**
 * What is done at a path: `real` is good only meanwhile, `lasting` names the same thing for later. `linksOf` is whose files
 * with several names are his own there; -1 = nobody's, null = everybody's.
 */
export type PathUse<T> = (real: string, lasting: string, linksOf: number | null) => T;

/** A path that is held: nobody leads what is done at it elsewhere. */
export interface HeldPath {
  /** Good until it is released. */
  readonly real: string;
  /** The same for another process of the agent's user, meanwhile. */
  readonly shown: string;
  /** Names the same thing for later. */
  readonly lasting: string;
  readonly linksOf: number | null;
  /** The owner of a folder on the way who could lead a program elsewhere; null = nobody could. */
  readonly ledBy: number | null;
  release(): void;
}

/** A folder that nobody else can change, nor any above it. */
interface KnownFolder {
  /** As it was asked for. */
  folder: string;
  /** Where it is; the top of the machine is "". */
  real: string;
  linksOf: number | null;
}

/** How long a folder is believed to be root's or the agent's alone, milliseconds. What we change ourselves is seen at once. */
const freshMs = 100;

/**
 * Where the paths of a host are on the machine. No path is led elsewhere by somebody who owns a folder on the way
 * ({@link Trail}), also while it is used. Confined to a root folder, no path leads out of it: neither by `..` nor by a link
 * among the folders above it. The last part is never followed by anyone who uses the answer.
 */
export class LocalPaths {
  /** The root folder, every link in it followed; null = the machine as it is. */
  readonly root: string | null;
  readonly #walk: LocalWalk;
  readonly #known = new Map<string, KnownFolder>();
  /** The one that was asked for last: most things stand beside the one before. */
  #last: KnownFolder | undefined;
  #knownSinceMs = 0;

  /**
   * @param root - The root folder, or the paths of the same host.
   * @throws {OrchestratorError} `CONFIGURATION_INVALID` where the root folder is not there or can't be entered.
   */
  constructor(root?: string | LocalPaths) {
    const same = root instanceof LocalPaths ? root : null;
    this.root = same ? same.root : typeof root !== "string" || root === "/" ? null : openRoot(root);
    this.#walk = same ? same.#walk : new LocalWalk();
  }

  /**
   * Does something at a path; what it holds is let go when that is over, also where it waits.
   *
   * @throws OrchestratorError `PATH_OUTSIDE_ROOT`; `HOST_ERROR` where the folder above it can't be reached.
   */
  use<T>(path: string, act: PathUse<T>): T {
    const known = this.#above(path);
    if (known) {
      const { folder, real } = known;
      const place = folder === real ? path : real + path.slice(folder.length);
      return act(place, place, known.linksOf);
    }
    const held = this.hold(path);
    return lastly(
      () => act(held.real, held.lasting, held.linksOf),
      () => held.release(),
    );
  }

  /** Holds a path until it is released. Throws as {@link LocalPaths.use} does. */
  hold(path: string): HeldPath {
    if (this.root !== null && normalize(`/${path}`) === "/") return this.holdFolder(path);
    const names = this.namesOf(path);
    const last = names.at(-1);
    if (last === undefined || last === ".." || last === ".") return this.holdFolder(path);
    const reached = this.reach(path, names.slice(0, -1));
    const at = path.lastIndexOf("/");
    if (reached.fd === null && reached.ledBy === null && isNamed(path, at)) {
      const folder = path.slice(0, at);
      const { path: real, linksOf } = reached;
      this.#fresh().set(folder, { folder, real: real === "/" ? "" : real, linksOf });
    }
    return toHeld(reached, `/${last}`);
  }

  /** Holds what stands at a path itself, for a program to open: `HOST_ERROR` where it is a link, or perhaps another's file. */
  holdThing(path: string): HeldPath {
    const held = this.hold(path);
    if (held.real === held.lasting) return held;
    try {
      const fd = openThing(path, held);
      const release = (): void => closeSync(fd);
      return { ...held, real: `/proc/self/fd/${fd}`, shown: `/proc/${process.pid}/fd/${fd}`, release };
    } finally {
      held.release();
    }
  }

  /** The same with a last link followed too: for a folder to work in. */
  holdFolder(path: string): HeldPath {
    return toHeld(this.reach(path, this.namesOf(path)), "");
  }

  /** Holds what {@link HeldPath.lasting} named, where that is still the way to it. */
  holdLasting(lasting: string): HeldPath {
    const names = namesIn(lasting);
    const last = names.pop();
    const reached = this.#walk.reach(lasting, names);
    return toHeld(reached, last === undefined ? "" : `/${last}`);
  }

  /** The same paths where they need not be below a folder. */
  get outside(): LocalPaths {
    return this;
  }

  /** Forgets whose the folders are: one of them was changed, or something ran that may have. */
  forget(): void {
    this.#known.clear();
    this.#last = undefined;
    this.#walk.forget();
  }

  /** Goes to a folder by its names on the machine; the last `below` of them are no links, and are held in any case. */
  protected reach(path: string, names: readonly string[], below?: number): Reached {
    this.#fresh();
    const reached = this.#walk.reach(path, names, below);
    const { root } = this;
    if (root === null || reached.path === root || reached.path.startsWith(`${root}/`)) return reached;
    reached.release();
    throw new OrchestratorError("PATH_OUTSIDE_ROOT", { details: { path } });
  }

  /** The names that lead to a path from the top of the machine. */
  protected namesOf(path: string): string[] {
    return namesIn(this.root === null ? path : join(this.root, normalize(`/${path}`)));
  }

  /** What is known of the folder of a path. */
  #above(path: string): KnownFolder | undefined {
    const known = this.#fresh();
    const last = this.#last;
    if (last && isBeside(path, last.folder)) return isNamed(path, last.folder.length) ? last : undefined;
    const at = path.lastIndexOf("/");
    if (!isNamed(path, at)) return undefined;
    this.#last = known.get(path.slice(0, at));
    return this.#last;
  }

  /** What is known, unless it is too old. */
  #fresh(): Map<string, KnownFolder> {
    const nowMs = performance.now();
    if (nowMs - this.#knownSinceMs > freshMs) {
      this.forget();
      this.#knownSinceMs = nowMs;
    }
    return this.#known;
  }
}

/**
 * Paths below a folder that somebody else may write to: no link is followed below it, whosever it is. Each folder on the way
 * is opened, and what is done at the end is done in the open folder: a link that is put in the way meanwhile leads nowhere.
 */
export class PathsBelow extends LocalPaths {
  readonly #paths: LocalPaths;
  readonly #folder: string;

  constructor(paths: LocalPaths, folder: string) {
    super(paths);
    this.#paths = paths;
    this.#folder = folder;
  }

  override get outside(): LocalPaths {
    return this.#paths.outside;
  }

  override use<T>(path: string, act: PathUse<T>): T {
    const held = this.hold(path);
    return lastly(
      () => act(held.real, held.lasting, held.linksOf),
      () => held.release(),
    );
  }

  override hold(path: string): HeldPath {
    const parts = partsBelow(this.#folder, path);
    const last = parts.pop();
    if (last === undefined) return this.#paths.hold(path);
    const names = [...this.namesOf(this.#folder), ...parts];
    return toHeld(this.reach(path, names, parts.length), `/${last}`);
  }

  override forget(): void {
    super.forget();
    this.#paths.forget();
  }
}

function toHeld({ path, fd, linksOf, ledBy, release }: Reached, last: string): HeldPath {
  const lasting = path === "/" ? last || "/" : `${path}${last}`;
  if (fd === null) return { real: lasting, shown: lasting, lasting, linksOf, ledBy, release };
  const name = `/fd/${fd}${last}`;
  return {
    real: `/proc/self${name}`,
    shown: `/proc/${process.pid}${name}`,
    lasting,
    linksOf,
    ledBy,
    release,
  };
}

function openThing(path: string, { real, linksOf }: HeldPath): number {
  let fd: number | null = null;
  try {
    fd = openSync(real, O_PATH | constants.O_NOFOLLOW);
    const stats = fstatSync(fd);
    if (stats.isSymbolicLink()) throw hostError(path, "ELOOP");
    // What the agent made for the program stood there; whose the folder is has put something of his own in its place.
    if (stats.uid !== 0 && stats.uid !== process.geteuid?.()) throw hostError(path, "ESTALE");
    refuseLinked(path, fstatSync, { fd, linksOf });
    return fd;
  } catch (error) {
    if (fd !== null) closeSync(fd);
    throw toHostError(path, error);
  }
}

/** Whether what follows the last slash of a path is a name: neither empty nor dots alone. */
function isNamed(path: string, slash: number): boolean {
  const length = path.length - slash - 1;
  return length > 2 || (length > 0 && !path.endsWith(length === 1 ? "." : ".."));
}

function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function openRoot(root: string): string {
  try {
    const real = realpathSync.native(root);
    opendirSync(real).closeSync();
    return real;
  } catch (cause) {
    const message = `The root folder ${root} can't be used: ${errnoWords(errnoOf(cause))}.`;
    throw new OrchestratorError("CONFIGURATION_INVALID", { message, details: { root }, cause });
  }
}
