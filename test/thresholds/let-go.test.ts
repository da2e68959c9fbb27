/** An agent that a threshold's selector lets go of has no alarm of it any more, whether it is there to send a sample or not. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { newFolders, startApprovedAgent } from "../support/fleet.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { waitFor } from "../support/wait-for.ts";

const alarmsOf = async ({ orchestrator }: TestOrchestrator) =>
  (await orchestrator.thresholds.alarms(systemCaller)).items;

/** An agent whose load is beyond the limit of a threshold for machines with the tag `env=prod`. */
async function begin(product: TestOrchestrator) {
  const { thresholds, agents } = product.orchestrator;
  const machine = new RecordedMachine();
  const { clock } = product;
  const agent = await startApprovedAgent(product, { ...newFolders(), clock, measured: machine });
  const tag = { node_id: agent.nodeId, key: "env" };
  await agents.tags.set(systemCaller, { ...tag, value: "prod" });
  const limit = { name: "Busy", metric: "load.1", condition: "above", value: 4, for_seconds: 0 } as const;
  const { id } = await thresholds.create(systemCaller, { ...limit, selector: "env=prod" });
  await thresholds.create(systemCaller, { ...limit, name: "Everywhere" });
  machine.change("/proc/loadavg", "0.52", "9.00");
  for (let sample = 0; sample < 2; sample += 1) {
    await clock.advance(15_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await waitFor(async () => expect(await alarmsOf(product)).toHaveLength(2));
  return { agent, tag, id };
}

test.each([
  ["that is away", true],
  ["that is there", false],
])("an agent %s whose tag is taken off keeps no alarm but those of others", async (_how, isAway) => {
  await using product = await createTestOrchestrator();
  const { agent, tag, id } = await begin(product);
  await using _ = agent;
  if (isAway) await agent.agent.stop();
  await product.orchestrator.agents.tags.remove(systemCaller, tag);
  await waitFor(async () =>
    expect((await alarmsOf(product)).map(({ threshold }) => threshold)).toEqual(["Everywhere"]),
  );
  const ends = product.events.filter(({ event_type }) => event_type === "metric.thresholdRecovered");
  expect(ends.map(({ metadata }) => metadata)).toEqual([
    expect.objectContaining({ threshold_id: id, reason: "withdrawn" }),
  ]);
});
