/** What ends on an agent that is removed leaves nothing behind that a machine with its key would inherit. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

const kept = ["agent_states", "applied_modules", "agent_findings"];

async function left({ storage }: Scene["test"]): Promise<string[]> {
  const lists = await Promise.all(kept.map((collection) => storage.list(collection, {})));
  return kept.filter((_, at) => lists[at]!.items.length > 0);
}

async function remove({ test, agents }: Scene): Promise<void> {
  const { nodeId: node_id } = agents[0]!;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await test.orchestrator.agents.remove(systemCaller, { node_id });
}

it("a first apply that ends in the moment in which its agent is removed", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === "agent_states"),
  );
  await using scene = await createScene(1, () => ({}), { storage });
  const [member] = scene.agents;
  const { nodeId: node_id } = member!;
  await scene.test.orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["motd"],
    wait_seconds: 0,
  });
  const { operation_id } = await member!.agent.next("apply");
  storage.before = () => remove(scene);
  member!.agent.link.send(emptyResult(operation_id));
  await settleAll();
  expect(storage.before).toBeNull();
  expect(await scene.test.orchestrator.operations.get(systemCaller, { operation_id })).toMatchObject({
    status: "succeeded",
  });
  expect(await left(scene.test)).toEqual([]);
});
