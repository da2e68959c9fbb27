/** What waits for an agent that is away, and does not say for how long, waits for an hour, whoever asked for it. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

type Ask = (scene: Scene) => Promise<unknown>;

const asks: Record<string, Ask> = {
  "an apply": ({ test: { orchestrator }, agents }) =>
    orchestrator.operations.apply(systemCaller, {
      node_id: agents[0]!.nodeId,
      modules: ["motd"],
      when_offline: "queue",
      wait_seconds: 0,
    }),
  "a rollout": ({ test: { orchestrator } }) =>
    orchestrator.rollouts.apply(systemCaller, {
      name: "all",
      rollout: { when_offline: "queue" },
      wait_seconds: 0,
    }),
  "a command": ({ test: { orchestrator } }) =>
    orchestrator.runs.start(systemCaller, {
      selector: "*",
      command: ["true"],
      rollout: { when_offline: "queue" },
      wait_seconds: 0,
    }),
};

test.each(Object.entries(asks))("%s", async (_, ask) => {
  await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
  await scene.agents[0]!.agent.link.stop();
  await settleAll();
  await ask(scene);
  const statuses = async (): Promise<string[]> => {
    await settleAll();
    const { items } = await scene.test.orchestrator.operations.list(systemCaller);
    return items.map(({ status }) => status);
  };
  await scene.clock.advance(3_599_000);
  expect(await statuses()).toEqual(["queued"]);
  await scene.clock.advance(2_000);
  expect(await statuses()).toEqual(["failed"]);
});
