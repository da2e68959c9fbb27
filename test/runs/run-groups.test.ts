import { expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { groupRun } from "../../lib/runs/run-groups.ts";

async function* nothing(): AsyncGenerator<never> {}

it("counts the agents beyond a hundred groups, whatever the size of those groups", async () => {
  const refused = Array.from({ length: 103 * 3 }, (_, at) => ({
    node_id: String(at).padStart(32, "0"),
    name: `machine-${at}`,
    error: { code: "AGENT_OFFLINE", message: `In another way: ${at % 103}.` },
  }));
  await using test = await createTestOrchestrator();
  const { operations } = servicesOf(test.orchestrator);
  const { groups, ungrouped } = await groupRun(operations, { ended: nothing(), refused });
  expect(groups.map(({ count }) => count)).toEqual(Array.from({ length: 100 }, () => 3));
  expect(ungrouped).toBe(9);
});
