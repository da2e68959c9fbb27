/** What is told of a machine that flapped when it has settled, and that nothing of it counts when it was let go and is back. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { approved, connect } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";

test("a machine that flapped, was let go with no alarm and came back is told of one by one", async () => {
  await using product = await createTestOrchestrator();
  const { thresholds, agents } = product.orchestrator;
  const limit = { condition: "above", value: 4, for_seconds: 0, recovery_seconds: 0 } as const;
  await thresholds.create(systemCaller, { name: "Busy", metric: "load.1", ...limit });
  let agent = await approved(product, 1);
  const send = async (...values: number[]): Promise<void> => {
    for (const value of values) {
      await product.clock.advance(15_000);
      await sendSample(product, agent, { "load.1": value });
    }
  };
  const told = (): string[] => alarmEvents(product).map(({ event_type }) => event_type);
  for (let crossing = 0; crossing < 31; crossing += 1) await send(5, 1);
  expect(told()).toContain("metric.alarmsFlapped");
  expect(await alarmsNow(product)).toEqual([]);
  for (const status of ["rejected", "approved"] as const) {
    await agents.setStatus(systemCaller, { node_id: agent.nodeId, status });
    await settleAll();
  }
  agent = await connect(product, 1);
  const before = told().length;
  await send(5, 1);
  expect(told().slice(before)).toEqual(["metric.thresholdCrossed", "metric.thresholdRecovered"]);
}, 60_000);

test.each([0, 1, 3])("a machine that settles with %d alarms is told of with these", async (standing) => {
  await using product = await createTestOrchestrator();
  const { thresholds } = product.orchestrator;
  const limit = { condition: "above", value: 4, for_seconds: 0, recovery_seconds: 0 } as const;
  const metrics = ["load.1", "process.count", "memory.used_bytes", "mount.used_bytes"];
  for (const metric of metrics) await thresholds.create(systemCaller, { name: metric, metric, ...limit });
  const agent = await approved(product, 1);
  for (let sample = 0; sample < 40; sample += 1) {
    await product.clock.advance(15_000);
    // At the end so many stay beyond their limits.
    const isBeyond = (at: number): boolean => (sample < 39 ? sample % 2 === 0 : at < standing);
    await sendSample(
      product,
      agent,
      Object.fromEntries(metrics.map((metric, at) => [metric, isBeyond(at) ? 5 : 1])),
    );
  }
  expect(await alarmsNow(product)).toHaveLength(standing);
  for (let minute = 0; minute < 32; minute += 1) {
    await product.clock.advance(60_000);
    await settleAll();
  }
  const settled = alarmEvents(product).at(-1)!;
  expect(settled).toMatchObject({
    event_type: "metric.alarmsSettled",
    metadata: { threshold: null, alarms: standing },
  });
  expect(settled.summary).toContain(`${standing} ${standing === 1 ? "is" : "are"} there now`);
});
