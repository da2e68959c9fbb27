import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";

it("the status is degraded while nothing can be written, and says why to those who signed in", async () => {
  const data = new MemoryData();
  await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  const { status } = test.orchestrator;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
  data.freeBytes = 0;
  expect(await status.get({ kind: "anonymous" })).toMatchObject({ status: "degraded" });
  expect(await status.get(systemCaller)).toMatchObject({
    checks: [{ name: "storage", status: "failed", detail: expect.stringContaining("STORAGE_FULL") }],
  });
  data.freeBytes = Infinity;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
});
