import type { Clock } from "../../../clock.ts";
import type { SampleRow } from "../../storage.ts";
import type { Trim } from "./head-journal.ts";
import { Head } from "./head.ts";
import { OwnerSeries } from "./owner-series.ts";

/** A head is written as a chunk after so long, or when it is so large. */
const sealMs = 600_000;
const maxHeadBytes = 32 * 1_024;

/** All owners, and what of them is not durable yet. */
export class LiveSeries {
  readonly #clock: Clock;
  readonly #owners: Map<string, OwnerSeries>;
  #nextHead: number;
  #dirty = new Set<Head>();
  #trims: Trim[] = [];

  constructor(clock: Clock, owners: Map<string, OwnerSeries>, nextHead: number) {
    this.#clock = clock;
    this.#owners = owners;
    this.#nextHead = nextHead;
    for (const owner of owners.values()) {
      owner.dueAt = this.nextTurn(owner);
      if (owner.head !== null) this.#dirty.add(owner.head);
    }
  }

  get owners(): ReadonlyMap<string, OwnerSeries> {
    return this.#owners;
  }

  /** Id of the newest head. */
  get lastHead(): number {
    return this.#nextHead - 1;
  }

  /**
   * Adds rows to the head of an owner. A head that is large is sealed soon.
   *
   * @param giveUp - Whether to drop a large head, because nothing can be written.
   */
  append(name: string, rows: readonly SampleRow[], giveUp: boolean): void {
    const owner = this.#ownerOf(name);
    for (const row of rows) {
      if (owner.head !== null && owner.head.length >= maxHeadBytes) {
        owner.dueAt = -Infinity;
        if (giveUp) this.dropHead(owner);
      }
      owner.head ??= new Head(this.#nextHead++, name);
      owner.head.append(row);
      this.#dirty.add(owner.head);
    }
  }

  /** Hides the rows of an owner before a time. What its head keeps goes to a new one. */
  trim(name: string, before: number): void {
    const owner = this.#owners.get(name);
    if (owner === undefined) return;
    const trim = { owner: name, before, last: this.lastHead };
    owner.trim(trim);
    this.#trims.push(trim);
    const rows = owner.head?.rows().filter(({ at }) => at >= before) ?? [];
    this.dropHead(owner);
    this.append(name, rows, false);
  }

  dropHead(owner: OwnerSeries): void {
    if (owner.head !== null) this.#dirty.delete(owner.head);
    owner.head = null;
  }

  /** Forgets an owner of whom nothing is kept. */
  forgetEmpty(owner: OwnerSeries): void {
    if (owner.isEmpty) this.#owners.delete(owner.owner);
  }

  /** Takes what is not durable. If it can't be made so, it has to be given back. */
  takeDirty(): { heads: Set<Head>; trims: Trim[] } {
    const taken = { heads: this.#dirty, trims: this.#trims };
    this.#dirty = new Set();
    this.#trims = [];
    return taken;
  }

  giveBack({ heads, trims }: { heads: Iterable<Head>; trims: readonly Trim[] }): void {
    for (const head of heads) this.#dirty.add(head);
    this.#trims.unshift(...trims);
  }

  /** When an owner's next turn is: every ten minutes, at a time of its own. */
  nextTurn({ spread }: OwnerSeries): number {
    const offset = spread % sealMs;
    return (Math.floor((this.#clock.monotonic() - offset) / sealMs) + 1) * sealMs + offset;
  }

  #ownerOf(name: string): OwnerSeries {
    let owner = this.#owners.get(name);
    if (owner !== undefined) return owner;
    owner = new OwnerSeries(name);
    owner.dueAt = this.nextTurn(owner);
    this.#owners.set(name, owner);
    return owner;
  }
}
