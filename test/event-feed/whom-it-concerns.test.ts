/**
 * Events about one agent that tell of others, too.
 *
 * Symptom: whoever watched one agent was not told that it went offline, or came back, where a network went and others with it. Cause:
 * such events have no target, and name their agents in a list that the filter did not look at.
 */
import { expect, it } from "vitest";
import { systemCaller, type OrchestratorEvent } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { concernedAgents } from "../../lib/events.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("a stream of one agent tells that it is offline and back, also where others went with it", async () => {
  await using test = await createTestOrchestrator();
  const agents = [];
  for (let at = 0; at < 3; at += 1) {
    const agent = await connectScriptedAgent(test, undefined, test.clock);
    await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    agents.push(agent);
  }
  const seen: string[] = [];
  const abort = new AbortController();
  const stream = test.orchestrator.events.stream(systemCaller, { node_id: agents[1]!.nodeId }, abort.signal);
  const reading = (async () => {
    for await (const { item } of stream) if (item.type === "event") seen.push(item.event.event_type);
  })();
  await settleAll();
  const pass = async (): Promise<void> => {
    for (let round = 0; round < 12; round += 1) {
      await test.clock.advance(10_000);
      await settleAll();
    }
  };
  for (const agent of agents) await agent.link.stop();
  await pass();
  const back = [];
  for (const { keys } of agents) back.push(await connectScriptedAgent(test, keys, test.clock));
  await pass();
  abort.abort();
  await reading;
  for (const agent of back) await agent.link.stop();
  const [offline] = test.events.filter(({ event_type }) => event_type === "agent.offline");
  expect(offline?.target).toBeUndefined();
  expect(seen.filter((type) => type.startsWith("agent.o"))).toEqual(["agent.offline", "agent.online"]);
});

const subject = (type: string, id: string) => ({ type, id, name: id });

it.each<[string, object, string[]]>([
  ["what it was done to", { target: subject("agent", "a"), metadata: {} }, ["a"]],
  ["what its facts name", { target: subject("operation", "o"), metadata: { node_id: "a" } }, ["a"]],
  ["many", { metadata: { agents: 2, node_ids: ["a", "b"] } }, ["a", "b"]],
  [
    "one that was replaced",
    { target: subject("agent", "a"), metadata: { replaced: { node_id: "b" } } },
    ["a", "b"],
  ],
  ["one that is named twice", { target: subject("agent", "a"), metadata: { node_id: "a" } }, ["a"]],
  ["none", { target: subject("module", "web"), metadata: {} }, []],
  ["none, where it has no target", { metadata: {} }, []],
])("the agents that an event concerns: %s", (_what, event, expected) => {
  expect(concernedAgents(event as OrchestratorEvent)).toEqual(expected);
});
