/** Since when an agent is connected, as callers see it. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("an agent tells since when it has its connection, another after each, and nothing where it has none", async () => {
  const clock = new FakeClock();
  await using test = await createTestOrchestrator({ clock });
  const first = await connectScriptedAgent(test, undefined, clock);
  const { nodeId: node_id, keys } = first;
  const { agents } = test.orchestrator;
  const read = async () => {
    const agent = await agents.get(systemCaller, { node_id });
    const { items } = await agents.list(systemCaller);
    expect(items.map(({ connected_since }) => connected_since)).toEqual([agent.connected_since]);
    return { connected: agent.connected, since: agent.connected_since };
  };
  const began = new Date(clock.now()).toISOString();
  expect(await read()).toEqual({ connected: true, since: began });
  await clock.advance(10_000);
  expect(await read()).toEqual({ connected: true, since: began });
  await first.link.stop();
  await expect.poll(read).toEqual({ connected: false, since: undefined });
  await clock.advance(10_000);
  await using _ = await connectScriptedAgent(test, keys, clock);
  expect(await read()).toEqual({ connected: true, since: new Date(clock.now()).toISOString() });
});
