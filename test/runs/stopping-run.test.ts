import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { settle } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

it("a command that stops since too many failed may be ended where it still runs, and has failed all the same, for its reason", async () => {
  await using scene = await createScene(3, () => ({}), { rolloutConcurrency: 2 });
  const { runs } = scene.test.orchestrator;
  const how = { selector: "*", command: ["true"], rollout: { max_failures: 0 }, wait_seconds: 0 };
  const { rollout_id } = await runs.start(systemCaller, how);
  const [first, second] = scene.agents.map(({ agent }) => agent);
  const failed = await first!.next("run");
  const { operation_id } = await second!.next("run");
  first!.link.send({ ...emptyResult(failed.operation_id), status: "failed" });
  await first!.next("ack");
  await settle();
  const reason = "1 of 2 agents failed up to batch 1 of 1; 0 may.";
  const read = () => runs.get(systemCaller, { rollout_id });
  expect(await read()).toMatchObject({ status: "stopping", reason });
  const { caller } = await scene.test.signIn("Operator", "olga");
  expect(await runs.cancel(caller, { rollout_id })).toMatchObject({ status: "stopping", reason });
  expect(await second!.next("cancel")).toMatchObject({ operation_id });
  second!.link.send({ ...emptyResult(operation_id), status: "cancelled" });
  await second!.next("ack");
  await settle();
  await settle();
  expect(await read()).toMatchObject({ status: "failed", reason, counts: { failed: 1, cancelled: 2 } });
  const told = scene.test.events.map(({ event_type }) => event_type as string);
  expect(told.filter((type) => type.startsWith("rollout."))).toEqual([
    "rollout.started",
    "rollout.stopped",
    "rollout.finished",
  ]);
});

it("a command that two cancel is cancelled by the first, in whose name its operations end", async () => {
  await using scene = await createScene(3, () => ({}), { rolloutConcurrency: 3 });
  const { runs } = scene.test.orchestrator;
  const how = { selector: "*", command: ["true"], wait_seconds: 0 };
  const { rollout_id } = await runs.start(systemCaller, how);
  const commands = await Promise.all(scene.agents.map(({ agent }) => agent.next("run")));
  const [ada, bob] = [await scene.test.signIn("Operator", "ada"), await scene.test.signIn("Operator", "bob")];
  await Promise.all([ada, bob].map(({ caller }) => runs.cancel(caller, { rollout_id })));
  await Promise.all(scene.agents.map(({ agent }) => agent.next("cancel")));
  const told = scene.test.events.filter(({ event_type }) => /cancel/.test(event_type));
  expect(told.map(({ event_type, actor }) => `${event_type} ${actor.name}`)).toEqual([
    "rollout.cancelled ada",
    ...commands.map(() => "operation.cancelRequested ada"),
  ]);
  expect((await runs.get(systemCaller, { rollout_id })).reason).toBe("The rollout was cancelled by ada.");
  // What is cancelled only after a restart is so in the name that is kept.
  const kept = await scene.test.storage.get<{ cancelled_by: object }>("rollouts", rollout_id);
  expect(kept?.value.cancelled_by).toMatchObject({ type: "operator", name: "ada" });
});
