/** What is told of a window where something else happens in the moment in which that is written. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { uuid } from "../support/agent-commands.ts";
import { settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const collection = "maintenance_told";

it.each([
  ["beginning", "put", "maintenance.started"],
  ["end", "delete", "maintenance.ended"],
] as const)(
  "the %s of a window that another process has told is not told again",
  async (_what, kind, type) => {
    const storage = new RacingStorage((writes) =>
      writes.some((write) => write.kind === kind && write.collection === collection),
    );
    await using test = await createTestOrchestrator({ storage });
    const ends_at = new Date(test.clock.now() + 600_000).toISOString();
    // What the other process writes, before this one does.
    storage.before = async () => {
      if (kind === "delete") return storage.commit([{ kind, collection, key: id }]);
      const [window] = (await test.orchestrator.maintenanceWindows.list(systemCaller)).items;
      const value: JsonObject = { id: window!.id, starts_at: window!.starts_at, ends_at };
      return storage.commit([{ kind, collection, key: window!.id, value }]);
    };
    const window = { reason: "disks", mode: "mute", ends_at } as const;
    const { id } = await test.orchestrator.maintenanceWindows.create(systemCaller, window);
    for (let minute = 0; minute < 12; minute += 1) {
      await test.clock.advance(60_000);
      await settleAll();
    }
    expect(storage.before).toBeNull();
    expect(test.events.filter(({ event_type }) => event_type === type)).toEqual([]);
  },
);

it("nothing is kept of what was told of a window that is removed before its end, and its end is not told", async () => {
  await using test = await createTestOrchestrator();
  const { maintenanceWindows } = test.orchestrator;
  const ends_at = new Date(test.clock.now() + 600_000).toISOString();
  const { id } = await maintenanceWindows.create(systemCaller, { reason: "disks", mode: "mute", ends_at });
  await settleAll();
  expect((await test.storage.list(collection)).items).toHaveLength(1);
  await maintenanceWindows.remove(systemCaller, { id });
  await settleAll();
  expect((await test.storage.list(collection)).items).toEqual([]);
  expect(test.events.filter(({ event_type }) => event_type === "maintenance.ended")).toEqual([]);
});

it.each([
  ["beginning", "put", "maintenance.started"],
  ["end", "delete", "maintenance.ended"],
] as const)(
  "the %s of a window that could not be written, for a reason that is not known to pass, is told half a minute later",
  async (_what, kind, type) => {
    const storage = new RacingStorage((writes) =>
      writes.some((write) => write.kind === kind && write.collection === collection),
    );
    await using test = await createTestOrchestrator({ storage });
    const { maintenanceWindows } = test.orchestrator;
    const ends_at = new Date(test.clock.now() + 60_000).toISOString();
    const told = () => test.events.filter(({ event_type }) => event_type === type).length;
    storage.before = () => Promise.reject(new Error("What is that?"));
    await maintenanceWindows.create(systemCaller, { reason: "disks", mode: "mute", ends_at });
    await settleAll();
    if (kind === "delete") await test.clock.advance(60_000);
    await settleAll();
    expect([storage.before, told()]).toEqual([null, 0]);
    await test.clock.advance(30_000);
    await settleAll();
    expect(told()).toBe(1);
    expect(test.loggedErrors.splice(0)).toHaveLength(1);
  },
);

it("a window that another process creates while the beginning of one is written is told at once", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === collection),
  );
  await using test = await createTestOrchestrator({ storage });
  const ends_at = new Date(test.clock.now() + 600_000).toISOString();
  storage.before = async () => {
    const [own] = (await storage.list<JsonObject>("maintenance_windows")).items;
    const [key, reason] = [uuid(1), "switches"];
    const value = { ...own!.value, id: key, reason };
    await storage.commit([{ kind: "put", collection: "maintenance_windows", key, value }]);
    await settleAll();
  };
  const window = { reason: "disks", mode: "mute", ends_at } as const;
  await test.orchestrator.maintenanceWindows.create(systemCaller, window);
  await settleAll();
  const told = test.events.filter(({ event_type }) => event_type === "maintenance.started");
  expect(told.map(({ summary }) => summary)).toEqual([
    "Maintenance began: disks",
    "Maintenance began: switches",
  ]);
});
