/**
 * Schedules that could be read when they were written and can't here, as after a restore on a machine whose Node knows fewer time zones.
 *
 * Symptom: one such assignment kept the schedules of all others from being carried out, and the server could not be told to go on after
 * the restore; one such window made the list of windows fail, and could not be given another schedule. Cause: whoever worked out what is due
 * next for one of several threw what the reading of that one threw.
 */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller, type Cron } from "fleetwright";
import { FakeClock, createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { cronerCron } from "../../lib/schedules/croner-cron.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";

const hourMs = 3_600_000;
const lost = "Europe/Berlin";

/** As croner, on a machine that may not know a time zone. */
class ForgetfulCron implements Cron {
  hasForgotten = false;

  next(schedule: Parameters<Cron["next"]>[0], afterMs: number): number | null {
    if (!this.hasForgotten || schedule.time_zone !== lost) return cronerCron.next(schedule, afterMs);
    const issues = [{ path: ["time_zone"], message: `${lost} is not a known time zone` }];
    throw new OrchestratorError("VALIDATION_FAILED", { issues });
  }
}

/** Two assignments that are due each hour, the first in the time zone that is lost, on a server that starts anew where it is. */
async function restarted({ isRestored = false } = {}): Promise<{
  test: TestOrchestrator;
  clock: FakeClock;
  cron: ForgetfulCron;
}> {
  const clock = new FakeClock();
  const cron = new ForgetfulCron();
  const data = new MemoryData();
  const first = new MemoryStorage({ clock, data });
  const before = await createTestOrchestrator({ clock, cron, storage: first });
  const { assignments, modules } = before.orchestrator;
  await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  for (const [name, time_zone] of [
    ["a-lost", lost],
    ["b-good", "UTC"],
  ] as const) {
    const schedule = { cron: "0 * * * *", time_zone };
    await assignments.create(systemCaller, { name, selector: "*", modules: ["web"], schedule });
  }
  await before.orchestrator.stop();
  cron.hasForgotten = true;
  const storage = new MemoryStorage({ clock, data: isRestored ? first.restoredCopy() : data });
  return { test: await createTestOrchestrator({ clock, cron, storage }), clock, cron };
}

/** The assignments whose due times were looked at: without agents each is skipped, and says so. */
const kept = ({ events }: TestOrchestrator): unknown[] =>
  events.flatMap((event) => (event.event_type === "schedule.skipped" ? event.target?.id : []));

async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 30_000) {
    await clock.advance(30_000);
    await settleAll();
  }
}

it("an assignment whose schedule can't be read keeps no other from being carried out, and follows once it can be", async () => {
  const { test, clock, cron } = await restarted();
  await using _ = test;
  await pass(clock, hourMs + 120_000);
  expect(kept(test)).toEqual(["b-good"]);
  expect(test.loggedErrors.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ assignment: "a-lost" }),
  );
  const { items } = await test.orchestrator.assignments.list(systemCaller);
  expect(items.map(({ name }) => name)).toEqual(["a-lost", "b-good"]);
  cron.hasForgotten = false;
  await pass(clock, 120_000);
  expect(kept(test)).toEqual(["b-good", "a-lost"]);
});

it("a clock that is set where a schedule can't be read has the others worked out anew", async () => {
  const { test, clock } = await restarted();
  await using _ = test;
  await settleAll();
  clock.jump(-100 * hourMs);
  await pass(clock, hourMs + 120_000);
  expect(kept(test)).toEqual(["b-good"]);
});

it("a restored server goes on though a schedule that was due meanwhile can't be read", async () => {
  const { test, clock } = await restarted({ isRestored: true });
  await using _ = test;
  const { restores } = test.orchestrator;
  expect(await restores.get(systemCaller)).toMatchObject({ status: "paused" });
  await pass(clock, hourMs + 120_000);
  const { status, missed } = await restores.resume(systemCaller);
  expect([status, missed.map(({ assignment }) => assignment)]).toEqual(["active", ["a-lost", "b-good"]]);
  await pass(clock, hourMs);
  expect(kept(test)).toEqual(["a-lost", "b-good", "b-good"]);
});

it("a due time that a restore passed over is not carried out once its schedule can be read, and the next one is", async () => {
  const { test, clock, cron } = await restarted({ isRestored: true });
  await using _ = test;
  const { restores } = test.orchestrator;
  await pass(clock, hourMs + 120_000);
  await restores.resume(systemCaller);
  const told = kept(test);
  await pass(clock, 120_000);
  cron.hasForgotten = false;
  await pass(clock, 120_000);
  expect([told, kept(test)]).toEqual([
    ["a-lost", "b-good"],
    ["a-lost", "b-good"],
  ]);
  await pass(clock, hourMs);
  expect(kept(test).slice(2)).toEqual(["a-lost", "b-good"]);
});

it("a schedule that can't be read holds up no other, and is not logged again and again", async () => {
  const { test, clock } = await restarted();
  await using _ = test;
  await pass(clock, 5 * hourMs + 60_000);
  const late = test.events.flatMap(({ event_type, timestamp, metadata }) =>
    event_type === "schedule.skipped" ? Date.parse(timestamp) - Date.parse(String(metadata["due_at"])) : [],
  );
  expect(late).toHaveLength(5);
  expect(Math.max(...late)).toBeLessThan(1_000);
  // At the start, and where it is due.
  const logged = test.loggedErrors.map(({ fields }) => fields);
  expect(logged).toEqual([
    expect.objectContaining({ assignment: "a-lost" }),
    expect.objectContaining({ assignment: "a-lost" }),
  ]);
});

it("a window whose schedule can't be read is listed, can be changed and removed, and can be given another", async () => {
  const clock = new FakeClock();
  const cron = new ForgetfulCron();
  await using test = await createTestOrchestrator({ clock, cron });
  const { maintenanceWindows } = test.orchestrator;
  const schedule = { cron: "0 * * * *", time_zone: lost, duration_minutes: 30 };
  const create = async (more: object = {}): Promise<string> => {
    const window = { reason: "the database moves", mode: "freeze", schedule, ...more } as const;
    return (await maintenanceWindows.create(systemCaller, window)).id;
  };
  const ends_at = new Date(clock.now() + hourMs).toISOString();
  const [id, brief, third] = [await create(), await create({ ends_at }), await create()];
  expect(await maintenanceWindows.get(systemCaller, { id })).toMatchObject({ status: "active" });
  cron.hasForgotten = true;
  const statuses = async (): Promise<unknown[]> =>
    (await maintenanceWindows.list(systemCaller)).items.map(({ status, occurrences }) => [
      status,
      occurrences.length > 0,
    ]);
  expect(await statuses()).toEqual([
    ["scheduled", false],
    ["scheduled", false],
    ["scheduled", false],
  ]);
  await clock.advance(hourMs);
  expect(await maintenanceWindows.get(systemCaller, { id: brief })).toMatchObject({ status: "ended" });
  const renamed = await maintenanceWindows.update(systemCaller, { id, reason: "it moves on" });
  expect(renamed).toMatchObject({ reason: "it moves on", status: "scheduled", occurrences: [] });
  // Nothing of it goes on here that could be ended.
  await expect(maintenanceWindows.update(systemCaller, { id, end_occurrence: true })).rejects.toMatchObject({
    code: "INVALID_TRANSITION",
  });
  const known = { ...schedule, time_zone: "UTC" };
  const changed = await maintenanceWindows.update(systemCaller, { id, schedule: known });
  expect(changed).toMatchObject({ status: "active" });
  await expect(
    maintenanceWindows.update(systemCaller, { id, schedule: { ...known, time_zone: lost } }),
  ).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  for (const each of [brief, third]) await maintenanceWindows.remove(systemCaller, { id: each });
  expect(await statuses()).toEqual([["active", true]]);
});
