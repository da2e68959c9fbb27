/** What an Admin is told that waits after a restore: all that comes from the backup, the first hundred of each, and nothing else. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const dayMs = 86_400_000;

/** Ends a server, and starts another life of it from a backup that was taken now, some time later. */
async function restore(scene: Scene, laterMs = 0): Promise<TestOrchestrator> {
  const { clock } = scene;
  const data = (scene.test.storage as MemoryStorage).restoredCopy();
  await scene[Symbol.asyncDispose]();
  await clock.advance(laterMs);
  const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  onTestFinished(() => test[Symbol.asyncDispose]());
  await settleAll();
  return test;
}

it.each([99, 100, 101])(
  "of %i commands of the backup it names a hundred, and counts them all",
  async (count) => {
    const scene = await createScene(2, undefined, { driftIntervalSeconds: 0 });
    const { runs } = scene.test.orchestrator;
    const inTurns = { rollout: { batch: 1 }, selector: "*", command: "uptime", wait_seconds: 0 };
    const made = [(await runs.start(systemCaller, inTurns)).rollout_id];
    await settleAll();
    const [, other] = scene.agents;
    const ofOne = { node_ids: [other!.nodeId], command: "true", wait_seconds: 0 };
    while (made.length < count) made.push((await runs.start(systemCaller, ofOne)).rollout_id);
    await settleAll();
    const test = await restore(scene);
    const { restores } = test.orchestrator;
    const waiting = await restores.get(systemCaller);
    expect([waiting.open_operations, waiting.operations.length]).toEqual([count, Math.min(count, 100)]);
    expect(waiting.rollouts.map(({ rollout_id }) => rollout_id)).toEqual(made.slice(0, 100));
    // The first of each is the oldest. What an agent has is to end; what it was not sent may yet begin.
    const ofFirst = waiting.rollouts.find(({ command }) => command === "uptime");
    expect(ofFirst).toMatchObject({ kind: "run", status: "running", matched: 2, left: 1 });
    expect(waiting.rollouts.filter(({ left }) => left !== 0)).toEqual([ofFirst]);
    for (const { status, would } of waiting.operations)
      expect({ status, would }).toEqual({ status, would: status === "queued" ? "begin" : "end" });
    expect(new Set(waiting.operations.map(({ would }) => would))).toEqual(new Set(["begin", "end"]));
    // What somebody asks for now is none of what waits.
    const input = { node_ids: [other!.nodeId], command: "date", wait_seconds: 0 };
    const later = await test.orchestrator.runs.start(systemCaller, {
      ...input,
      rollout: { when_offline: "queue" },
    });
    const after = await restores.get(systemCaller);
    expect(after).toEqual(waiting);
    expect(later.status).toBe("running");
  },
);

it.each([99, 100, 101])(
  "of %i assignments that are overdue, and enforce, it names a hundred",
  async (count) => {
    const scene = await createScene(0, undefined, { driftIntervalSeconds: 0 });
    const { assignments } = scene.test.orchestrator;
    const schedule = { cron: "@daily" };
    const what = { selector: "*", modules: ["motd"] };
    for (let number = 1; number <= count; number += 1)
      await assignments.create(systemCaller, { ...what, name: `a${number}`, schedule, enforce: true });
    const others = { calm: { enforce: false }, yearly: { schedule: { cron: "@yearly" } } };
    for (const [name, how] of Object.entries(others))
      await assignments.create(systemCaller, { ...what, ...how, name });
    const test = await restore(scene, dayMs);
    const { restores } = test.orchestrator;
    const waiting = await restores.get(systemCaller);
    const told = Math.min(count, 100);
    const named = Array.from({ length: count }, (_, at) => `a${at + 1}`).toSorted();
    expect([waiting.missed.length, waiting.enforcing]).toEqual([told, named.slice(0, 100)]);
    const names = [...waiting.missed.map(({ assignment }) => assignment), ...waiting.enforcing];
    // The scene's own has no schedule, and enforces nothing.
    expect(names.filter((name) => name in others || name === "all")).toEqual([]);
    const resumed = await restores.resume(systemCaller);
    expect(resumed.missed).toHaveLength(told);
    const [event] = test.events.filter(({ event_type }) => event_type === "storage.resumed");
    expect(event?.metadata).toEqual({ schedules_passed_over: count });
  },
);

it("a due time that was passed over, and whose schedule nobody can read, is told of by neither", async () => {
  const scene = await createScene(0, undefined, { driftIntervalSeconds: 0 });
  const { storage, orchestrator } = scene.test;
  const what = { selector: "*", modules: ["motd"], schedule: { cron: "@daily" } };
  for (const name of ["over", "due"]) await orchestrator.assignments.create(systemCaller, { ...what, name });
  const collection = "assignment_schedules";
  const { value } = (await storage.get<JsonObject>(collection, "over"))!;
  await storage.commit([{ kind: "put", collection, key: "over", value: { ...value, is_over: true } }]);
  const { restores } = (await restore(scene, dayMs)).orchestrator;
  const missed = [expect.objectContaining({ assignment: "due" })];
  expect(await restores.get(systemCaller)).toMatchObject({ missed });
  expect(await restores.resume(systemCaller)).toMatchObject({ missed });
});
