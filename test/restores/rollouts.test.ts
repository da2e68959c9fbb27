/** What becomes of the rollouts of a backup. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

/** Ends a server, and starts another life of it from a backup that was taken now. Its agents come back. */
async function restore(scene: Scene): Promise<{ test: TestOrchestrator; agents: ScriptedAgent[] }> {
  const { clock } = scene;
  const data = (scene.test.storage as MemoryStorage).restoredCopy();
  await scene[Symbol.asyncDispose]();
  const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  onTestFinished(() => test[Symbol.asyncDispose]());
  const agents: ScriptedAgent[] = [];
  for (const { keys } of scene.agents) {
    const agent = await connectScriptedAgent(test, keys, clock);
    onTestFinished(() => agent[Symbol.asyncDispose]());
    agents.push(agent);
  }
  await pass(scene, 1_000);
  return { test, agents };
}

async function pass({ clock }: Scene, ms: number): Promise<void> {
  await clock.advance(ms);
  await settleAll();
}

/** The commands to an agent that may begin something: what is asked has no time left. */
const begun = ({ commands }: ScriptedAgent): string[] =>
  commands.flatMap((each) =>
    each.type === "apply" && Date.parse(each.not_after) > 0 ? [each.operation_id] : [],
  );
const asked = ({ commands }: ScriptedAgent): string[] =>
  commands.flatMap((each) => (each.type === "apply" && Date.parse(each.not_after) === 0 ? [each.id] : []));

it("a rollout asks for the agent that it had begun, begins no other before the word, and then goes on", async () => {
  const scene = await createScene(3);
  const { rollouts } = scene.test.orchestrator;
  const { rollout_id } = await rollouts.apply(systemCaller, {
    name: "all",
    rollout: { batch: 1 },
    wait_seconds: 0,
  });
  await pass(scene, 100);
  const at = scene.agents.findIndex(({ name }) => scene.asked().includes(name));
  const { test, agents } = await restore(scene);
  const get = () => test.orchestrator.rollouts.get(systemCaller, { rollout_id });
  expect([agents.map(begun), agents.map((each) => asked(each).length)]).toEqual([
    [[], [], []],
    [0, 1, 2].map((each) => (each === at ? 1 : 0)),
  ]);
  const { commands, link } = agents[at]!;
  const question = commands.find(({ type }) => type === "apply") as { operation_id: string };
  link.send(emptyResult(question.operation_id));
  await pass(scene, 10 * 60_000);
  expect(agents.map(begun)).toEqual([[], [], []]);
  expect(await get()).toMatchObject({ status: "running", counts: { succeeded: 1, waiting: 2 } });
  const state = await test.orchestrator.restores.get(systemCaller);
  expect(state.rollouts).toEqual([
    { rollout_id, assignment: "all", kind: "apply", status: "running", matched: 3, left: 2 },
  ]);
  // One that an operator begins meanwhile does not wait, also of the same assignment.
  const plan = await test.orchestrator.rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
  expect(plan.counts).toMatchObject({ running: 3 });
  for (const each of agents) {
    const told = await each.next("plan");
    each.link.send(emptyResult(told.operation_id));
  }
  await pass(scene, 1_000);
  const planned = await test.orchestrator.rollouts.get(systemCaller, { rollout_id: plan.rollout_id });
  expect(planned.status).toBe("succeeded");

  await test.orchestrator.restores.resume(systemCaller);
  for (let left = 2; left > 0; left -= 1) {
    await pass(scene, 100);
    const open = agents.filter((each) => begun(each).length > 0);
    expect(open).toHaveLength(3 - left);
    for (const each of open) for (const id of begun(each)) each.link.send(emptyResult(id));
    await pass(scene, 100);
  }
  expect(await get()).toMatchObject({ status: "succeeded", counts: { succeeded: 3 } });
  expect(agents.map((each) => begun(each).length)).toEqual([0, 1, 2].map((each) => (each === at ? 0 : 1)));
});

it("a rollout that is cancelled while the server is paused goes no further after the word", async () => {
  const scene = await createScene(2);
  const { rollouts } = scene.test.orchestrator;
  const { rollout_id } = await rollouts.apply(systemCaller, {
    name: "all",
    rollout: { batch: 1 },
    wait_seconds: 0,
  });
  await pass(scene, 100);
  const { test, agents } = await restore(scene);
  const question = agents.flatMap(({ commands }) => commands).find(({ type }) => type === "apply");
  const { operation_id } = question as { operation_id: string };
  const error = { code: "COMMAND_EXPIRED", message: "late" };
  const of = agents.find(({ commands }) => commands.includes(question!))!;
  await test.orchestrator.rollouts.cancel(systemCaller, { rollout_id });
  of.link.send({ type: "reply", id: question!.id, error });
  await pass(scene, 1_000);
  expect(await test.orchestrator.operations.get(systemCaller, { operation_id })).toMatchObject({
    status: "failed",
  });
  expect(await test.orchestrator.rollouts.get(systemCaller, { rollout_id })).toMatchObject({
    status: "cancelled",
    counts: { failed: 1, cancelled: 1 },
  });
  await test.orchestrator.restores.resume(systemCaller);
  await pass(scene, 60_000);
  expect(agents.map(begun)).toEqual([[], []]);
});

it("schedules are passed over in the step that has the server go on, or not at all", async () => {
  const before = await createTestOrchestrator();
  const { clock } = before;
  await before.orchestrator.modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  const daily = { selector: "*", modules: ["web"], schedule: { cron: "0 3 * * *" } };
  for (const name of ["a", "b"])
    await before.orchestrator.assignments.create(systemCaller, { name, ...daily });
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  await clock.advance(2 * 86_400_000);
  const storage = new MemoryStorage({ clock, data });
  await using test = await createTestOrchestrator({ clock, storage });
  const { restores } = test.orchestrator;
  const commit = storage.commit.bind(storage);
  storage.commit = (writes, options) =>
    writes.some((write) => "collection" in write && write.collection === "epochs")
      ? Promise.reject(new OrchestratorError("UNAVAILABLE"))
      : commit(writes, options);
  const waiting = await restores.get(systemCaller);
  await expect(restores.resume(systemCaller)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(await restores.get(systemCaller)).toEqual(waiting);
  storage.commit = commit;
  const { missed } = await restores.resume(systemCaller);
  expect(missed.map(({ assignment }) => assignment)).toEqual(["a", "b"]);
  expect(missed).toEqual(waiting.missed);
  expect(test.events.filter(({ event_type }) => event_type === "schedule.skipped")).toHaveLength(2);
  const resumed = test.events.filter(({ event_type }) => event_type === "storage.resumed");
  expect(resumed.map(({ metadata }) => metadata)).toEqual([{ schedules_passed_over: 2 }]);
});
