/**
 * Whose folders a path leads through, and which links may be followed on the way.
 *
 * ```
 * "/" ──folders that only root and the agent can change──> any link is followed
 *              └──a folder that somebody else can change──> a link of its owner's is followed to his own folders alone
 * ```
 * Whoever can change a folder can put a link into it, also while somebody looks: what such a link says is never believed,
 * whose folder it leads to decides.
 */
import { OrchestratorError } from "../errors.ts";
import { hostError } from "./host-error.ts";

/** Owner and permission bits of a folder or link. */
export interface Owned {
  uid: number;
  mode: number;
}

/** Whom the agent trusts: root, and itself. */
export interface Trust {
  /** Whether a user can do nothing that the agent could not. */
  trusts(uid: number): boolean;
  /** Whether being allowed to write to a folder as a group makes nobody else able to. */
  trustsGroup(gid: number): boolean;
}

/** What a machine trusts of which nothing more is known. */
export const rootAlone: Trust = { trusts: (uid) => uid === 0, trustsGroup: () => false };

/** As many as the kernel follows. */
const maxLinks = 40;

/** The owner of what a link leads to, and of all that the path goes through from there on. */
interface Bound {
  /** Null = whoever is trusted. */
  uid: number | null;
  link: string;
}

/**
 * Whether a folder is only on the way: to where a link leads ("led"), or back to one above where the path was ("again"); null = it
 * is where the path goes.
 */
export type Passing = "led" | "again" | null;

/** One name that is still to go. */
export interface Step {
  name: string;
  passing: Passing;
}

/** The names that are still to go. */
export class Way {
  readonly #rest: Step[];

  constructor(names: readonly string[]) {
    this.#rest = names.map((name) => ({ name, passing: null }));
  }

  get length(): number {
    return this.#rest.length;
  }

  get names(): string[] {
    return this.#rest.map(({ name }) => name);
  }

  /** The next name, which is gone then. */
  next(): Step | undefined {
    return this.#rest.shift();
  }

  /** Goes by these names first, in the place of a link or a step up. Tells how the folder where they begin is passed. */
  detour(names: readonly string[], passing: "led" | "again", { passing: end }: Step): Passing {
    const last = names.length - 1;
    this.#rest.unshift(...names.map((name, index) => ({ name, passing: index < last ? passing : end })));
    return last >= 0 ? passing : end;
  }
}

/** Follows one path from the top, step by step; throws where it must not go on. */
export class Trail {
  readonly #path: string;
  readonly #trust: Trust;
  readonly #bounds: Bound[] = [];
  #links = 0;
  #at: Owned = { uid: 0, mode: 0o755 };
  #isSafe = true;
  #ledBy: number | null = null;

  /** @param path - What an error names. */
  constructor(path: string, trust: Trust) {
    this.#path = path;
    this.#trust = trust;
  }

  /** The owner of the first folder on the way that somebody else than root and the agent can change; null = there is none. */
  get ledBy(): number | null {
    return this.#ledBy;
  }

  /** Whose files with several names in the folder that was reached are his own; -1 = nobody's, null = everybody's. */
  get linksOf(): number | null {
    if (this.#isSafe) return null;
    return this.#trust.trusts(this.#at.uid) ? -1 : this.#at.uid;
  }

  /** Begins at the top again: for an absolute link, or a step up. */
  restart(): void {
    this.#ledBy = null;
  }

  /**
   * Enters a folder.
   *
   * @param passing - Whether it is only on the way.
   */
  enter(folder: Owned & { gid: number }, passing: Passing): void {
    const { uid, mode } = folder;
    this.#at = folder;
    const isTrusted = this.#trust.trusts(uid);
    const isOpen = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !this.#trust.trustsGroup(folder.gid));
    this.#isSafe = isTrusted && !isOpen;
    // What stands in a sticky folder only its own owner can move.
    const staysPut = isTrusted && (mode & 0o1000) !== 0;
    if (!this.#isSafe && !staysPut) this.#ledBy ??= uid;
    this.stay(passing);
  }

  /** Goes on in the folder that was reached: a link led to where it stands. */
  stay(passing: Passing): void {
    for (const bound of this.#bounds) this.#keepTo(bound, passing);
  }

  /** Meets a link in the folder that was reached, which is followed unless this throws. */
  follow(link: Owned, name: string): void {
    this.#links += 1;
    if (this.#links > maxLinks) throw hostError(this.#path, "ELOOP");
    if (this.#isSafe && this.#ledBy === null) return;
    const { uid } = this.#at;
    const isTheirs = !this.#trust.trusts(uid);
    // In a sticky folder everybody has his own things.
    const isEverybodys = !isTheirs && this.#ledBy === null;
    const isOurs = this.#trust.trusts(link.uid);
    if (!isOurs && !isEverybodys && link.uid !== uid) throw this.#refuse(name);
    const owner = isTheirs ? uid : isOurs ? null : link.uid;
    this.#bounds.push({ uid: owner, link: name });
  }

  #keepTo({ uid, link }: Bound, passing: Passing): void {
    const isAllowed = uid === null ? this.#trust.trusts(this.#at.uid) : uid === this.#at.uid;
    // On its way it may pass through the folders of others, as far as its owner could go there himself.
    const isOpen = uid === null || (this.#at.mode & 0o001) !== 0;
    const mayPass = passing === "again" || (passing === "led" && isOpen);
    if (!isAllowed && !mayPass) throw this.#refuse(link);
  }

  #refuse(link: string): OrchestratorError {
    const path = this.#path;
    const message =
      `${path} is not followed: the link "${link}" on the way stands in a folder that somebody else than root can change, ` +
      "and leads to what is not his own. Declare the path without the link, or give the folder to root.";
    return new OrchestratorError("HOST_ERROR", { message, details: { path, errno: "ELOOP", link } });
  }
}
