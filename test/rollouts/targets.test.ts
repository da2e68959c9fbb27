import { expect, it } from "vitest";
import type { RolloutStrategy } from "fleetwright";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { hashWith, planTargets, toNumber } from "../../lib/rollouts/targets.ts";

const hash = (text: string): string => [...text].toReversed().join("");
const agents = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    node_id: `${at}`,
    name: `a${at}`,
    tags: { site: `s${at % 2}` },
  }));

/** Names of each batch. */
function batchesOf(count: number, strategy: RolloutStrategy): string[] {
  const { agents: all, ends } = planTargets(agents(count), strategy, hash);
  return ends.map((end, at) =>
    all
      .slice(ends[at - 1] ?? 0, end)
      .map(({ name }) => name)
      .join(" "),
  );
}

it.each<[string, number, RolloutStrategy, string[]]>([
  ["nothing said", 3, {}, ["a0 a1 a2"]],
  ["a number", 5, { batch: 2 }, ["a0 a1", "a2 a3", "a4"]],
  ["a number above all", 2, { batch: 50 }, ["a0 a1"]],
  ["a share that divides evenly", 4, { batch: "50%" }, ["a0 a1", "a2 a3"]],
  ["a share that is rounded down", 5, { batch: "50%" }, ["a0 a1", "a2 a3", "a4"]],
  ["a share below one", 3, { batch: "1%" }, ["a0", "a1", "a2"]],
  ["the whole", 3, { batch: "100%" }, ["a0 a1 a2"]],
  ["a canary", 4, { canary: 1 }, ["a0", "a1 a2 a3"]],
  ["a canary and batches", 5, { canary: 1, batch: 2 }, ["a0", "a1 a2", "a3 a4"]],
  ["a canary above all", 2, { canary: 9 }, ["a0 a1"]],
  ["groups", 5, { group_by: "site" }, ["a0 a2 a4", "a1 a3"]],
  [
    "groups, a canary and batches",
    6,
    { group_by: "site", canary: 2, batch: 2 },
    ["a0 a2", "a4", "a1 a3", "a5"],
  ],
  [
    "groups, and a canary that is smaller than a batch",
    6,
    { group_by: "site", canary: 1, batch: 2 },
    ["a0", "a2 a4", "a1 a3", "a5"],
  ],
  ["a tag that nobody has", 3, { group_by: "nope", batch: 2 }, ["a0 a1", "a2"]],
  ["an order like chance", 3, { order: "shuffled" }, ["a0 a1 a2"]],
])("%s makes the batches that it says", (_, count, strategy, expected) => {
  expect(batchesOf(count, strategy)).toEqual(expected);
});

it("keeps those without a tag apart from those whose tag is empty, and says so whatever the values are", () => {
  const values = ["", undefined, "=", "constructor", "a", "A", "a "];
  const candidates = values.map((site, at) => ({
    node_id: `${at}`,
    name: `${at}`,
    tags: site === undefined ? {} : { site },
  }));
  const { ends } = planTargets(candidates, { group_by: "site" }, hash);
  expect(ends).toEqual(values.map((_, at) => at + 1));
});

it("orders by what the order says", () => {
  const candidates = [
    { node_id: "12", name: "b", tags: {} },
    { node_id: "21", name: "a", tags: {} },
    { node_id: "30", name: "a", tags: {} },
  ];
  const idsOf = (order: "name" | "node_id" | "shuffled"): string[] =>
    planTargets(candidates, { order }, hash).agents.map(({ node_id }) => node_id);
  expect(idsOf("name")).toEqual(["21", "30", "12"]);
  expect(idsOf("node_id")).toEqual(["12", "21", "30"]);
  candidates.reverse();
  expect(idsOf("name")).toEqual(["21", "30", "12"]);
  expect(idsOf("node_id")).toEqual(["12", "21", "30"]);
  expect(idsOf("shuffled")).toEqual(["30", "21", "12"]);
});

it("shuffles each rollout in its own way, and the same one always alike", () => {
  const orderIn = (rolloutId: string): string[] => {
    const shuffled = planTargets(
      agents(20),
      { order: "shuffled" },
      hashWith({ crypto: nodeCrypto }, rolloutId),
    );
    return shuffled.agents.map(({ node_id }) => node_id);
  };
  expect(orderIn("one")).toEqual(orderIn("one"));
  expect(orderIn("one")).not.toEqual(orderIn("two"));
});

it.each([
  [7, 100, 7],
  ["0%", 100, 0],
  ["10%", 19, 1],
  ["33%", 10, 3],
  ["100%", 7, 7],
])("%s of %i is %i", (count, whole, expected) => {
  expect(toNumber(count, whole)).toBe(expected);
});
