/** What an assignment says of how it is rolled out holds however its rollout comes to be. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settle, settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const halfHourMs = 1_800_000;
const schedule = { cron: "0 * * * *", time_zone: "UTC" };

/** Each way in which an assignment is applied on its agents. */
const ways: Record<string, (scene: Scene) => Promise<unknown>> = {
  "by hand": ({ test }) => test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 }),
  "by its schedule": async ({ clock, test }) => {
    await test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
    for (let left = halfHourMs + 10_000; left > 0; left -= 10_000) {
      await clock.advance(10_000);
      for (let turn = 0; turn < 4; turn += 1) await settle();
    }
  },
};

describe.each(Object.keys(ways))("an assignment that is applied %s", (way) => {
  it("goes to a batch after the other, and has each agent remove no more than it may", async () => {
    await using scene = await createScene(3, () => ({}), { driftIntervalSeconds: 0 });
    const { assignments, rollouts } = scene.test.orchestrator;
    const rollout = { batch: 2, max_removals: 4 };
    await assignments.update(systemCaller, { name: "all", rollout });
    await scene.clock.advance(halfHourMs);
    await ways[way]!(scene);
    await settleAll();
    expect(scene.asked()).toEqual(["a1", "a2"]);
    const sent = [await scene.finish(scene.agents[0]), await scene.finish(scene.agents[1])];
    expect(scene.asked()).toEqual(["a1", "a2", "a3"]);
    sent.push(await scene.finish(scene.agents[2]));
    expect(sent.map(({ max_removals }) => max_removals)).toEqual([4, 4, 4]);
    expect((await rollouts.list(systemCaller)).items).toMatchObject([
      { rollout, batches: 2, status: "succeeded", counts: { succeeded: 3 } },
    ]);
  });
});
