/** What becomes somebody else's on a foreseen machine: homes of users and groups that get other numbers. */
import type { FileOwner } from "../../host/host.ts";

/** A folder of which, and of what is in it, all that belongs to one user or group belongs to another from then on. */
export interface Handover {
  folder: string;
  from: Required<FileOwner>;
  to: Required<FileOwner>;
}

/** Handovers in their order. What is in the folders is not gone through: a home may hold millions of files. */
export class Handovers {
  readonly #list: Handover[] = [];

  constructor(...list: Handover[]) {
    this.#list = list;
  }

  get any(): boolean {
    return this.#list.length > 0;
  }

  add(handover: Handover): void {
    this.#list.push(handover);
  }

  /** What stands at a path, with the owner that it has after them. */
  applyTo<Owned extends Required<FileOwner>>(path: string, owned: Owned | null): Owned | null {
    let changed = owned;
    for (const { folder, from, to } of this.#list) {
      if (!changed || !isWithin(path, folder)) continue;
      const { uid, gid } = changed;
      changed = { ...changed, uid: uid === from.uid ? to.uid : uid, gid: gid === from.gid ? to.gid : gid };
    }
    return changed;
  }

  /** Whether one of them may be about what stands at a path, above it or below it. */
  concern(path: string): boolean {
    return this.#list.some(({ folder }) => isWithin(path, folder) || isWithin(folder, path));
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}
