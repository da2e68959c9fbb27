/** Going to a folder of this machine, led by nobody. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { errnoOf, hostError } from "./host-error.ts";
import { type Passing, type Step, Trail, type Trust, Way } from "./trail.ts";

const { O_DIRECTORY, O_NOFOLLOW } = constants;

/** Opens the name alone: nothing of a folder need be readable. Node has no name for it; the same on all that Node runs on. */
export const O_PATH = 0o10000000;

/** Only Linux names an open folder, so that what is done in it can't be led elsewhere. */
const holds = process.platform === "linux";

/** A folder that was reached. */
export interface Reached {
  /** Its path, every link followed. */
  path: string;
  /** The open folder, where somebody could lead its path elsewhere; else null. */
  fd: number | null;
  linksOf: number | null;
  ledBy: number | null;
  release(): void;
}

interface Folder {
  path: string;
  fd: number | null;
}

/** How a folder is entered: with so many names left, and whether it is only on the way. */
interface Entering {
  left: number;
  passing: Passing;
}

interface Link {
  stats: Stats;
  target: string;
}

const agentsUid = process.geteuid?.() ?? 0;
const agentsGid = process.getegid?.() ?? 0;

/** Root's own group is no excuse: where a folder has an access list, these bits tell what others may do, not the group. */
const trust: Trust = {
  trusts: (uid) => uid === 0 || uid === agentsUid,
  trustsGroup: (gid) => agentsUid !== 0 && gid === agentsGid,
};

/** Goes to folders from the top of the machine; remembers those that nobody else can put in another's place. */
export class LocalWalk {
  readonly #safe = new Map<string, Stats>();

  forget(): void {
    this.#safe.clear();
  }

  /**
   * Goes to a folder by the names that lead to it.
   *
   * @param path - What an error names.
   * @param below - So many of the names at the end are no links, and are held open in any case.
   * @throws OrchestratorError `HOST_ERROR` where there is no such folder, or the way to it is refused.
   */
  reach(path: string, names: readonly string[], below = -1): Reached {
    const walker = new Walker(path, this.#safe, below);
    try {
      return walker.go(new Way(names));
    } catch (error) {
      walker.release();
      throw error;
    }
  }
}

class Walker {
  readonly #path: string;
  readonly #safe: Map<string, Stats>;
  readonly #below: number;
  readonly #trail: Trail;
  #at: Folder = { path: "/", fd: null };

  constructor(path: string, safe: Map<string, Stats>, below: number) {
    this.#path = path;
    this.#safe = safe;
    this.#below = below;
    this.#trail = new Trail(path, trust);
  }

  go(way: Way): Reached {
    this.#begin({ left: way.length, passing: null });
    for (let step = way.next(); step !== undefined; step = way.next()) {
      const { name, passing } = step;
      if (name === ".") continue;
      if (name === "..") {
        // Its path has no link in it: the way up is the way from the top.
        const top = way.detour(this.#at.path.split("/").slice(1, -1), "again", step);
        this.#begin({ left: way.length, passing: top });
        continue;
      }
      const link = this.#step(name, { left: way.length, passing });
      if (link) this.#follow(link, step, way);
    }
    const { linksOf, ledBy } = this.#trail;
    return { ...this.#at, linksOf, ledBy, release: () => this.release() };
  }

  #follow({ stats, target }: Link, step: Step, way: Way): void {
    if (way.length < this.#below) throw hostError(this.#path, "ELOOP");
    this.#trail.follow(stats, `${this.#at.path === "/" ? "" : this.#at.path}/${step.name}`);
    const names = target.split("/").filter((part) => part !== "" && part !== ".");
    const passing = way.detour(names, "led", step);
    if (target.startsWith("/")) this.#begin({ left: way.length, passing });
    else if (names.length === 0) this.#trail.stay(passing);
  }

  release(): void {
    const { fd } = this.#at;
    this.#at = { ...this.#at, fd: null };
    if (fd !== null) closeSync(fd);
  }

  #begin(entering: Entering): void {
    this.release();
    this.#at = { path: "/", fd: null };
    this.#trail.restart();
    const top = this.#safe.get("/") ?? lstatSync("/");
    this.#enter({ path: "/", fd: null }, top, entering);
  }

  /** Enters a folder, or tells the link that stands there. */
  #step(name: string, entering: Entering): Link | null {
    const at = this.#at;
    const path = at.path === "/" ? `/${name}` : `${at.path}/${name}`;
    if (at.fd !== null) return this.#stepHeld(at.fd, { path, name }, entering);
    const known = this.#safe.get(path);
    const stats = known ?? this.#ask(() => lstatSync(path));
    if (stats.isSymbolicLink()) return { stats, target: this.#ask(() => readlinkSync(path)) };
    if (!stats.isDirectory()) throw hostError(this.#path, "ENOTDIR");
    this.#enter({ path, fd: null }, stats, entering);
    return null;
  }

  #stepHeld(from: number, { path, name }: { path: string; name: string }, entering: Entering): Link | null {
    const entry = `/proc/self/fd/${from}/${name}`;
    let fd: number;
    try {
      fd = openSync(entry, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      const stats = this.#ask(() => lstatSync(entry));
      if (stats.isSymbolicLink()) return { stats, target: this.#ask(() => readlinkSync(entry)) };
      throw hostError(this.#path, stats.isDirectory() ? errnoOf(error) : "ENOTDIR", error);
    }
    this.release();
    this.#enter({ path, fd }, fstatSync(fd), entering);
    return null;
  }

  #enter(folder: Folder, stats: Stats, { left, passing }: Entering): void {
    this.#at = folder;
    this.#trail.enter(stats, passing);
    const { ledBy } = this.#trail;
    if (ledBy === null) this.#safe.set(folder.path, stats);
    if (!holds || folder.fd !== null || (ledBy === null && left > this.#below)) return;
    // From here on what a path means may change at any time; in an open folder nothing does.
    const fd = this.#ask(() => openSync(folder.path, O_PATH | O_DIRECTORY | O_NOFOLLOW));
    this.#at = { path: folder.path, fd };
    this.#trail.restart();
    this.#trail.enter(fstatSync(fd), passing);
  }

  #ask<T>(look: () => T): T {
    try {
      return look();
    } catch (error) {
      throw hostError(this.#path, errnoOf(error), error);
    }
  }
}
