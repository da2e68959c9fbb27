import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

it("a maintenance window is read by its id and found in the list, until it is removed", async () => {
  await using test = await createTestOrchestrator();
  const { maintenanceWindows } = test.orchestrator;
  const ends_at = new Date(test.clock.now() + 3_600_000).toISOString();
  const created = await maintenanceWindows.create(systemCaller, {
    reason: "New disks",
    mode: "mute",
    ends_at,
  });
  const { id } = created;
  expect(await maintenanceWindows.get(systemCaller, { id })).toEqual(created);
  expect((await maintenanceWindows.list(systemCaller)).items).toEqual([created]);
  await maintenanceWindows.remove(systemCaller, { id });
  await expect(maintenanceWindows.get(systemCaller, { id })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await maintenanceWindows.list(systemCaller)).items).toEqual([]);
});

it("times are kept and shown in UTC, in whichever zone they were given", async () => {
  await using test = await createTestOrchestrator();
  const { maintenanceWindows } = test.orchestrator;
  const nowMs = test.clock.now();
  /** The same instant as clocks two hours east show it. */
  const east = (ms: number): string =>
    `${new Date(ms + 7_200_000).toISOString().slice(0, "2026-01-01T00:00:00.000".length)}+02:00`;
  const utc = (ms: number): string => new Date(ms).toISOString();
  const hours = (from: number, to: number) => [nowMs + from * 3_600_000, nowMs + to * 3_600_000] as const;
  const [first, firstEnd] = hours(1, 2);
  const created = await maintenanceWindows.create(systemCaller, {
    reason: "New disks",
    mode: "freeze",
    starts_at: east(first),
    ends_at: east(firstEnd),
  });
  expect(created).toMatchObject({ starts_at: utc(first), ends_at: utc(firstEnd) });
  const { id } = created;
  const [second, secondEnd] = hours(3, 4);
  const given = { id, starts_at: east(second), ends_at: east(secondEnd) };
  const changed = await maintenanceWindows.update(systemCaller, given);
  expect(changed).toMatchObject({ starts_at: utc(second), ends_at: utc(secondEnd) });
  const told = test.events.flatMap((event) =>
    event.event_type === "maintenance.created" || event.event_type === "maintenance.updated"
      ? [[event.metadata.starts_at, event.metadata.ends_at]]
      : [],
  );
  expect(told).toEqual([
    [utc(first), utc(firstEnd)],
    [utc(second), utc(secondEnd)],
  ]);
  await test.clock.advance(3 * 3_600_000);
  expect(await maintenanceWindows.get(systemCaller, { id })).toMatchObject({ status: "active" });
});

it("an end that is so long from now is by the clock of the server, for a new window and one that is changed", async () => {
  await using test = await createTestOrchestrator();
  const { maintenanceWindows } = test.orchestrator;
  const later = (seconds: number): string => new Date(test.clock.now() + seconds * 1_000).toISOString();
  const window = { reason: "New disks", mode: "freeze" } as const;
  const created = await maintenanceWindows.create(systemCaller, { ...window, ends_in_seconds: 7_200 });
  expect(created).toMatchObject({ status: "active", ends_at: later(7_200) });
  await test.clock.advance(60_000);
  const { id } = created;
  const changed = await maintenanceWindows.update(systemCaller, { id, ends_in_seconds: 60 });
  expect(changed).toMatchObject({ starts_at: created.starts_at, ends_at: later(60) });
});

it("an end is given in one way: as an instant, or as so long from now", async () => {
  await using test = await createTestOrchestrator();
  const { maintenanceWindows } = test.orchestrator;
  const window = { reason: "New disks", mode: "freeze" } as const;
  const { id } = await maintenanceWindows.create(systemCaller, { ...window, ends_in_seconds: 60 });
  const refused = { code: "VALIDATION_FAILED", issues: [{ path: ["ends_in_seconds"] }] };
  const both = { ends_at: "2999-01-01T00:00:00Z", ends_in_seconds: 60 };
  await expect(maintenanceWindows.create(systemCaller, { ...window, ...both })).rejects.toMatchObject(
    refused,
  );
  for (const each of [both, { ...both, ends_at: null }])
    await expect(maintenanceWindows.update(systemCaller, { id, ...each })).rejects.toMatchObject(refused);
});
