import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const files = (...names: string[]): string =>
  `name: web\nresources:${names.map((name) => `\n  - { type: file, path: /${name}, content: x }`).join("")}\n`;

/** An agent on which three things stand that one module brought, of which a new revision wants one, and another besides. */
async function scene(): Promise<{
  fleet: TestOrchestrator;
  agent: TestAgent;
  has: (name: string) => boolean;
}> {
  const fleet = await createTestOrchestrator();
  const agent = await startApprovedAgent(fleet);
  const { assignments, modules, operations } = fleet.orchestrator;
  await modules.upload(systemCaller, { content: files("a", "b", "c") });
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
  await operations.apply(systemCaller, { node_id: agent.nodeId });
  await modules.upload(systemCaller, { content: files("a", "new") });
  return { fleet, agent, has: (name) => existsSync(join(agent.root, name)) };
}

describe("an apply that may not remove so much", () => {
  test.each([0, 1])(
    "changes nothing, says what it would have removed, and may be told otherwise: %i",
    async (max) => {
      const { fleet, agent, has } = await scene();
      await using _fleet = fleet;
      await using _agent = agent;
      const { operations } = fleet.orchestrator;
      const call = { node_id: agent.nodeId, max_removals: max };
      const may = max === 0 ? "nothing" : "no more than 1";
      const message = `It would remove file /c, file /b, and may remove ${may}. Nothing was changed.`;
      await expect(operations.apply(systemCaller, call)).rejects.toMatchObject({
        code: "TOO_MANY_REMOVALS",
        message,
      });
      expect(["a", "b", "c", "new"].map(has)).toEqual([true, true, true, false]);
      const { items } = await operations.list(systemCaller, { limit: 1 });
      expect(items).toMatchObject([{ status: "failed", error: { code: "TOO_MANY_REMOVALS", message } }]);
      const allowed = await operations.apply(systemCaller, { ...call, max_removals: 2 });
      expect(allowed).toMatchObject({ status: "succeeded", counts: { removed: 2 } });
      // Where nothing is removed it is no bound to anything.
      expect(await operations.apply(systemCaller, { ...call, max_removals: 0 })).toMatchObject({
        status: "succeeded",
      });
    },
  );

  test("is refused beside a plan that removes more, and carries the plan out where it may", async () => {
    const { fleet, agent, has } = await scene();
    await using _fleet = fleet;
    await using _agent = agent;
    const { operations } = fleet.orchestrator;
    const { nodeId: node_id } = agent;
    const { operation_id: plan_id, counts } = await operations.plan(systemCaller, { node_id });
    expect(counts.removed).toBe(2);
    await expect(operations.apply(systemCaller, { node_id, plan_id, max_removals: 1 })).rejects.toMatchObject(
      {
        code: "TOO_MANY_REMOVALS",
      },
    );
    expect(await operations.apply(systemCaller, { node_id, plan_id, max_removals: 2 })).toMatchObject({
      status: "succeeded",
    });
    expect(["a", "b", "c", "new"].map(has)).toEqual([true, false, false, true]);
  });
});

test("a rollout keeps to what its assignment says, and to what its call says before that", async () => {
  const { fleet, agent, has } = await scene();
  await using _fleet = fleet;
  await using _agent = agent;
  const { assignments, rollouts } = fleet.orchestrator;
  await assignments.update(systemCaller, { name: "web", rollout: { max_removals: 1 } });
  const failed = await rollouts.apply(systemCaller, { name: "web", wait_seconds: 30 });
  expect(failed).toMatchObject({ status: "failed", rollout: { max_removals: 1 } });
  const { items } = await rollouts.agents(systemCaller, { rollout_id: failed.rollout_id });
  expect(items).toMatchObject([{ status: "failed", error: { code: "TOO_MANY_REMOVALS" } }]);
  expect(has("b")).toBe(true);
  const call = { name: "web", wait_seconds: 30, rollout: { max_removals: 2 } };
  expect(await rollouts.apply(systemCaller, call)).toMatchObject({ status: "succeeded" });
  expect(["a", "b", "c", "new"].map(has)).toEqual([true, false, false, true]);
});
