/** What waits for its agent is held from the moment on in which a maintenance window begins, and takes nobody's place from then on. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

test("a rollout goes on with others when an agent is frozen that it waits for", async () => {
  const options = { rolloutConcurrency: 1, driftIntervalSeconds: 0 };
  await using scene = await createScene(2, (at) => ({ at: `${at}` }), options);
  const { maintenanceWindows, rollouts } = scene.test.orchestrator;
  const [a1, a2] = scene.agents;
  await a1!.agent.link.stop();
  await settleAll();
  const rollout = { when_offline: "queue" } as const;
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  await settleAll();
  expect(scene.asked()).toEqual([]);
  await maintenanceWindows.create(systemCaller, {
    reason: "the database moves",
    mode: "freeze",
    selector: "at=0",
    ends_at: new Date(scene.clock.now() + 600_000).toISOString(),
  });
  await settleAll();
  expect(scene.asked()).toEqual(["a2"]);
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ held: 1 });
  await scene.finish(a2);
  expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({
    status: "running",
    counts: { queued: 1, succeeded: 1 },
  });
});
