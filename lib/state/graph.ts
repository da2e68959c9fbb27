/** The order of resources: what one needs comes before it, and else they stay as written. Pure; used at upload and in a run. */
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
