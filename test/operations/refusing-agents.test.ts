import { expect, it } from "vitest";
import { RefusingAgents } from "../../lib/operations/refusing-agents.ts";

it.each([
  ["STORAGE_FULL", true],
  ["COMMAND_EXPIRED", true],
  ["UNAVAILABLE", true],
  ["EMPTY_DESIRED_STATE", false],
  ["RESULT_GONE", false],
])("an agent that answers %s three times counts as one that refuses everything: %s", (code, counts) => {
  const agents = new RefusingAgents();
  for (let time = 0; time < 3; time += 1) agents.refused("a", code);
  expect(agents.list()).toEqual(counts ? [{ node_id: "a", code }] : []);
});

it("a refusal of one command for what it says neither adds to nor ends a row of refusals", () => {
  const agents = new RefusingAgents();
  for (const code of ["STORAGE_FULL", "STORAGE_FULL", "EMPTY_DESIRED_STATE"]) agents.refused("a", code);
  expect(agents.list()).toEqual([]);
  agents.refused("a", "STORAGE_FULL");
  expect(agents.list()).toEqual([{ node_id: "a", code: "STORAGE_FULL" }]);
  agents.forget("a");
  expect(agents.list()).toEqual([]);
});
