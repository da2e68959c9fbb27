/** What a machine did before it was let go is no part of what it does when it is back. */
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
