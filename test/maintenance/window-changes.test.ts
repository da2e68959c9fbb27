/** What is shown and recorded of a window that is created, changed and removed: field by field. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller, type MaintenanceWindow } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { pagesOf } from "../support/all-pages.ts";
import { createScene } from "../support/rollout-scene.ts";
import { waitFor } from "../support/wait-for.ts";

const minuteMs = 60_000;
/** The first instant of the fake clock, plus so many minutes. */
const at = (minutes: number): string => new Date(1_893_456_000_000 + minutes * minuteMs).toISOString();
const nightly = { cron: "0 0 * * *", time_zone: "UTC", duration_minutes: 60 };

let test: TestOrchestrator;
beforeEach(async () => {
  test = await createTestOrchestrator();
});
afterEach(() => test[Symbol.asyncDispose]());

type Verbs = TestOrchestrator["orchestrator"]["maintenanceWindows"];
const create = (more: Partial<Parameters<Verbs["create"]>[1]>): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.create(systemCaller, { reason: "disks", mode: "freeze", ...more });
const update = (change: Parameters<Verbs["update"]>[1]): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.update(systemCaller, change);
const told = (type: string) => test.events.filter(({ event_type }) => event_type === `maintenance.${type}`);

const full = {
  reason: "disks",
  mode: "freeze",
  selector: "role=web",
  starts_at: "2030-01-01T05:00:00+02:00",
  ends_at: at(10_000),
  schedule: nightly,
  managed_by: { label: "git", name: "disks" },
} as const;
const shown = { ...full, starts_at: at(180), created_by: "system", created_at: at(0) };

describe("a window is shown with", () => {
  it("all that it was given, times as UTC", async () => {
    const { id } = await create(full);
    const read = await test.orchestrator.maintenanceWindows.get(systemCaller, { id });
    const { status, occurrences, ...rest } = read;
    expect(rest).toEqual({ ...shown, id, version: 1 });
    expect(status).toBe("scheduled");
    const days = [1, 2, 3, 4, 5].map((day) => day * 1_440);
    expect(occurrences).toEqual(
      days.map((minutes) => ({ starts_at: at(minutes), ends_at: at(minutes + 60) })),
    );
  });

  it("nothing that it was not given", async () => {
    const { id, ...rest } = await create({ ends_at: at(60) });
    expect(rest).toEqual({
      reason: "disks",
      mode: "freeze",
      starts_at: at(0),
      ends_at: at(60),
      status: "active",
      occurrences: [{ starts_at: at(0), ends_at: at(60) }],
      created_by: "system",
      created_at: at(0),
      version: 1,
    });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("a change sets or takes away what it names, and nothing else:", () => {
  type Change = Omit<Parameters<Verbs["update"]>[1], "id">;
  const without = (field: keyof typeof shown) =>
    Object.fromEntries(Object.entries(shown).filter(([name]) => name !== field));

  it.each<[string, Change, object]>([
    ["the reason", { reason: "memory" }, { ...shown, reason: "memory" }],
    ["the mode", { mode: "mute" }, { ...shown, mode: "mute" }],
    ["the selector", { selector: "role = db" }, { ...shown, selector: "role=db" }],
    ["no selector", { selector: null }, without("selector")],
    [
      "the beginning",
      { starts_at: "2030-01-02T02:00:00.000+01:00" },
      { ...shown, starts_at: "2030-01-02T01:00:00.000Z" },
    ],
    ["the end", { ends_at: at(20_000) }, { ...shown, ends_at: at(20_000) }],
    ["no end", { ends_at: null }, without("ends_at")],
    [
      "the schedule",
      { schedule: { ...nightly, duration_minutes: 5 } },
      { ...shown, schedule: { ...nightly, duration_minutes: 5 } },
    ],
    ["no schedule", { schedule: null }, without("schedule")],
    ["who manages it", { managed_by: null }, without("managed_by")],
  ])("%s", async (_what, change, expected) => {
    const { id } = await create(full);
    const { status: _s, occurrences: _o, ...answer } = await update({ id, ...change });
    expect(answer).toEqual({ ...expected, id, version: 2 });
    const read = await test.orchestrator.maintenanceWindows.get(systemCaller, { id });
    const { status: _t, occurrences: _p, ...kept } = read;
    expect(kept).toEqual(answer);
  });
});

describe("what is recorded of a window", () => {
  it("that is created, changed and removed is its reason, when it is, and whom it is for", async () => {
    const { id } = await create(full);
    await update({ id, reason: "memory", selector: null, ends_at: null });
    await test.orchestrator.maintenanceWindows.remove(systemCaller, { id });
    const after = { mode: "freeze", selector: null, starts_at: at(180), ends_at: null, schedule: nightly };
    const said = ["created", "updated", "removed"].map((type) => told(type)[0]!);
    expect(said.map(({ summary, target, metadata }) => ({ summary, target, metadata }))).toEqual([
      {
        summary: 'The maintenance window "disks" was created',
        target: { type: "maintenance", id, name: "disks" },
        metadata: { ...after, selector: "role=web", ends_at: at(10_000) },
      },
      {
        summary: 'The maintenance window "memory" was updated',
        target: { type: "maintenance", id, name: "memory" },
        metadata: after,
      },
      {
        summary: 'The maintenance window "memory" was removed',
        target: { type: "maintenance", id, name: "memory" },
        metadata: after,
      },
    ]);
  });

  it("that begins and ends is its reason and whom it is for", async () => {
    const { id } = await create({ selector: "role=web", ends_at: at(60) });
    await waitFor(() => expect(told("started")).toHaveLength(1));
    await test.clock.advance(60 * minuteMs);
    await waitFor(() => expect(told("ended")).toHaveLength(1));
    const target = { type: "maintenance", id, name: "disks" };
    const metadata = { mode: "freeze", selector: "role=web", starts_at: at(0), ends_at: at(60) };
    expect(told("started")[0]).toMatchObject({ summary: "Maintenance began: disks", target });
    expect(told("started")[0]!.metadata).toEqual(metadata);
    expect(told("ended")[0]).toMatchObject({ summary: "Maintenance ended: disks", target });
    expect(told("ended")[0]!.metadata).toEqual(metadata);
  });

  it("whose occurrence was ended early is when, too", async () => {
    const { id } = await create({ schedule: nightly });
    await test.clock.advance(30 * minuteMs);
    await update({ id, end_occurrence: true });
    expect(told("updated")[0]!.metadata).toMatchObject({ occurrence_ended_at: at(30) });
    expect(told("created")[0]!.metadata).not.toHaveProperty("occurrence_ended_at");
  });

  it("that ends between two looks is told at its end, and not with the next look", async () => {
    await create({ ends_at: at(0.75) });
    await waitFor(() => expect(told("started")).toHaveLength(1));
    await test.clock.advance(30_000);
    await test.clock.advance(15_000);
    await waitFor(() => expect(told("ended")).toHaveLength(1));
  });

  it("that somebody overrides is the window of the agents that are frozen, whichever they are", async () => {
    for (const role of ["web", "db"]) {
      await using scene = await createScene(2, (place) => ({ role: place === 0 ? "web" : "db" }));
      const { orchestrator, events, signIn } = scene.test;
      const window = { reason: "disks", mode: "freeze", ends_at: at(60), selector: `role=${role}` } as const;
      const { id } = await orchestrator.maintenanceWindows.create(systemCaller, window);
      const { caller } = await signIn("Admin");
      const run = { selector: "*", command: "uptime", override_window: true, wait_seconds: 0 };
      await orchestrator.runs.start(caller, run);
      const said = events.find(({ event_type }) => event_type === "maintenance.overridden");
      expect(said).toMatchObject({ metadata: { window_id: id, kind: "run", matched: 2 } });
      expect(said!.summary).toMatch(/^.+ was requested in spite of maintenance windows$/);
    }
  });
});

it("windows are listed newest first, in pages, each once", async () => {
  const ids: string[] = [];
  for (let each = 0; each < 5; each += 1) ids.unshift((await create({ ends_at: at(60 + each) })).id);
  const { maintenanceWindows } = test.orchestrator;
  const pages = await pagesOf((page) => maintenanceWindows.list(systemCaller, page), 2);
  expect(pages.map((items) => items.map(({ id }) => id))).toEqual([
    ids.slice(0, 2),
    ids.slice(2, 4),
    ids.slice(4),
  ]);
});

it("whoever names a window that is not there is told which", async () => {
  const id = "0190a6c4-5b1e-7d3a-8f00-000000000000";
  const message = `There is no maintenance window ${id}.`;
  const { maintenanceWindows } = test.orchestrator;
  await expect(maintenanceWindows.get(systemCaller, { id })).rejects.toMatchObject({ message });
  await expect(update({ id, reason: "memory" })).rejects.toMatchObject({ code: "NOT_FOUND", message });
  await expect(maintenanceWindows.remove(systemCaller, { id })).rejects.toMatchObject({ message });
});
