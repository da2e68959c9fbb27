/** What an object keeps in memory, by where it is, and what of that grows. */
import { getHeapSnapshot } from "node:v8";

/** How many there are at each place, written as the properties that lead there; what is kept by a key is at one place. */
export type Held = ReadonlyMap<string, number>;

/** The parts of V8's snapshot of a heap that are read here. */
interface Snapshot {
  snapshot: {
    meta: { node_fields: string[]; node_types: [string[]]; edge_fields: string[]; edge_types: [string[]] };
  };
  nodes: number[];
  edges: number[];
  strings: string[];
}

/** What the engine makes of code as it runs, which follows what was called and not what is kept. */
const ofTheEngine = new Set(["code", "hidden", "native", "object shape"]);
const ofPrototypes = new Set(["map", "__proto__", "constructor", "prototype"]);

/**
 * Counts what the instances of a class keep alive.
 *
 * @param from - Name of the class.
 * @param without - Names of classes whose instances keep what they are to keep, e.g. the storage.
 */
export async function heldBy(from: string, without: readonly string[]): Promise<Held> {
  const heap = new Heap(await takeSnapshot());
  const held = new Map<string, number>();
  const seen = new Set<number>();
  const queue: { at: number; place: string }[] = [];
  const visit = (at: number, place: string): void => {
    if (seen.has(at) || ofTheEngine.has(heap.typeOf(at)) || without.includes(heap.nameOf(at))) return;
    seen.add(at);
    queue.push({ at, place });
    held.set(place, (held.get(place) ?? 0) + 1);
  };
  for (let at = 0; at < heap.size; at += 1)
    if (heap.typeOf(at) === "object" && heap.nameOf(at) === from) visit(at, heap.nameOf(at));
  for (let next = 0; next < queue.length; next += 1) {
    const { at, place } = queue[next]!;
    for (const { label, to } of heap.edgesOf(at)) visit(to, `${place}.${label}`);
  }
  return held;
}

/** The places where there are at least so many more than before. */
export function grownBy(least: number, before: Held, after: Held): string[] {
  const more = (place: string): number => (after.get(place) ?? 0) - (before.get(place) ?? 0);
  return [...after.keys()].filter((place) => more(place) >= least);
}

async function takeSnapshot(): Promise<Snapshot> {
  const pieces: Buffer[] = [];
  for await (const piece of getHeapSnapshot()) pieces.push(Buffer.from(piece as Uint8Array));
  return JSON.parse(Buffer.concat(pieces).toString()) as Snapshot;
}

const fields = ["type", "name", "edge_count"] as const;

/** Reads a snapshot: nodes by their place in it. */
class Heap {
  readonly size: number;
  readonly #from: Snapshot;
  readonly #nodeFields: number;
  readonly #edgeFields: number;
  readonly #firstEdge: number[] = [];
  readonly #fields: Record<(typeof fields)[number], number>;

  constructor(from: Snapshot) {
    this.#from = from;
    const { node_fields } = from.snapshot.meta;
    this.#fields = {
      type: node_fields.indexOf("type"),
      name: node_fields.indexOf("name"),
      edge_count: node_fields.indexOf("edge_count"),
    };
    this.#nodeFields = from.snapshot.meta.node_fields.length;
    this.#edgeFields = from.snapshot.meta.edge_fields.length;
    this.size = from.nodes.length / this.#nodeFields;
    let edges = 0;
    for (let at = 0; at < this.size; at += 1) {
      this.#firstEdge.push(edges);
      edges += this.#node(at, "edge_count");
    }
    this.#firstEdge.push(edges);
  }

  typeOf(at: number): string {
    return this.#from.snapshot.meta.node_types[0][this.#node(at, "type")]!;
  }

  nameOf(at: number): string {
    return this.#from.strings[this.#node(at, "name")]!;
  }

  *edgesOf(at: number): Generator<{ label: string; to: number }> {
    const { edges, strings, snapshot } = this.#from;
    for (let edge = this.#firstEdge[at]!; edge < this.#firstEdge[at + 1]!; edge += 1) {
      const from = edge * this.#edgeFields;
      const kind = snapshot.meta.edge_types[0][edges[from]!]!;
      if (kind === "weak" || kind === "shortcut") continue;
      const label = kind === "element" || kind === "hidden" ? "*" : strings[edges[from + 1]!]!;
      // A number in it tells one key from another.
      if (!ofPrototypes.has(label))
        yield { label: /\d/.test(label) ? "*" : label, to: edges[from + 2]! / this.#nodeFields };
    }
  }

  #node(at: number, field: (typeof fields)[number]): number {
    return this.#from.nodes[at * this.#nodeFields + this.#fields[field]]!;
  }
}
