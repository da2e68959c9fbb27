/** A run on agents that there are not: who they are is told, and no more of them than anybody reads. */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createScene } from "../support/rollout-scene.ts";

it.each([
  [1, ""],
  [3, ""],
  [4, " and 1 more"],
  [100, " and 97 more"],
  [101, " and 98 more"],
])("%i of them", async (count, more) => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { runs, rollouts } = scene.test.orchestrator;
  const missing = Array.from({ length: count }, (_, at) => at.toString(16).padStart(32, "0"));
  const node_ids = [scene.agents[0]!.nodeId, ...missing];
  const refused: unknown = await runs
    .start(systemCaller, { node_ids, command: "true" })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OrchestratorError);
  expect(refused).toMatchObject({
    code: "NOT_FOUND",
    message: `There is no agent ${missing.slice(0, 3).join(", ")}${more}.`,
    details: { node_ids: missing.slice(0, 100) },
  });
  expect((await rollouts.list(systemCaller)).items).toEqual([]);
});
