/** What the storage was told to go on without: it stands in the audit log once, whatever becomes of the start that tells it. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { StorageLoss } from "../lib/storage/accepted-losses.ts";
import { MemoryData, MemoryStorage } from "../lib/storage/memory-storage.ts";

/** A storage whose losses are listed until they were told, over all starts on the same data. */
function lossesOf(count: number): { list: () => readonly StorageLoss[]; told: () => Promise<void> } {
  let left = Array.from({ length: count }, (_, at) => ({ file: `f${at}`, offset: at, what: `part ${at}` }));
  return {
    list: () => left,
    told: () => {
      left = [];
      return Promise.resolve();
    },
  };
}

it.each([0, 1, 99, 100, 101])(
  "of %i losses the first start tells, up to a hundred one by one, and no later one",
  async (count) => {
    const data = new MemoryData();
    const losses = lossesOf(count);
    const all = losses.list();
    for (let start = 0; start < 3; start += 1) {
      const storage = Object.assign(new MemoryStorage({ data }), { losses });
      await using test = await createTestOrchestrator({ storage });
      const { items } = await test.orchestrator.audit.list(systemCaller, {
        event_type: "storage.lossAccepted",
      });
      expect(items.map(({ metadata }) => metadata)).toEqual(
        count === 0 ? [] : [{ losses: all.slice(0, 100) }],
      );
    }
    expect(losses.list()).toEqual([]);
  },
);

it("a loss that could not be told is told by the next start", async () => {
  const data = new MemoryData();
  const losses = lossesOf(1);
  const failing = Object.assign(new MemoryStorage({ data }), { losses });
  const commit = failing.commit.bind(failing);
  failing.commit = (writes, options) =>
    JSON.stringify(writes).includes("storage.lossAccepted")
      ? Promise.reject(new Error("The disk is gone."))
      : commit(writes, options);
  await expect(createTestOrchestrator({ storage: failing })).rejects.toThrow("The disk is gone.");
  expect(losses.list()).toHaveLength(1);
  const storage = Object.assign(new MemoryStorage({ data }), { losses });
  await using test = await createTestOrchestrator({ storage });
  const told = await test.orchestrator.audit.list(systemCaller, { event_type: "storage.lossAccepted" });
  expect(told.items).toHaveLength(1);
  expect(losses.list()).toEqual([]);
});
