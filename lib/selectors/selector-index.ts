import { EntryOrder, type Entry } from "./entry-order.ts";
import { isImpossible } from "./impossible.ts";
import { KeyIndex } from "./key-index.ts";
import type { SelectorTerm } from "./match.ts";
import { matchesSelector, matchesValue, valueOf } from "./match.ts";
import type { Selector, SelectorKey, SelectorTarget } from "./selector.ts";

/** A superset of what a selector matches, found without looking at every agent. */
interface Candidates {
  /** How many there are at most. */
  atMost: number;
  /** Whether they all match, each is yielded once, and `atMost` is their number. */
  exact: boolean;
  entries: () => Iterable<Entry>;
}

/** A tag key in use. */
export interface TagSummary {
  key: string;
  /** Its values in use, sorted. */
  values: { value: string; count: number }[];
}

/** A stretch of what a selector matches. */
export interface SelectorPage {
  /** Node ids, sorted. */
  items: string[];
  /** Pass as `after` to go on; null at the end. */
  next: string | null;
}

/**
 * The agents of a fleet, kept so that a selector finds its agents at the cost of what it finds. Terms of equality, sets
 * and existence are looked up; `=~` and numbers look at the distinct values of their key. A selector that leaves agents
 * out (`!a`, `a!=b`) and nothing more looks at every agent, and so does an `or` with such a part.
 *
 * Tags and names are indexed as they come; an attribute from the first selector on that asks for it.
 */
export class SelectorIndex {
  readonly #entries = new Map<string, Entry>();
  readonly #tags = new Map<string, KeyIndex<Entry>>();
  readonly #attributes = new Map<string, KeyIndex<Entry>>();
  readonly #names = new KeyIndex<Entry>();
  readonly #order = new EntryOrder();

  /** How many agents there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** What is known of an agent; null where it is not. */
  get(nodeId: string): SelectorTarget | null {
    return this.#entries.get(nodeId)?.target ?? null;
  }

  /** Takes an agent in, or replaces what is known of it. The target must not be changed afterwards. */
  set(target: SelectorTarget): void {
    const known = this.#entries.get(target.node_id);
    if (known) {
      this.#unindex(known);
      known.target = target;
      this.#index(known);
      return;
    }
    const entry: Entry = { target, removed: false };
    this.#entries.set(target.node_id, entry);
    this.#order.add(entry);
    this.#index(entry);
  }

  /** Forgets an agent; false where it was not known. */
  delete(nodeId: string): boolean {
    const entry = this.#entries.get(nodeId);
    if (!entry) return false;
    this.#unindex(entry);
    this.#entries.delete(nodeId);
    this.#order.remove(entry);
    return true;
  }

  /** The node ids that a selector matches, sorted. */
  match(selector: Selector): string[] {
    const candidates = this.#candidates(selector);
    // Sorting costs more per agent than walking the sorted whole does, unless few are to be sorted.
    if (!candidates || candidates.atMost * 8 > this.size) {
      return this.#order
        .sorted()
        .filter((entry) => matchesSelector(selector, entry.target))
        .map(nodeIdOf);
    }
    return this.#found(selector, candidates).map(nodeIdOf).sort();
  }

  /** How many agents a selector matches. */
  count(selector: Selector): number {
    if (selector.kind === "all") return this.size;
    if (selector.kind === "not") return this.size - this.count(selector.operand);
    if ((selector.kind === "equals" || selector.kind === "in") && selector.negated) {
      return this.size - this.count({ ...selector, negated: false });
    }
    const candidates = this.#candidates(selector);
    if (candidates?.exact) return candidates.atMost;
    if (candidates) return this.#found(selector, candidates).length;
    let count = 0;
    for (const { target } of this.#entries.values()) if (matchesSelector(selector, target)) count += 1;
    return count;
  }

  /** Whether a selector matches an agent that is accepted. Looks no further than the first. */
  some(selector: Selector, accept: (nodeId: string) => boolean): boolean {
    if (isImpossible(selector)) return false;
    for (const { target } of this.#candidates(selector)?.entries() ?? this.#entries.values())
      if (matchesSelector(selector, target) && accept(target.node_id)) return true;
    return false;
  }

  /** A stretch of {@link match}: up to `limit` node ids that sort after `after`. */
  page(selector: Selector, query: { after?: string; limit: number }): SelectorPage {
    const { after = "", limit } = query;
    const candidates = this.#candidates(selector);
    // Walking costs limit * size / matches, looking up costs matches: take what promises to be less.
    const walks = !candidates || candidates.atMost ** 2 > limit * this.size;
    const found: string[] = [];
    if (walks) {
      const order = this.#order.sorted();
      for (let at = this.#order.firstAfter(after); at < order.length && found.length <= limit; at += 1) {
        const { target } = order[at] as Entry;
        if (matchesSelector(selector, target)) found.push(target.node_id);
      }
    } else {
      const ids = this.#found(selector, candidates).map(nodeIdOf);
      found.push(
        ...ids
          .filter((id) => id > after)
          .sort()
          .slice(0, limit + 1),
      );
    }
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? (items.at(-1) ?? null) : null };
  }

  /** Every tag key in use, its values, and how many agents have each; sorted. */
  tagSummary(): TagSummary[] {
    return [...this.#tags.keys()].sort().map((key) => {
      const postings = this.#tags.get(key) as KeyIndex<Entry>;
      const values = [...postings.values()].sort();
      return { key, values: values.map((value) => ({ value, count: postings.count(value) })) };
    });
  }

  #index(entry: Entry): void {
    const { name, tags } = entry.target;
    if (name !== null) this.#names.add(name, entry);
    for (const [key, value] of Object.entries(tags)) {
      let postings = this.#tags.get(key);
      if (!postings) this.#tags.set(key, (postings = new KeyIndex()));
      postings.add(value, entry);
    }
    for (const [key, postings] of this.#attributes) {
      const value = valueOf(entry.target, { source: "attribute", name: key });
      if (value !== undefined) postings.add(value, entry);
    }
  }

  #unindex(entry: Entry): void {
    const { name, tags } = entry.target;
    if (name !== null) this.#names.remove(name, entry);
    for (const [key, value] of Object.entries(tags)) {
      const postings = this.#tags.get(key);
      postings?.remove(value, entry);
      if (postings?.size === 0) this.#tags.delete(key);
    }
    for (const [key, postings] of this.#attributes) {
      const value = valueOf(entry.target, { source: "attribute", name: key });
      if (value !== undefined) postings.remove(value, entry);
      if (postings.size === 0) this.#attributes.delete(key);
    }
  }

  /** Null where every agent must be looked at. */
  #candidates(selector: Selector): Candidates | null {
    switch (selector.kind) {
      case "all":
        return { atMost: this.size, exact: true, entries: () => this.#entries.values() };
      case "not":
        return null;
      case "and":
        return this.#narrowest(selector.operands);
      case "or":
        return this.#union(selector.operands);
      default:
        return this.#termCandidates(selector);
    }
  }

  #narrowest(operands: readonly Selector[]): Candidates | null {
    let narrowest: Candidates | null = null;
    for (const operand of operands) {
      const candidates = this.#candidates(operand);
      if (candidates && (!narrowest || candidates.atMost < narrowest.atMost)) narrowest = candidates;
    }
    return narrowest && { ...narrowest, exact: false };
  }

  #union(operands: readonly Selector[]): Candidates | null {
    const parts: Candidates[] = [];
    for (const operand of operands) {
      const candidates = this.#candidates(operand);
      if (!candidates) return null;
      parts.push(candidates);
    }
    const atMost = parts.reduce((sum, part) => sum + part.atMost, 0);
    if (atMost > this.size) return null;
    return {
      atMost,
      exact: false,
      entries: () => new Set(parts.flatMap((part) => [...part.entries()])),
    };
  }

  #termCandidates(term: SelectorTerm): Candidates | null {
    if ((term.kind === "equals" || term.kind === "in") && term.negated) return null;
    if (term.key.source === "node_id") return this.#nodeIdCandidates(term);
    const postings = this.#postings(term.key);
    if (!postings) return nothing;
    if (term.kind === "equals" || term.kind === "in") {
      const values = new Set(term.kind === "in" ? term.values : [term.value]);
      let atMost = 0;
      for (const value of values) atMost += postings.count(value);
      return { atMost, exact: true, entries: () => postings.entries(values) };
    }
    const values = function* (): Generator<string> {
      for (const value of postings.values()) if (matchesValue(term, value)) yield value;
    };
    return {
      atMost: postings.size,
      exact: term.kind === "exists",
      entries: () => postings.entries(values()),
    };
  }

  #nodeIdCandidates(term: SelectorTerm): Candidates | null {
    if (term.kind !== "equals" && term.kind !== "in") return null;
    const values = new Set(term.kind === "in" ? term.values : [term.value]);
    const entries = [...values].flatMap((value) => this.#entries.get(value) ?? []);
    return { atMost: entries.length, exact: true, entries: () => entries };
  }

  #postings(key: SelectorKey): KeyIndex<Entry> | undefined {
    if (key.source === "name") return this.#names;
    if (key.source === "tag") return this.#tags.get(key.name);
    const known = this.#attributes.get(key.name);
    if (known) return known;
    const postings = new KeyIndex<Entry>();
    for (const entry of this.#entries.values()) {
      const value = valueOf(entry.target, key);
      if (value !== undefined) postings.add(value, entry);
    }
    // A key that nobody has is not remembered: else asking for made-up keys would fill memory.
    if (postings.size === 0) return undefined;
    this.#attributes.set(key.name, postings);
    return postings;
  }

  #found(selector: Selector, candidates: Candidates): Entry[] {
    const entries = [...candidates.entries()];
    return candidates.exact ? entries : entries.filter((entry) => matchesSelector(selector, entry.target));
  }
}

const nothing: Candidates = { atMost: 0, exact: true, entries: () => [] };

function nodeIdOf(entry: Entry): string {
  return entry.target.node_id;
}
