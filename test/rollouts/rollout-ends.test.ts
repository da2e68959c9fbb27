import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { settle, settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

it("the wait for the end of a rollout that is not there is refused at once, and leaves nothing that waits", async () => {
  await using test = await createTestOrchestrator();
  const before = test.clock.pendingTimers;
  const rollout_id = "019b0000-0000-7000-8000-000000000000";
  const asked = test.orchestrator.rollouts.get(systemCaller, { rollout_id, wait_seconds: 300 }).then(
    () => "found",
    (error: unknown) => (error as { code: string }).code,
  );
  const waited = settleAll().then(() => "waits");
  expect(await Promise.race([asked, waited])).toBe("NOT_FOUND");
  expect(test.clock.pendingTimers).toBe(before);
});

it("an agent of which nothing was heard, and that turns up in the moment of the end, is counted as it ended", async () => {
  let late = "";
  const storage = new RacingStorage((writes) =>
    writes.some((each) => each.kind === "put" && each.key === late),
  );
  await using scene = await createScene(2, () => ({}), { storage, operationTimeoutSeconds: 60 });
  const { rollouts } = scene.test.orchestrator;
  const rollout = { batch: 1, max_failures: 2 };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  const [first, last] = scene.agents.map(({ agent }) => agent);
  const given = await first!.next("apply");
  first!.link.send({ type: "reply", id: given.id });
  for (let second = 0; second < 120; second += 1) {
    await scene.clock.advance(1_000);
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
  const { id, operation_id } = await last!.next("apply");
  last!.link.send({ type: "reply", id });
  expect((await rollouts.get(systemCaller, { rollout_id })).counts).toMatchObject({ unknown: 1, running: 1 });
  late = given.operation_id;
  storage.before = async () => {
    last!.link.send(emptyResult(operation_id));
    await settleAll();
    expect(await rollouts.get(systemCaller, { rollout_id })).toMatchObject({ status: "partial" });
  };
  first!.link.send(emptyResult(late));
  for (let time = 0; time < 3; time += 1) await settleAll();
  expect(storage.before).toBeNull();
  const { counts, recap } = await rollouts.get(systemCaller, { rollout_id });
  expect(counts).toMatchObject({ succeeded: 2, unknown: 0 });
  expect(recap).toMatchObject({ unchanged: 2, unknown: 0 });
});

it("a rollout that is cancelled in the pause between two batches leaves nothing that waits for its end", async () => {
  await using scene = await createScene(2, () => ({}), { driftIntervalSeconds: 0 });
  const { rollouts } = scene.test.orchestrator;
  // What one that just ends leaves: operations are looked at when they were due, whatever became of them.
  await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  for (const agent of scene.agents) await scene.finish(agent);
  await scene.clock.advance(2_000);
  const before = scene.clock.pendingTimers;
  const rollout = { batch: 1, pause_seconds: 3_600 };
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", rollout, wait_seconds: 0 });
  await scene.finish(scene.agents[0]);
  expect(scene.clock.pendingTimers).toBeGreaterThan(before);
  expect(await rollouts.cancel(systemCaller, { rollout_id })).toMatchObject({ status: "cancelled" });
  await scene.clock.advance(2_000);
  await settleAll();
  expect(scene.clock.pendingTimers).toBe(before);
});

it("agents of one rollout that all turn up at once are counted one after the other", async () => {
  await using scene = await createScene(4, () => ({}), { operationTimeoutSeconds: 60 });
  const { rollouts } = scene.test.orchestrator;
  const { rollout_id } = await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
  const given = [];
  for (const { agent } of scene.agents) {
    const command = await agent.next("apply");
    agent.link.send({ type: "reply", id: command.id });
    given.push({ agent, command });
  }
  for (let second = 0; second < 120; second += 1) await scene.clock.advance(1_000);
  await settleAll();
  expect((await rollouts.get(systemCaller, { rollout_id })).counts).toMatchObject({ unknown: 4 });
  const { storage } = scene.test;
  const commit = storage.commit.bind(storage);
  let conflicts = 0;
  storage.commit = async (...args) => {
    // As long as on a disk: the others have read what they change by then.
    await settle();
    return commit(...args).catch((error: unknown) => {
      conflicts += 1;
      throw error;
    });
  };
  for (const { agent, command } of given) agent.link.send(emptyResult(command.operation_id));
  for (let time = 0; time < 4; time += 1) await settleAll();
  const { counts } = await rollouts.get(systemCaller, { rollout_id });
  expect([counts, conflicts]).toMatchObject([{ succeeded: 4, unknown: 0 }, 0]);
});
