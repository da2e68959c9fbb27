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
