/** One agent; stays the same object while what is known of it changes. */
import type { SelectorTarget } from "./selector.ts";

export interface Entry {
  target: SelectorTarget;
  removed: boolean;
}

/** Agents by node id; sorted when somebody asks, after any number of changes. */
export class EntryOrder {
  #entries: Entry[] = [];
  #isStale = false;

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#isStale = true;
  }

  remove(entry: Entry): void {
    entry.removed = true;
    this.#isStale = true;
  }

  sorted(): readonly Entry[] {
    if (this.#isStale) {
      this.#entries = this.#entries.filter((entry) => !entry.removed).sort(byNodeId);
      this.#isStale = false;
    }
    return this.#entries;
  }

  /** The place in {@link sorted} of the first entry whose node id sorts after one. */
  firstAfter(nodeId: string): number {
    const order = this.sorted();
    let low = 0;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((order[middle] as Entry).target.node_id <= nodeId) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function byNodeId(a: Entry, b: Entry): number {
  if (a.target.node_id === b.target.node_id) return 0;
  return a.target.node_id < b.target.node_id ? -1 : 1;
}
