/** A rollout over a thousand agents: everybody once, never more at once than allowed, and others are answered meanwhile. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

it("a rollout over a thousand agents gives each one operation, ten percent at a time", async () => {
  await using scene = await createScene(1_000, (at) => ({ site: `s${at % 3}` }));
  const { rollouts, operations } = scene.test.orchestrator;
  let open = 0;
  let most = 0;
  const counts = new Map<string, number>();
  for (const { agent, nodeId } of scene.agents) {
    void (async () => {
      const { operation_id } = await agent.next("apply");
      open += 1;
      most = Math.max(most, open);
      counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      agent.link.send(emptyResult(operation_id));
    })();
  }
  const rollout = await rollouts.apply(systemCaller, {
    name: "all",
    wait_seconds: 300,
    rollout: { batch: "10%", group_by: "site", canary: 5 },
  });
  expect(rollout).toMatchObject({ status: "succeeded", matched: 1_000, counts: { succeeded: 1_000 } });
  // 5 and 329 of the first value of the tag, then twice 333: 1 + 4 + 4 + 4 batches of at most 100.
  expect(rollout.batches).toBe(13);
  expect(most).toBeLessThanOrEqual(100);
  expect([...counts.values()].every((count) => count === 1)).toBe(true);
  expect(counts.size).toBe(1_000);
  const { items } = await operations.list(systemCaller, { rollout_id: rollout.rollout_id, limit: 500 });
  expect(items).toHaveLength(500);
  expect(scene.test.loggedErrors).toEqual([]);
});
