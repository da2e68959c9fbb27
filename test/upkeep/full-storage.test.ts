/** That the storage is full is told, and told once. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, pass } from "../support/channel-scene.ts";

it("operators are notified that the storage is full while it is, once until there is space, and again after", async () => {
  const data = new MemoryData();
  await using test = await createNotifying({ storage: new MemoryStorage({ data }) });
  const { notifications } = test.orchestrator;
  const told = async (): Promise<number> =>
    (await notifications.list(systemCaller, {})).items.filter(
      ({ event_type }) => event_type === "storage.full",
    ).length;
  const space = data.freeBytes;
  data.freeBytes = 0;
  for (let round = 0; round < 3; round += 1) {
    await expect(addOperator(test, `op-${round}`)).rejects.toMatchObject({ code: "STORAGE_FULL" });
    await pass(test, 90_000, 5_000);
  }
  expect(await told()).toBe(1);
  data.freeBytes = space;
  await pass(test, 120_000, 5_000);
  await addOperator(test, "ada");
  data.freeBytes = 0;
  await expect(addOperator(test, "grace")).rejects.toMatchObject({ code: "STORAGE_FULL" });
  await pass(test, 10_000);
  expect(await told()).toBe(2);
  data.freeBytes = space;
});
