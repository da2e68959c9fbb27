/** What the audit log tells people of a rollout: in words, of whoever began it, also where it goes on by itself. */
import { expect, it } from "vitest";
import type { Caller } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

/** What was told of rollouts so far: who, and in which words. */
const told = ({ test }: Scene): string[] =>
  test.events
    .filter(({ event_type }) => event_type.startsWith("rollout."))
    .map(({ actor, summary }) => `${actor.type} ${actor.name}: ${summary}`);

async function apply({ test }: Scene, caller: Caller, rollout: object): Promise<{ rollout_id: string }> {
  const input = { name: "all", wait_seconds: 0, rollout };
  const { rollout_id } = await test.orchestrator.rollouts.apply(caller, input);
  await settle();
  return { rollout_id };
}

it("every step is told in words, and the end is of whoever began it", async () => {
  await using scene = await createScene(2);
  const { rollouts } = scene.test.orchestrator;
  const { caller } = await scene.test.signIn("Operator", "olga");
  const other = (await scene.test.signIn("Operator", "otto")).caller;
  const id = await apply(scene, caller, { batch: 1 });
  await rollouts.pause(other, id);
  await rollouts.resume(other, id);
  await scene.finish(scene.agents[0]);
  await scene.finish(scene.agents[1], "failed");
  expect(told(scene)).toEqual([
    "operator olga: Applying all on 2 agents was requested",
    "operator otto: The rollout of all was paused",
    "operator otto: The rollout of all was resumed",
    "operator olga: The rollout of all ended: partial, 1 of 2 agents succeeded",
  ]);
});

it("that operations of a command are to end is told with the request that cancelled it", async () => {
  await using scene = await createScene(2);
  const { runs } = scene.test.orchestrator;
  const { caller } = await scene.test.signIn("Admin", "olga");
  const run = { selector: "*", command: ["true"], wait_seconds: 0 };
  const { rollout_id } = await runs.start(caller, run);
  await settle();
  const origin = { request_id: "r-1", source_address: "192.0.2.7" };
  await runs.cancel({ ...caller, origin }, { rollout_id });
  await settle();
  const wishes = scene.test.events.filter(({ event_type }) => event_type === "operation.cancelRequested");
  expect(wishes).toMatchObject(Array(2).fill(origin));
});

it("that it was stopped is told with the reason and the batch, and that it was cancelled with who did", async () => {
  await using scene = await createScene(2);
  const { rollouts } = scene.test.orchestrator;
  const { caller } = await scene.test.signIn("Operator", "olga");
  await apply(scene, caller, { canary: 1 });
  await scene.finish(scene.agents[0], "failed");
  const stopped = scene.test.events.find(({ event_type }) => event_type === "rollout.stopped");
  expect(stopped?.metadata).toEqual({ assignment: "all", kind: "apply", matched: 2, batch: 1, failures: 1 });
  const other = (await scene.test.signIn("Operator", "otto")).caller;
  await rollouts.cancel(other, await apply(scene, caller, {}));
  await scene.finish(scene.agents[0]);
  await scene.finish(scene.agents[1]);
  expect(told(scene)).toEqual([
    "operator olga: Applying all on 2 agents was requested",
    "operator olga: The rollout of all was stopped: The canary failed on 1 of 1 agents.",
    "operator olga: The rollout of all ended: failed, 0 of 2 agents succeeded",
    "operator olga: Applying all on 2 agents was requested",
    "operator otto: The rollout of all was cancelled",
    "operator olga: The rollout of all ended: cancelled, 2 of 2 agents succeeded",
  ]);
});

it("a plan says that it plans, and what applies a plan names it", async () => {
  await using scene = await createScene(1);
  const { rollouts } = scene.test.orchestrator;
  const { caller } = await scene.test.signIn("Operator", "olga");
  const { rollout_id } = await rollouts.plan(caller, { name: "all", wait_seconds: 0 });
  const [agent] = scene.agents;
  agent!.agent.link.send(emptyResult((await agent!.agent.next("plan")).operation_id));
  await agent!.agent.next("ack");
  await settle();
  await rollouts.apply(caller, { name: "all", plan_rollout_id: rollout_id, wait_seconds: 0 });
  expect(told(scene)).toEqual([
    "operator olga: Planning all on 1 agent was requested",
    "operator olga: The rollout of all ended: succeeded, 1 of 1 agents succeeded",
    "operator olga: Applying all on 1 agent was requested",
  ]);
  const started = scene.test.events.filter(({ event_type }) => event_type === "rollout.started");
  const facts = { assignment: "all", matched: 1, trigger: "manual" };
  expect(started.map(({ metadata }) => metadata)).toEqual([
    { ...facts, kind: "plan" },
    { ...facts, kind: "apply", plan_rollout_id: rollout_id },
  ]);
});
