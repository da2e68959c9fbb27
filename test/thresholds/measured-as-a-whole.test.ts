/** An alarm on one series of a metric that is measured as a whole from some time on. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { approved } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";

const queue = "custom.queue_length";
const mail = `${queue}{name=mail}`;

async function send(
  product: TestOrchestrator,
  agent: TestAgent,
  { values, times }: { values: Record<string, number>; times: number },
): Promise<void> {
  for (let each = 0; each < times; each += 1) {
    await product.clock.advance(15_000);
    await sendSample(product, agent, values);
  }
}

async function alarmed(product: TestOrchestrator): Promise<TestAgent> {
  await product.orchestrator.thresholds.create(systemCaller, {
    name: "Stuck",
    metric: queue,
    condition: "above",
    value: 100,
    for_seconds: 30,
  });
  const agent = await approved(product, 1);
  await send(product, agent, { values: { [mail]: 500 }, times: 3 });
  expect(await alarmsNow(product)).toMatchObject([{ series: mail }]);
  return agent;
}

const told = (product: TestOrchestrator): unknown[] =>
  alarmEvents(product).map(({ event_type, metadata }) => ({ event_type, ...metadata }));

test("is not watched any more after five minutes, and the whole is compared by itself meanwhile", async () => {
  await using product = await createTestOrchestrator();
  const agent = await alarmed(product);
  await send(product, agent, { values: { [mail]: 500, [queue]: 700 }, times: 3 });
  expect((await alarmsNow(product)).map(({ series }) => series).toSorted()).toEqual([queue, mail]);
  await send(product, agent, { values: { [mail]: 500, [queue]: 700 }, times: 18 });
  expect((await alarmsNow(product)).map(({ series }) => series)).toEqual([queue]);
  expect(told(product).slice(1)).toMatchObject([
    { event_type: "metric.thresholdCrossed", series: queue, value: 700 },
    { event_type: "metric.thresholdRecovered", series: mail, value: null, reason: "withdrawn" },
  ]);
  expect(alarmEvents(product).at(-1)?.summary).toBe(`Stuck: ${mail} of machine-1 is not watched any more`);
});

test("goes on where the whole was there for some samples alone", async () => {
  await using product = await createTestOrchestrator();
  const agent = await alarmed(product);
  await send(product, agent, { values: { [mail]: 500, [queue]: 7 }, times: 19 });
  await send(product, agent, { values: { [mail]: 500 }, times: 19 });
  expect(await alarmsNow(product)).toMatchObject([{ series: mail }]);
  await send(product, agent, { values: { [mail]: 5 }, times: 5 });
  expect(told(product).slice(1)).toMatchObject([{ series: mail, value: 5, reason: "recovered" }]);
});

test("is not measured any more where its series is gone as well", async () => {
  await using product = await createTestOrchestrator();
  const agent = await alarmed(product);
  await send(product, agent, { values: { [queue]: 7 }, times: 21 });
  expect(told(product).slice(1)).toMatchObject([{ series: mail, reason: "not_measured" }]);
});
