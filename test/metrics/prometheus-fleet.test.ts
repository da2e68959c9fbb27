/** The newest values of a fleet: of every agent of it, however many there are, and of none whose values are of another time. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { approved } from "../support/leaving-agents.ts";

async function namesIn({ orchestrator }: TestOrchestrator): Promise<string[]> {
  let text = "";
  for await (const piece of await orchestrator.metrics.prometheus(systemCaller)) text += piece;
  return [...text.matchAll(/node_id="(\w+)"/g)].map(([, nodeId]) => nodeId!);
}

// They are read 16 at a time.
it.each([0, 1, 15, 16, 17, 32, 33])("of %i agents each is told of once", async (count) => {
  await using test = await createTestOrchestrator();
  const nodeIds: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const { nodeId } = await approved(test, number);
    await test.storage.series!.append(nodeId, [{ at: test.clock.now(), values: { "load.1": number } }]);
    nodeIds.push(nodeId);
  }
  expect((await namesIn(test)).sort()).toEqual(nodeIds.sort());
});

it.each([
  // Three intervals, but five minutes at least.
  [15, 300],
  [99, 300],
  [101, 303],
  [3_600, 10_800],
])("with a sample each %i s one of %i s ago is told, and none that is older", async (interval, seconds) => {
  await using test = await createTestOrchestrator({ metricsIntervalSeconds: interval });
  const [fresh, old] = [await approved(test, 1), await approved(test, 2)];
  const at = test.clock.now() - seconds * 1_000;
  await test.storage.series!.append(fresh.nodeId, [{ at, values: { "load.1": 1 } }]);
  await test.storage.series!.append(old.nodeId, [{ at: at - 1, values: { "load.1": 1 } }]);
  expect(await namesIn(test)).toEqual([fresh.nodeId]);
});
