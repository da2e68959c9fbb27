/** When a window is, when it ends early, and what is told of it, over the verbs. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller, type MaintenanceWindow } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { maintenanceWindowSchema } from "../../lib/maintenance/schemas.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { waitFor } from "../support/wait-for.ts";

const minuteMs = 60_000;
/** The first instant of the fake clock, plus so many minutes. */
const at = (minutes: number): string => new Date(1_893_456_000_000 + minutes * minuteMs).toISOString();
const nightly = (minutes: number) => ({ cron: "0 0 * * *", time_zone: "UTC", duration_minutes: minutes });

let test: TestOrchestrator;
beforeEach(async () => {
  test = await createTestOrchestrator();
});
afterEach(() => test[Symbol.asyncDispose]());

type Create = Parameters<TestOrchestrator["orchestrator"]["maintenanceWindows"]["create"]>[1];
type Update = Omit<Parameters<TestOrchestrator["orchestrator"]["maintenanceWindows"]["update"]>[1], "id">;

const create = (more: Partial<Create>): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.create(systemCaller, { reason: "disks", mode: "freeze", ...more });
const update = ({ id }: { id: string }, change: Update): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.update(systemCaller, { id, ...change });
const read = ({ id }: { id: string }): Promise<MaintenanceWindow> =>
  test.orchestrator.maintenanceWindows.get(systemCaller, { id });
const told = (of = test): [string, string, string][] =>
  of.events
    .filter(({ event_type }) => event_type === "maintenance.started" || event_type === "maintenance.ended")
    .map(({ event_type, metadata }) => {
      const { starts_at, ends_at } = metadata as { starts_at: string; ends_at: string };
      return [event_type.slice("maintenance.".length), starts_at, ends_at];
    });
const advance = (minutes: number): Promise<void> => test.clock.advance(minutes * minuteMs);

describe("a window is refused", () => {
  it.each<[string, Partial<Create>, string, string]>([
    ["without an end and a schedule", {}, "ends_at", "is needed where there is no schedule"],
    ["that ends as it starts", { starts_at: at(10), ends_at: at(10) }, "ends_at", "must be after starts_at"],
    [
      "that ends before it starts",
      { starts_at: at(10), ends_at: at(9) },
      "ends_at",
      "must be after starts_at",
    ],
    ["that ends now", { starts_at: at(-10), ends_at: at(0) }, "ends_at", "has passed"],
    [
      "whose schedule has no time up to its end",
      { ends_at: at(60), schedule: { cron: "0 5 * * *", time_zone: "UTC", duration_minutes: 5 } },
      "schedule",
      "has no occurrence between starts_at and ends_at",
    ],
    [
      "on a day that there is not",
      { schedule: { cron: "0 0 30 2 *", time_zone: "UTC", duration_minutes: 5 } },
      "schedule",
      "there is no such day",
    ],
  ])("%s", async (_what, more, field, message) => {
    const refused: unknown = await create(more).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "VALIDATION_FAILED" });
    const [issue] = (refused as { issues: { path: string[]; message: string }[] }).issues;
    expect(issue!.path[0]).toBe(field);
    expect(issue!.message).toContain(message);
    expect((await test.orchestrator.maintenanceWindows.list(systemCaller)).items).toEqual([]);
  });
});

describe("a window that goes on", () => {
  it("ends at its end, and not before", async () => {
    const window = await create({ ends_at: at(60) });
    expect(window).toMatchObject({ status: "active", starts_at: at(0) });
    await waitFor(() => expect(told()).toEqual([["started", at(0), at(60)]]));
    await test.clock.advance(60 * minuteMs - 1);
    expect(await read(window)).toMatchObject({ status: "active" });
    await test.clock.advance(1);
    expect(await read(window)).toMatchObject({ status: "ended" });
    await waitFor(() => expect(told()[1]).toEqual(["ended", at(0), at(60)]));
  });

  it.each<[string, Update]>([
    ["an end that has passed", { ends_at: at(-60) }],
    ["an end that is now", { ends_at: at(20) }],
    ["the word for it", { end_occurrence: true }],
  ])("is ended now by %s", async (_what, change) => {
    const window = await create({ ends_at: at(60) });
    await advance(20);
    expect(await update(window, change)).toMatchObject({ status: "ended", ends_at: at(20) });
    await waitFor(() => expect(told()[1]).toEqual(["ended", at(0), at(20)]));
    await expect(update(window, { end_occurrence: true })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
  });

  it.each<[string, Update]>([
    ["cron", { schedule: { ...nightly(60), cron: "5 0 * * *" } }],
    ["time zone", { schedule: { ...nightly(60), time_zone: "Africa/Abidjan" } }],
    ["duration", { schedule: nightly(90) }],
    ["begin", { starts_at: at(-60) }],
  ])("and was ended early is in force again where its %s alone is another", async (_what, change) => {
    const window = await create({ schedule: nightly(60), starts_at: at(-30) });
    await advance(20);
    expect(await update(window, { end_occurrence: true })).not.toMatchObject({ status: "active" });
    expect(await update(window, { reason: "tapes" })).not.toMatchObject({ status: "active" });
    expect(await update(window, change)).toMatchObject({ status: "active" });
  });

  it("is told to have ended within half a minute of a clock that is set past its end", async () => {
    await create({ ends_at: at(60) });
    await waitFor(() => expect(told()).toHaveLength(1));
    test.clock.jump(90 * minuteMs);
    await advance(0.5);
    await waitFor(() => expect(told()[1]).toEqual(["ended", at(0), at(90.5)]));
  });

  it("goes on longer where it is given a later end, as the same occurrence", async () => {
    const window = await create({ ends_at: at(60) });
    await waitFor(() => expect(told()).toHaveLength(1));
    await advance(20);
    await update(window, { ends_at: at(90) });
    await advance(69);
    expect(await read(window)).toMatchObject({ status: "active" });
    await advance(1);
    await waitFor(() => expect(told().slice(1)).toEqual([["ended", at(0), at(90)]]));
  });
});

describe("a window with a schedule", () => {
  it("is told to have ended when its occurrence did, not when it comes no more", async () => {
    await create({ schedule: nightly(60), ends_at: at(10_000) });
    await advance(60);
    await waitFor(() => expect(told()[1]).toEqual(["ended", at(0), at(60)]));
  });

  it("whose occurrence is ended comes again, and is told each time", async () => {
    const window = await create({ schedule: nightly(120) });
    await advance(30);
    const ended = await update(window, { end_occurrence: true });
    expect(ended).toMatchObject({ status: "scheduled" });
    // When it was ended is for nobody but the window itself.
    expect(maintenanceWindowSchema.strict().parse(ended)).toEqual(ended);
    expect(ended.occurrences[0]).toEqual({ starts_at: at(1_440), ends_at: at(1_560) });
    await advance(1_420);
    expect(await read(window)).toMatchObject({ status: "active" });
    await advance(120);
    await waitFor(() =>
      expect(told()).toEqual([
        ["started", at(0), at(120)],
        ["ended", at(0), at(30)],
        ["started", at(1_440), at(1_560)],
        ["ended", at(1_440), at(1_560)],
      ]),
    );
  });

  it("that is given another one goes on by it, also where what went on by the first was ended", async () => {
    const window = await create({ schedule: nightly(120) });
    await advance(30);
    await update(window, { end_occurrence: true });
    const changed = await update(window, { schedule: nightly(180) });
    expect(changed).toMatchObject({ status: "active" });
    expect(changed.occurrences[0]).toEqual({ starts_at: at(0), ends_at: at(180) });
  });

  it("keeps what was ended ended where something else is changed", async () => {
    const window = await create({ schedule: nightly(120) });
    await advance(30);
    await update(window, { end_occurrence: true });
    expect(await update(window, { reason: "other disks" })).toMatchObject({ status: "scheduled" });
  });

  it.each([at(-30), at(-60), new Date(0).toISOString()])(
    "ends now between two occurrences by an end that came before its beginning, %s",
    async (ends_at) => {
      const window = await create({ schedule: nightly(60), starts_at: at(-30) });
      await advance(90);
      expect(await update(window, { ends_at })).toMatchObject({
        status: "ended",
        ends_at: at(90),
        occurrences: [],
      });
    },
  );

  it("that has not begun, or is over, is refused an end before its beginning", async () => {
    const coming = await create({ schedule: nightly(60), starts_at: at(30) });
    const over = await create({ schedule: nightly(60), ends_at: at(60) });
    await advance(20);
    await expect(update(coming, { ends_at: at(10) })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    await advance(60);
    await expect(update(over, { ends_at: at(-10) })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  it.each<[string, Update, string]>([
    ["ends before it starts", { starts_at: at(9_000), ends_at: at(8_000) }, "ends_at"],
    ["does not come up to its end", { schedule: nightly(90), ends_at: at(100) }, "schedule"],
    ["begins later than it ends", { starts_at: at(9_000), schedule: null, ends_at: at(9_500) }, "starts_at"],
  ])("whose occurrence is ended is refused times with which it %s", async (_what, change, field) => {
    const window = await create({ schedule: nightly(60) });
    await advance(20);
    const refused = update(window, { end_occurrence: true, ...change });
    await expect(refused).rejects.toMatchObject({ code: "VALIDATION_FAILED", issues: [{ path: [field] }] });
    expect(await read(window)).toMatchObject({ status: "active", version: window.version });
  });

  it("whose occurrence is ended as it is given another comes again by that", async () => {
    const window = await create({ schedule: nightly(60) });
    await advance(20);
    const changed = await update(window, {
      end_occurrence: true,
      schedule: { ...nightly(90), cron: "0,25 0 * * *" },
    });
    expect(changed).toMatchObject({
      status: "scheduled",
      occurrences: [{ starts_at: at(25), ends_at: at(115) }, {}, {}, {}, {}],
    });
  });

  it("is told to have ended and begun anew where the process was away from one occurrence to the next", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const first = await createTestOrchestrator({ storage: new MemoryStorage({ data }), clock });
    await first.orchestrator.maintenanceWindows.create(systemCaller, {
      reason: "disks",
      mode: "mute",
      schedule: nightly(60),
    });
    await waitFor(() => expect(told(first)).toHaveLength(1));
    await first[Symbol.asyncDispose]();
    await clock.advance(1_450 * minuteMs);
    await using second = await createTestOrchestrator({ storage: new MemoryStorage({ data }), clock });
    await waitFor(() =>
      expect(told(second).map(([kind, starts]) => [kind, starts])).toEqual([
        ["ended", at(0)],
        ["started", at(1_440)],
      ]),
    );
  });
});
