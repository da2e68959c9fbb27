import { describe, expect, it, vi } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import type { Rollout } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const hourMs = 3_600_000;
const schedule = { cron: "0 * * * *", time_zone: "UTC" };

async function pass({ clock }: Pick<Scene, "clock">, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await clock.advance(Math.min(left, 10_000));
    for (let turn = 0; turn < 4; turn += 1) await settle();
  }
}

const rolloutsOf = async (test: TestOrchestrator): Promise<Rollout[]> =>
  (await test.orchestrator.rollouts.list(systemCaller)).items;

const skips = (test: TestOrchestrator): unknown[] =>
  test.events.filter(({ event_type }) => event_type === "schedule.skipped").map(({ metadata }) => metadata);

/** The scene, half an hour before its assignment is due. */
async function scheduled(count = 1): Promise<Scene> {
  const scene = await createScene(count, () => ({}), { driftIntervalSeconds: 0 });
  await scene.clock.advance(hourMs / 2);
  await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
  return scene;
}

/** Starts anew on what is stored, with nobody connected. */
async function restart(scene: Scene): Promise<TestOrchestrator> {
  for (const { agent } of scene.agents) await agent.link.stop();
  await scene.test.orchestrator.stop();
  const { clock, data } = scene;
  return createTestOrchestrator({
    clock,
    storage: new MemoryStorage({ clock, data }),
    driftIntervalSeconds: 0,
  });
}

describe("an assignment with a schedule", () => {
  it("removes nothing when nobody is there, unless it says so; a call by hand does", async () => {
    await using scene = await scheduled();
    const { assignments, rollouts } = scene.test.orchestrator;
    await pass(scene, hourMs / 2 + 10_000);
    expect(await scene.finish(scene.agents[0])).toMatchObject({ hold_removals: true });
    expect(await rolloutsOf(scene.test)).toMatchObject([{ trigger: "scheduled", hold_removals: true }]);
    await rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
    expect((await scene.finish(scene.agents[0])).hold_removals).toBeUndefined();
    const changed = await assignments.update(systemCaller, { name: "all", unattended_removals: true });
    expect(changed.unattended_removals).toBe(true);
    await pass(scene, hourMs);
    expect((await scene.finish(scene.agents[0])).hold_removals).toBeUndefined();
    expect((await rolloutsOf(scene.test))[0]?.hold_removals).toBeUndefined();
  });

  it("is applied at each due time, once, and says when it is due next", async () => {
    await using scene = await scheduled();
    const { assignments } = scene.test.orchestrator;
    const first = scene.clock.now() + hourMs / 2;
    const next = async (): Promise<string | undefined> =>
      (await assignments.get(systemCaller, { name: "all" })).next_run_at;
    expect(await next()).toBe(new Date(first).toISOString());
    await pass(scene, hourMs / 2 - 10_000);
    expect(await rolloutsOf(scene.test)).toEqual([]);
    await pass(scene, 20_000);
    await scene.finish(scene.agents[0]);
    expect(await rolloutsOf(scene.test)).toMatchObject([
      { trigger: "scheduled", status: "succeeded", requested_by: "system", assignment: "all" },
    ]);
    expect(await next()).toBe(new Date(first + hourMs).toISOString());
    await pass(scene, hourMs);
    await scene.finish(scene.agents[0]);
    expect(await rolloutsOf(scene.test)).toHaveLength(2);
    await assignments.update(systemCaller, { name: "all", schedule: null });
    expect(await next()).toBeUndefined();
    await pass(scene, hourMs);
    expect(await rolloutsOf(scene.test)).toHaveLength(2);
    expect(scene.test.loggedErrors).toEqual([]);
  });

  it("is refused where the schedule never comes or its time zone is unknown, and nothing is stored", async () => {
    await using scene = await createScene(1);
    const { assignments } = scene.test.orchestrator;
    for (const wrong of [{ cron: "0 0 30 2 *" }, { cron: "0 4 * * *", time_zone: "Mars/Olympus" }]) {
      const fields = { name: "timed", selector: "*", modules: ["motd"], schedule: wrong };
      await expect(assignments.create(systemCaller, fields)).rejects.toMatchObject({
        code: "VALIDATION_FAILED",
      });
    }
    expect((await assignments.list(systemCaller)).items.map(({ name }) => name)).toEqual(["all"]);
  });

  it("is applied late, once, where the orchestrator was away for less than an hour", async () => {
    const scene = await scheduled();
    const second = await restartAfter(scene, hourMs / 2 + 3_000_000);
    await using _ = second;
    expect(await rolloutsOf(second)).toHaveLength(1);
    expect(skips(second)).toEqual([]);
  });

  it("passes over what was missed by more, however often, and an event says so", async () => {
    const scene = await scheduled();
    const dueAt = new Date(scene.clock.now() + hourMs / 2).toISOString();
    const second = await restartAfter(scene, 100 * hourMs + hourMs / 4);
    await using _ = second;
    expect(await rolloutsOf(second)).toEqual([]);
    expect(skips(second)).toEqual([{ due_at: dueAt, reason: "The orchestrator was not there in time." }]);
    const { next_run_at } = await second.orchestrator.assignments.get(systemCaller, { name: "all" });
    expect(Date.parse(next_run_at!) - scene.clock.now()).toBeLessThanOrEqual(hourMs);
  });

  it("is applied at most once by a clock that jumps ahead, and on time after it is set back", async () => {
    await using scene = await scheduled();
    scene.clock.jump(1_000 * hourMs);
    await pass(scene, 60_000);
    expect(await rolloutsOf(scene.test)).toEqual([]);
    expect(skips(scene.test)).toHaveLength(1);
    scene.clock.jump(-1_000 * hourMs);
    // What was passed over in the wrong time is due again, at its own.
    await pass(scene, hourMs);
    expect(await rolloutsOf(scene.test)).toHaveLength(1);
    await scene.finish(scene.agents[0]);
    scene.clock.jump(-600_000);
    await pass(scene, 900_000);
    expect(await rolloutsOf(scene.test)).toHaveLength(1);
    // Before its time, which comes once more and is not carried out again.
    scene.clock.jump(-2_400_000);
    await pass(scene, 600_000);
    expect(await rolloutsOf(scene.test)).toHaveLength(1);
  });

  it("is passed over while the rollout before has not ended, or where it matches nobody", async () => {
    await using scene = await scheduled();
    await pass(scene, hourMs / 2 - 60_000);
    await scene.test.orchestrator.rollouts.apply(systemCaller, { name: "all", wait_seconds: 0 });
    await scene.test.orchestrator.rollouts.pause(systemCaller, {
      rollout_id: (await rolloutsOf(scene.test))[0]!.rollout_id,
    });
    await pass(scene, 70_000);
    expect(skips(scene.test)).toMatchObject([{ reason: "The rollout before has not ended." }]);
    await scene.finish(scene.agents[0]);
    await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", selector: "nobody=here" });
    await pass(scene, hourMs);
    expect(skips(scene.test)).toMatchObject([{}, { reason: "The selector matches no agent." }]);
    expect(await rolloutsOf(scene.test)).toHaveLength(1);
  });

  it("is applied although a plan of it goes on, or a rollout of another", async () => {
    await using scene = await scheduled();
    const { assignments, rollouts } = scene.test.orchestrator;
    await pass(scene, hourMs / 2 - 60_000);
    await rollouts.plan(systemCaller, { name: "all", wait_seconds: 0 });
    await assignments.create(systemCaller, { name: "other", selector: "*", modules: ["motd"] });
    await rollouts.apply(systemCaller, { name: "other", wait_seconds: 0 });
    await pass(scene, 70_000);
    expect(skips(scene.test)).toEqual([]);
    const { items } = await rollouts.list(systemCaller, { assignment: "all", kind: "apply" });
    expect(items).toMatchObject([{ trigger: "scheduled", status: "running" }]);
  });

  it("leaves one timer however often a schedule changes", async () => {
    await using scene = await scheduled();
    const change = async (minute: number): Promise<number> => {
      const schedule = { cron: `${minute} * * * *` };
      await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
      await settleAll();
      return scene.clock.pendingTimers;
    };
    const before = await change(1);
    for (let minute = 2; minute < 20; minute += 1)
      expect(await change(minute)).toBeLessThanOrEqual(before + 1);
  });

  it("is never applied any more once it is removed", async () => {
    await using scene = await scheduled();
    await scene.test.orchestrator.assignments.remove(systemCaller, { name: "all" });
    await pass(scene, 2 * hourMs);
    expect(await rolloutsOf(scene.test)).toEqual([]);
    expect(scene.clock.pendingTimers).toBeLessThan(20);
  });
});

async function restartAfter(scene: Scene, ms: number): Promise<TestOrchestrator> {
  for (const { agent } of scene.agents) await agent.link.stop();
  await scene.test.orchestrator.stop();
  await scene.clock.advance(ms);
  const second = await restart(scene);
  // The first round after the start either begins what is due or passes over it.
  await vi.waitFor(async () => expect([...(await rolloutsOf(second)), ...skips(second)]).not.toEqual([]), {
    timeout: 30_000,
  });
  await settleAll();
  return second;
}

/** A storage of which what is due can't be carried out while `fails` says so; counts how often that was tried. */
class FailingStorage extends MemoryStorage {
  fails: (name: string) => Error | null = () => null;
  tries: string[] = [];

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    for (const write of args[0]) {
      if (write.kind !== "put" || write.collection !== "assignment_schedules") continue;
      this.tries.push(write.key);
      const error = this.fails(write.key);
      if (error) throw error;
    }
    return super.commit(...args);
  }
}

describe.each([
  ["a full disk", new OrchestratorError("STORAGE_FULL")],
  ["a fault", new TypeError("a bug")],
])("a scheduled rollout that fails for %s", (_, error) => {
  it("is tried again after a second, then less often, and the others are carried out", async () => {
    const clock = new FakeClock();
    const storage = new FailingStorage({ clock });
    await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
    const { assignments } = scene.test.orchestrator;
    await assignments.update(systemCaller, { name: "all", schedule });
    await assignments.create(systemCaller, { name: "other", selector: "*", modules: ["motd"], schedule });
    storage.fails = (name) => (name === "all" ? error : null);
    const dueMs = hourMs - (clock.now() % hourMs);
    for (let left = dueMs; left > 0; left -= 10_000) await clock.advance(Math.min(left, 10_000));
    storage.tries = [];
    for (let second = 0; second < 240; second += 1) {
      await clock.advance(1_000);
      for (let turn = 0; turn < 4; turn += 1) await settle();
      // Whatever else wakes the schedules must not add a row of tries of its own.
      if (second === 100)
        await assignments.update(systemCaller, { name: "other", schedule: { cron: "30 * * * *" } });
    }
    const tries = storage.tries.filter((name) => name === "all").length;
    expect(tries).toBeGreaterThanOrEqual(5);
    expect(tries).toBeLessThanOrEqual(12);
    expect((await rolloutsOf(scene.test)).map(({ assignment }) => assignment)).toEqual(["other"]);
    storage.fails = () => null;
    for (let second = 0; second < 61; second += 1) {
      await clock.advance(1_000);
      await settle();
    }
    const begun = (await rolloutsOf(scene.test)).map(({ assignment }) => assignment);
    expect(begun.sort()).toEqual(["all", "other"]);
  });
});

it("after an outage that is over the next one is tried again as soon as the first was", async () => {
  const clock = new FakeClock();
  const storage = new FailingStorage({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
  /** How often it is tried in ten seconds from the moment on in which it is due. */
  const outage = async (): Promise<number> => {
    await pass({ clock }, hourMs - (clock.now() % hourMs) - 1_000);
    storage.fails = () => new OrchestratorError("STORAGE_FULL");
    storage.tries = [];
    const seconds = async (count: number): Promise<void> => {
      for (let second = 0; second < count; second += 1) await pass({ clock }, 1_000);
    };
    await seconds(11);
    const tries = storage.tries.length;
    await seconds(120);
    storage.fails = () => null;
    await seconds(61);
    return tries;
  };
  const first = await outage();
  expect(first).toBeGreaterThanOrEqual(3);
  expect(await outage()).toBe(first);
  expect(await rolloutsOf(scene.test)).toHaveLength(2);
});

it("is on time again after a clock that was wrong, also where nothing can be written when it is set right", async () => {
  const clock = new FakeClock();
  const storage = new FailingStorage({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  await scene.test.orchestrator.assignments.update(systemCaller, { name: "all", schedule });
  clock.jump(1_000 * hourMs);
  await pass({ clock }, 60_000);
  expect(skips(scene.test)).toHaveLength(1);
  storage.fails = () => new OrchestratorError("STORAGE_FULL");
  clock.jump(-1_000 * hourMs);
  await pass({ clock }, 60_000);
  storage.fails = () => null;
  await pass({ clock }, hourMs);
  expect(await rolloutsOf(scene.test)).toHaveLength(1);
});

it("what is passed over leaves a schedule alone that somebody changes in that moment", async () => {
  const before = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  const { clock } = before;
  await before.orchestrator.modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  const fields = { selector: "*", modules: ["web"], schedule };
  for (const name of ["first", "other"])
    await before.orchestrator.assignments.create(systemCaller, { name, ...fields });
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  clock.leap(2 * hourMs);
  const isPassing = (writes: readonly Write[]): boolean =>
    writes.some((write) => write.kind === "put" && write.collection === "assignment_schedules");
  const storage = new RacingStorage(isPassing, { clock, data });
  await using test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
  const { assignments, restores } = test.orchestrator;
  const yearly = { cron: "0 0 1 1 *", time_zone: "UTC" };
  storage.before = () => assignments.update(systemCaller, { name: "first", schedule: yearly });
  const { missed } = await restores.resume(systemCaller);
  expect(missed.map(({ assignment }) => assignment)).toEqual(["other"]);
  expect(skips(test)).toHaveLength(1);
  const { next_run_at } = await assignments.get(systemCaller, { name: "first" });
  expect(next_run_at).toMatch(/-01-01T00:00:00/);
});

it("a hundred and fifty schedules that fail hold back no other", async () => {
  const clock = new FakeClock();
  const storage = new FailingStorage({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  const { assignments } = scene.test.orchestrator;
  const fields = { selector: "*", modules: ["motd"] };
  for (let at = 0; at < 150; at += 1)
    await assignments.create(systemCaller, { name: `failing-${at}`, ...fields, schedule });
  // Due at the same moment as they are, and after them by its name.
  await assignments.create(systemCaller, { name: "other", ...fields, schedule });
  storage.fails = (name) => (name === "other" ? null : new OrchestratorError("STORAGE_FULL"));
  await pass({ clock }, hourMs - (clock.now() % hourMs) + 10_000);
  expect((await rolloutsOf(scene.test)).map(({ assignment }) => assignment)).toEqual(["other"]);
});

it("that the schedules themselves can't be read is logged, and tried again", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const list = storage.list.bind(storage);
  await using test = await createTestOrchestrator({ clock, storage });
  await test.orchestrator.modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  const fields = { name: "timed", selector: "*", modules: ["web"] };
  await test.orchestrator.assignments.create(systemCaller, { ...fields, schedule });
  const error = new OrchestratorError("STORAGE_FAILED", { message: "of a disk" });
  storage.list = (collection, query) =>
    collection === "assignment_schedules" ? Promise.reject(error) : list(collection, query);
  await pass({ clock }, hourMs);
  const told = { message: "The schedules of assignments could not be kept.", fields: { error } };
  expect(test.loggedErrors).toContainEqual(told);
  storage.list = list;
  await pass({ clock }, hourMs);
  expect(skips(test)).not.toEqual([]);
});

it("where no assignment has a schedule nobody looks for what is due, and every half minute where one has", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  await using scene = await createScene(1, () => ({}), { clock, storage, driftIntervalSeconds: 0 });
  const looks = vi.spyOn(storage, "list");
  const during = async (ms: number): Promise<number> => {
    looks.mockClear();
    await pass({ clock }, ms);
    return looks.mock.calls.filter(([collection]) => collection === "assignment_schedules").length;
  };
  const { assignments } = scene.test.orchestrator;
  await pass({ clock }, 60_000);
  expect(await during(600_000)).toBe(0);
  await assignments.update(systemCaller, { name: "all", schedule: { cron: "0 0 1 1 *" } });
  expect(await during(600_000)).toBeGreaterThanOrEqual(20);
  await assignments.update(systemCaller, { name: "all", schedule: null });
  await pass({ clock }, 60_000);
  expect(await during(600_000)).toBe(0);
});
