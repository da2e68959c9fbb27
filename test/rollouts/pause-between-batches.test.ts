/** The pause between two batches, whatever happens meanwhile: somebody sets the clock of the server, or has the rollout go on anew. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

const hourMs = 3_600_000;

test.each([
  ["set ahead during it", { during: 2 * hourMs }],
  ["set back during it", { during: -2 * hourMs }],
  ["set ahead before it", { before: 2 * hourMs }],
  ["set back before it", { before: -2 * hourMs }],
])(
  "lasts as long as was asked for, on a clock that was %s, whenever the rollout is looked at",
  async (_, { before = 0, during = 0 }: { before?: number; during?: number }) => {
    await using scene = await createScene(2, () => ({}), { driftIntervalSeconds: 0 });
    const { rollouts } = scene.test.orchestrator;
    scene.clock.jump(before);
    const rollout = { batch: 1, pause_seconds: 600 };
    const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
    await scene.finish(scene.agents[0]);
    scene.clock.jump(during);
    // What goes on anew looks at what is left of the pause.
    await rollouts.pause(systemCaller, { rollout_id });
    await rollouts.resume(systemCaller, { rollout_id });
    const asked: number[] = [];
    for (const seconds of [1, 597, 3]) {
      await scene.clock.advance(seconds * 1_000);
      await settleAll();
      asked.push(scene.asked().length);
    }
    expect(asked).toEqual([1, 1, 2]);
  },
);

test("is waited for with one timer, however often the rollout is had to go on", async () => {
  await using scene = await createScene(2, () => ({}), { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  const rollout = { batch: 1, pause_seconds: 600 };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  await scene.finish(scene.agents[0]);
  const before = scene.clock.pendingTimers;
  for (let time = 0; time < 10; time += 1) {
    await rollouts.pause(systemCaller, { rollout_id });
    await rollouts.resume(systemCaller, { rollout_id });
  }
  await settleAll();
  expect(scene.clock.pendingTimers).toBeLessThanOrEqual(before + 1);
});
