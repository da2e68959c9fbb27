/** What is told of a window where another process tells it in the same moment. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
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
