/**
 * The order of resources: what one needs comes before it, and else they stay as written; what goes is in no way of what needs it.
 * Pure; used at upload and in a run.
 */
import type { Issue } from "../errors.ts";
import { triggerProperties, type Watches } from "./triggers.ts";

/** A resource as far as order goes. Ids are unique among those given. */
export interface GraphNode extends Watches {
  id: string;
  /** Ids that must come before, as must those that it watches. */
  requires: readonly string[];
}

/** Properties of a node that name others. */
export const edgeProperties = ["requires", ...Object.values(triggerProperties)] as const;

/** Indexes of the nodes in the order in which they run, or what is wrong; a fault's path starts with the index of its node. */
export type Ordering = { ok: true; order: number[] } | { ok: false; faults: Issue[] };

/** Orders nodes. Faults: an id twice, an id that is not there, circles (each node is told of in one at most). */
export function orderResources(nodes: readonly GraphNode[]): Ordering {
  const indexes = new Map<string, number>();
  const faults: Issue[] = [];
  nodes.forEach(({ id }, index) => {
    if (indexes.has(id)) faults.push({ path: [index, "id"], message: `There is another resource "${id}".` });
    else indexes.set(id, index);
  });
  const edges = nodes.map((node, index) => edgesOf(node, index, { indexes, faults }));
  const { order, circles } = sort(edges);
  for (const circle of circles) {
    const names = [...circle, circle[0] ?? 0].map((index) => nodes[index]?.id).join(" -> ");
    faults.push({ path: [circle[0] ?? 0], message: `These wait for each other: ${names}.` });
  }
  return faults.length === 0 ? { ok: true, order } : { ok: false, faults };
}

function edgesOf(
  node: GraphNode,
  index: number,
  { indexes, faults }: { indexes: ReadonlyMap<string, number>; faults: Issue[] },
): number[] {
  const edges: number[] = [];
  for (const property of edgeProperties) {
    node[property]?.forEach((id, position) => {
      const target = indexes.get(id);
      if (target !== undefined) edges.push(target);
      else
        faults.push({
          path: [index, property, position],
          message: `There is no resource "${id}" in this module.`,
        });
    });
  }
  return edges;
}

/** Depth first in the order as written, without recursion: a chain may be as long as a module. */
function sort(edges: readonly (readonly number[])[]): { order: number[]; circles: number[][] } {
  const order: number[] = [];
  const circles: number[][] = [];
  const inCircle = new Set<number>();
  const state = new Uint8Array(edges.length);
  const [unseen, open, done] = [0, 1, 2];
  for (let root = 0; root < edges.length; root += 1) {
    const path: { node: number; next: number }[] = state[root] === unseen ? [{ node: root, next: 0 }] : [];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      state[top.node] = open;
      const target = edges[top.node]?.[top.next];
      top.next += 1;
      if (target === undefined) {
        state[top.node] = done;
        order.push(top.node);
        path.pop();
      } else if (state[target] === open) {
        const circle = path.slice(path.findIndex(({ node }) => node === target)).map(({ node }) => node);
        if (circle.some((node) => inCircle.has(node))) continue;
        for (const node of circle) inCircle.add(node);
        circles.push(circle);
      } else if (state[target] === unseen) {
        path.push({ node: target, next: 0 });
      }
    }
  }
  return { order, circles };
}

/** Something that is taken away, as far as order goes. */
export interface LeavingNode {
  /** Names by which others need it. */
  names: readonly string[];
  /** Names of what must go after it. */
  needs: readonly string[];
  /** Paths that it is about. */
  paths: readonly string[];
  /** Folders that go with it: what is in them goes before. */
  takes: readonly string[];
  /** Folders that come back with it: what is in them comes back after. */
  brings: readonly string[];
}

/** What waits for one that goes: for the sake of a path, or as declared. */
type Waiting = { node: number; kind: "path" | "need" };

/**
 * Indexes of the nodes in the order in which they go: each as late as its age has it, the last one first, but none before what needs it
 * or lies in it. Versions of a module may have needed each other in turn; a path counts more then than what was declared.
 */
export function orderRemovals(nodes: readonly LeavingNode[]): number[] {
  const waiting = whatWaits(nodes);
  const left = { path: new Uint32Array(nodes.length), need: new Uint32Array(nodes.length) };
  for (const { node, kind } of waiting.flat()) left[kind][node] = (left[kind][node] ?? 0) + 1;
  const order: number[] = [];
  const gone = new Uint8Array(nodes.length);
  const isFree = (node: number, kinds: readonly Waiting["kind"][]): boolean =>
    gone[node] === 0 && kinds.every((kind) => left[kind][node] === 0);
  const go = (first: number): void => {
    // Younger than all that were not looked at yet, and so before them.
    const released = [first];
    for (let node = released.pop(); node !== undefined; node = released.pop()) {
      order.push(node);
      gone[node] = 1;
      const count = released.length;
      for (const { node: next, kind } of waiting[node] ?? []) {
        left[kind][next] = (left[kind][next] ?? 0) - 1;
        if (next > first && isFree(next, ["path", "need"])) released.push(next);
      }
      if (released.length > count) released.sort((one, other) => one - other);
    }
  };
  const goThrough = (): void => {
    for (let at = nodes.length - 1; at >= 0; at -= 1) if (isFree(at, ["path", "need"])) go(at);
  };
  goThrough();
  while (order.length < nodes.length) {
    const byPath = gone.findLastIndex((_, node) => isFree(node, ["path"]));
    go(byPath === -1 ? gone.lastIndexOf(0) : byPath);
    goThrough();
  }
  return order;
}

/** For each node what may go only after it. */
function whatWaits(nodes: readonly LeavingNode[]): Waiting[][] {
  const [named, takers, bringers] = (["names", "takes", "brings"] as const).map((property) => {
    const found = new Map<string, number[]>();
    for (const [index, node] of nodes.entries())
      for (const name of node[property]) found.set(name, [...(found.get(name) ?? []), index]);
    return (name: string): readonly number[] => found.get(name) ?? [];
  }) as [Finder, Finder, Finder];
  const waiting: Waiting[][] = nodes.map(() => []);
  const wait = (node: number, { on, kind }: { on: number; kind: Waiting["kind"] }): void => {
    if (node !== on) waiting[on]?.push({ node, kind });
  };
  for (const [index, { needs, paths }] of nodes.entries()) {
    for (const name of needs) for (const node of named(name)) wait(node, { on: index, kind: "need" });
    for (const folder of paths.flatMap(foldersAbove)) {
      for (const node of takers(folder)) wait(node, { on: index, kind: "path" });
      for (const node of bringers(folder)) wait(index, { on: node, kind: "path" });
    }
  }
  return waiting;
}

type Finder = (name: string) => readonly number[];

/** Folders above an absolute path but the root, from the nearest to the topmost. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
    folders.push(path.slice(0, at));
  return folders;
}
