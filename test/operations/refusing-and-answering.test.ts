/** An agent refuses whatever it is given to do, though it takes what it is told beside that. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

test("an agent that takes a wish to cancel still refuses whatever it is given", async () => {
  await using scene = await createScene(1, () => ({}), { driftIntervalSeconds: 0 });
  const { agent, nodeId: node_id } = scene.agents[0]!;
  const { orchestrator } = scene.test;
  const error = { code: "STORAGE_FULL", message: "No space." };
  for (let time = 0; time < 3; time += 1) {
    const apply = { node_id, modules: ["motd"], wait_seconds: 0 };
    const { operation_id } = await orchestrator.operations.apply(systemCaller, apply);
    const { id } = await agent.next("apply");
    await orchestrator.operations.cancel(systemCaller, { operation_id });
    agent.link.send({ type: "reply", id: (await agent.next("cancel")).id });
    await settleAll();
    agent.link.send({ type: "reply", id, error });
    await settleAll();
    const { status } = await orchestrator.operations.get(systemCaller, { operation_id });
    expect(status).toBe("failed");
  }
  const { lanes } = servicesOf(orchestrator).operations;
  expect(lanes.refusing()).toEqual([{ node_id, code: "STORAGE_FULL" }]);
});
