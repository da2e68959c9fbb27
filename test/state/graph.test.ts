import { expect, test } from "vitest";
import { type GraphNode, orderResources } from "../../lib/state/graph.ts";

const node = (id: string, requires: string[] = [], run_on: string[] = []): GraphNode => ({
  id,
  requires,
  run_on,
});

test.each([
  ["nothing to order stays as written", [node("b"), node("a")], ["b", "a"]],
  ["what is needed comes right before", [node("a", ["c"]), node("b"), node("c")], ["c", "a", "b"]],
  ["a trigger implies order", [node("a", [], ["b"]), node("b")], ["b", "a"]],
  [
    "a diamond is worked on once",
    [node("a", ["b", "c"]), node("b", ["d"]), node("c", ["d"]), node("d")],
    ["d", "b", "c", "a"],
  ],
])("%s", (_name, nodes, expected) => {
  const ordering = orderResources(nodes);
  expect(ordering.ok && ordering.order.map((index) => nodes[index]?.id)).toEqual(expected);
});

test.each([
  ["an id twice", [node("a"), node("a")], [1, "id"], 'There is another resource "a".'],
  [
    "an unknown id",
    [node("a", [], ["b", "x"]), node("b")],
    [0, "run_on", 1],
    'There is no resource "x" in this module.',
  ],
  [
    "a circle",
    [node("z"), node("a", ["b"]), node("b", [], ["a"])],
    [1],
    "These wait for each other: a -> b -> a.",
  ],
  ["a resource that waits for itself", [node("a", ["a"])], [0], "These wait for each other: a -> a."],
])("%s is a fault with its place", (_name, nodes, path, message) => {
  expect(orderResources(nodes)).toEqual({ ok: false, faults: [{ path, message }] });
});

test("a chain as long as ten thousand is ordered", () => {
  const nodes = Array.from({ length: 10_000 }, (_, index) =>
    node(`${index}`, index < 9_999 ? [`${index + 1}`] : []),
  );
  const ordering = orderResources(nodes);
  expect(ordering.ok && ordering.order[0]).toBe(9_999);
});
