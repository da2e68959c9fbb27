import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemCaller, type OrchestratorEvent } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { newFolders, startAgent, startApprovedAgent } from "../support/fleet.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

type Changed = Extract<OrchestratorEvent, { event_type: "agent.attributesChanged" }>;

const changesIn = ({ events }: TestOrchestrator): Changed["metadata"][] =>
  events
    .filter((event): event is Changed => event.event_type === "agent.attributesChanged")
    .map(({ metadata }) => metadata);

/** An agent that says what the test has it say. */
async function begin(test: TestOrchestrator) {
  const agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const tell = async (attributes: Record<string, string | number | boolean>): Promise<void> => {
    await test.clock.advance(10_000);
    const collected_at = new Date(test.clock.now()).toISOString();
    agent.link.send({ type: "attributes", attributes, collected_at });
    await waitFor(async () =>
      expect(await test.orchestrator.agents.attributes(systemCaller, { node_id })).toMatchObject({
        collected_at,
      }),
    );
  };
  return { agent, node_id, tell };
}

it("an event tells what an agent says otherwise than before, and nothing else", async () => {
  await using test = await createTestOrchestrator();
  const { agent, node_id, tell } = await begin(test);
  await using _ = agent;
  await tell({ "os.family": "debian", "cpu.count": 4, "custom.old": true });
  expect(changesIn(test)).toEqual([]);
  await tell({ "os.family": "debian", "cpu.count": 8, "custom.new": "x" });
  await tell({ "os.family": "debian", "cpu.count": 8, "custom.new": "x" });
  expect(changesIn(test)).toEqual([
    {
      changes: [
        { name: "cpu.count", before: 4, after: 8 },
        { name: "custom.new", before: null, after: "x" },
        { name: "custom.old", before: true, after: null },
      ],
    },
  ]);
  const event = test.events.find(({ event_type }) => event_type === "agent.attributesChanged");
  expect(event).toMatchObject({ target: { type: "agent", id: node_id }, actor: { type: "system" } });
});

it("an attribute that is named like something every object has comes and goes like any other", async () => {
  await using test = await createTestOrchestrator();
  const { agent, tell } = await begin(test);
  await using _ = agent;
  await tell({ a: 1 });
  await tell({ a: 1, constructor: "x", toString: true });
  await tell({ a: 1 });
  expect(changesIn(test)).toEqual([
    {
      changes: [
        { name: "constructor", before: null, after: "x" },
        { name: "toString", before: null, after: true },
      ],
    },
    {
      changes: [
        { name: "constructor", before: "x", after: null },
        { name: "toString", before: true, after: null },
      ],
    },
  ]);
});

it("however much changes, the event of it is bounded", async () => {
  await using test = await createTestOrchestrator();
  const { agent, tell } = await begin(test);
  await using _ = agent;
  const many = (text: string) =>
    Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`custom.k${n}`, text.repeat(1_000)]));
  await tell(many("a"));
  await tell(many("b"));
  const [metadata] = changesIn(test);
  expect(metadata).toMatchObject({ unrecorded: 10 });
  expect(metadata?.changes).toHaveLength(50);
  expect(metadata?.changes[0]).toEqual({
    name: "custom.k0",
    before: "a".repeat(200),
    after: "b".repeat(200),
  });
});

it("what is told again after an hour is written, and is no change", async () => {
  await using test = await createTestOrchestrator();
  const { agent, tell } = await begin(test);
  await tell({ "os.family": "debian" });
  // It is gone before it comes again: two that live with one key would be a clone.
  await agent.link.stop();
  await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(false));
  for (let minute = 0; minute < 61; minute++) await test.clock.advance(60_000);
  await using again = await connectScriptedAgent(test, agent.keys);
  const collected_at = new Date(test.clock.now()).toISOString();
  again.link.send({ type: "attributes", attributes: { "os.family": "debian" }, collected_at });
  await waitFor(async () =>
    expect(await test.orchestrator.agents.attributes(systemCaller, { node_id: agent.nodeId })).toMatchObject({
      collected_at,
    }),
  );
  expect(changesIn(test)).toEqual([]);
});

it("a refresh answers with what the machine is now, the programs of its owner included", async () => {
  await using test = await createTestOrchestrator();
  const folders = newFolders();
  await using agent = await startApprovedAgent(test, folders);
  const { nodeId: node_id } = agent;
  const folder = join(folders.stateDir, "attributes.d");
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, "rack.json"), '{"rack":{"row":4}}');
  const program = join(folder, "disks");
  writeFileSync(program, "#!/bin/sh\necho '{\"disks\": 3}'\n");
  chmodSync(program, 0o755);
  const told = await test.orchestrator.agents.refreshAttributes(systemCaller, { node_id });
  expect(told).toMatchObject({ node_id, attributes: { "custom.rack.row": 4, "custom.disks": 3 } });
  expect(await test.orchestrator.agents.attributes(systemCaller, { node_id })).toEqual(told);
  writeFileSync(program, "#!/bin/sh\nexit 1\n");
  const { attributes } = await test.orchestrator.agents.refreshAttributes(systemCaller, { node_id });
  expect(Object.keys(attributes).filter((name) => name.startsWith("custom."))).toEqual(["custom.rack.row"]);
});

it("a refresh of an agent that is not there, not approved, not known or silent is refused", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  const refresh = (node_id: string) => agents.refreshAttributes(systemCaller, { node_id, wait_seconds: 5 });
  await expect(refresh("0".repeat(32))).rejects.toMatchObject({ code: "NOT_FOUND" });
  await using silent = await connectScriptedAgent(test, undefined, test.clock);
  const { nodeId: node_id } = silent;
  await expect(refresh(node_id)).rejects.toMatchObject({ code: "AGENT_NOT_APPROVED" });
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const refused = refresh(node_id).catch((error: unknown) => error);
  await test.clock.advance(5_000);
  expect(await refused).toMatchObject({ code: "AGENT_TIMEOUT" });
  await test.transport.disconnect(node_id, "gone");
  await waitFor(() => expect(test.transport.isConnected(node_id)).toBe(false));
  await expect(refresh(node_id)).rejects.toMatchObject({ code: "AGENT_OFFLINE" });
});

it.each([
  ["at once where those who wait were let go before", "before"],
  ["at once where they are let go meanwhile", "meanwhile"],
  ["with its time", "never"],
])("a refresh that nobody answers ends %s, and leaves nothing", async (_when, isLetGo) => {
  await using test = await createTestOrchestrator();
  await using silent = await connectScriptedAgent(test, undefined, test.clock);
  const { nodeId: node_id } = silent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const timers = test.clock.pendingTimers;
  const [added, removed] = (["addEventListener", "removeEventListener"] as const).map((name) => {
    const spy = vi.spyOn(EventTarget.prototype, name);
    onTestFinished(() => spy.mockRestore());
    return () => spy.mock.calls.flatMap(([type, listener]) => (type === "abort" ? [listener] : []));
  });
  if (isLetGo === "before") test.orchestrator.letGo();
  const refused = test.orchestrator.agents
    .refreshAttributes(systemCaller, { node_id, wait_seconds: 5 })
    .catch((error: unknown) => error);
  await settleAll();
  if (isLetGo === "meanwhile") test.orchestrator.letGo();
  if (isLetGo === "never") await test.clock.advance(5_000);
  expect(await refused).toMatchObject({ code: "AGENT_TIMEOUT" });
  expect(added!().length).toBeGreaterThan(0);
  expect(removed!()).toEqual(expect.arrayContaining(added!()));
  expect(test.clock.pendingTimers).toBeLessThanOrEqual(timers);
});

it("what the owner of a machine changes is told within a minute, and what stays is not told again", async () => {
  await using test = await createTestOrchestrator();
  const folders = newFolders();
  const folder = join(folders.stateDir, "attributes.d");
  await using agent = await startAgent(test, { ...folders, clock: test.clock });
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const read = () => test.orchestrator.agents.attributes(systemCaller, { node_id });
  await waitFor(async () => expect((await read()).collected_at).not.toBeNull());
  const { collected_at } = await read();
  for (let minute = 0; minute < 3; minute++) await test.clock.advance(60_000);
  expect((await read()).collected_at).toBe(collected_at);
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, "rack.json"), '{"rack":"r1"}');
  await test.clock.advance(60_000);
  await waitFor(async () => expect((await read()).attributes).toMatchObject({ "custom.rack": "r1" }));
  expect(changesIn(test)).toEqual([{ changes: [{ name: "custom.rack", before: null, after: "r1" }] }]);
});
