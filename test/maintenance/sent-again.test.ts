/**
 * What was sent before a freeze and is sent again in it.
 *
 * Symptom: an apply began on a frozen machine. Cause: an operation that had never reached its agent counted as running, and was sent again
 * when the agent came back in the window.
 */
import { expect, it } from "vitest";
import { systemCaller, type Orchestrator } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

/** An apply that was sent to an agent which is away, and has been frozen since. */
async function sentAndFrozen(
  { test, agents, clock }: Scene,
  more: object = {},
  meanwhile: (orchestrator: Orchestrator, of: { operation_id: string }) => Promise<void> = async () => {},
) {
  const { agent, nodeId } = agents[0]!;
  const { operations, maintenanceWindows } = test.orchestrator;
  const input = { node_id: nodeId, modules: ["motd"], wait_seconds: 0, ...more };
  const { operation_id } = await operations.apply(systemCaller, input);
  await agent.next("apply");
  await agent.link.stop();
  await settle();
  const ends_at = new Date(clock.now() + 3_600_000).toISOString();
  await maintenanceWindows.create(systemCaller, { reason: "the database moves", mode: "freeze", ends_at });
  await meanwhile(test.orchestrator, { operation_id });
  return { agent: await connectScriptedAgent(test, agents[0]!.keys, clock), operation_id };
}

it("an agent that comes back in a freeze is asked about its apply, and begins nothing", async () => {
  await using scene = await createScene(1);
  const { agent, operation_id } = await sentAndFrozen(scene);
  await using _agent = agent;
  const asked = await agent.nextQuestion("apply");
  expect(asked).toMatchObject({ operation_id, resources: [], not_after: "1970-01-01T00:00:00.000Z" });
  agent.link.send({ type: "reply", id: asked.id, error: { code: "COMMAND_EXPIRED", message: "late" } });
  await settle();
  const { operations } = scene.test.orchestrator;
  const ended = await operations.get(systemCaller, { operation_id });
  expect(ended).toMatchObject({ status: "failed", error: { code: "COMMAND_EXPIRED" } });
});

it("an apply that overrides windows is sent again in a freeze as it was", async () => {
  await using scene = await createScene(1);
  const { agent, operation_id } = await sentAndFrozen(scene, { override_window: true });
  await using _agent = agent;
  const again = await agent.next("apply");
  expect(again.operation_id).toBe(operation_id);
  expect(again.resources).toHaveLength(1);
});

it("an apply that is only asked about, and was to be cancelled while its agent was away, is cancelled", async () => {
  await using scene = await createScene(1);
  const { agent, operation_id } = await sentAndFrozen(scene, {}, async ({ operations }, of) => {
    await operations.cancel(systemCaller, of);
  });
  await using _agent = agent;
  expect(await agent.nextQuestion("apply")).toMatchObject({ operation_id, resources: [] });
  expect(await agent.next("cancel")).toMatchObject({ operation_id });
});
