/** Who is away, where several processes are one orchestrator: who is connected to one of them is away from the others, and not offline. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.ts";
import { handlesOf } from "../support/two-processes.ts";

class SharedMemoryStorage extends MemoryStorage {
  override readonly capabilities = { durable: false, shared: true };
}

type Keys = Parameters<typeof connectScriptedAgent>[1];

/** Begins processes on one storage, and agents of theirs. */
function members() {
  const clock = new FakeClock();
  const handle = handlesOf(new SharedMemoryStorage({ clock }));
  const begin = async (over: (storage: Storage) => Storage = (storage) => storage) => {
    const test = await createTestOrchestrator({ clock, storage: over(handle()), driftIntervalSeconds: 0 });
    onTestFinished(() => test.orchestrator.stop());
    return test;
  };
  const connect = async (test: TestOrchestrator, keys?: Keys) => {
    const agent = await connectScriptedAgent(test, keys, clock);
    onTestFinished(() => agent.link.stop());
    return agent;
  };
  const approve = ({ orchestrator }: TestOrchestrator, { nodeId: node_id }: ScriptedAgent, name = "one") =>
    orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name });
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 5) {
      await clock.advance(5_000);
      await settleAll();
    }
  };
  return { begin, connect, approve, pass };
}

const told = ({ events }: TestOrchestrator): string[] =>
  events.map(({ event_type }) => event_type).filter((type) => /^agent\.(offline|online)$/.test(type));

it("an agent that stays at one process is told offline by no other, nor by one that starts later", async () => {
  const { begin, connect, approve, pass } = members();
  const [first, second] = [await begin(), await begin()];
  await approve(second, await connect(first));
  await pass(300);
  const third = await begin();
  await pass(300);
  expect([told(first), told(third)]).toEqual([[], []]);
  expect(await third.storage.count("sought_agents")).toBe(0);
});

it("an agent that goes from one process to another is told offline where it has gone for good, once", async () => {
  const { begin, connect, approve, pass } = members();
  const [first, second] = [await begin(), await begin()];
  const before = await connect(first);
  await approve(first, before);
  await before.link.stop();
  const after = await connect(second, before.keys);
  await pass(300);
  expect(told(first)).toEqual([]);
  await after.link.stop();
  await pass(55);
  expect(told(first)).toEqual([]);
  await pass(300);
  expect(told(first)).toEqual(["agent.offline"]);
  await connect(first, before.keys);
  await pass(30);
  expect(told(first)).toEqual(["agent.offline", "agent.online"]);
  expect(await first.storage.count("sought_agents")).toBe(0);
});

it("an agent of a process that could not say so in time is told back online by it", async () => {
  const { begin, connect, approve, pass } = members();
  let isHeldUp = true;
  const heldUp = (storage: Storage): Storage => {
    const commit: Storage["commit"] = (writes, options) => {
      const isAnswer = writes.some(
        (write) => write.kind === "delete" && write.collection === "sought_agents",
      );
      if (isHeldUp && isAnswer) return Promise.reject(new OrchestratorError("STORAGE_FULL"));
      return storage.commit(writes, options);
    };
    return new Proxy(storage, {
      get: (target, name) => (name === "commit" ? commit : (Reflect.get(target, name, target) as unknown)),
    });
  };
  const [first, second] = [await begin(), await begin(heldUp)];
  await approve(second, await connect(second));
  await pass(60);
  expect(told(first)).toEqual([]);
  await pass(15);
  expect(told(first)).toEqual(["agent.offline"]);
  isHeldUp = false;
  await pass(300);
  expect(told(first)).toEqual(["agent.offline", "agent.online"]);
});

it("an agent that is removed while others are asked for it leaves nothing", async () => {
  const { begin, connect, approve, pass } = members();
  const [first] = [await begin(), await begin()];
  const agent = await connect(first);
  await approve(first, agent);
  await agent.link.stop();
  await pass(65);
  expect(await first.storage.count("sought_agents")).toBe(1);
  const { nodeId: node_id } = agent;
  await first.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await first.orchestrator.agents.remove(systemCaller, { node_id });
  await pass(60);
  expect([told(first), await first.storage.count("sought_agents")]).toEqual([[], 0]);
});

it("a process that starts asks for the agents of another in one commit, and is answered in one", async () => {
  const { begin, connect, approve, pass } = members();
  const commits: number[] = [];
  const counting = (storage: Storage): Storage => {
    const commit: Storage["commit"] = (writes, options) => {
      const about = writes.filter((write) => "collection" in write && write.collection === "sought_agents");
      if (about.length > 0) commits.push(about.length);
      return storage.commit(writes, options);
    };
    return new Proxy(storage, {
      get: (target, name) => (name === "commit" ? commit : (Reflect.get(target, name, target) as unknown)),
    });
  };
  const first = await begin(counting);
  for (const name of ["one", "two", "three"]) await approve(first, await connect(first), name);
  const second = await begin(counting);
  await pass(300);
  expect([commits, told(second)]).toEqual([[3, 3], []]);
});

it("a question that a process left when it was killed ends when its agent is back", async () => {
  const { begin, connect, approve, pass } = members();
  const first = await begin();
  const agent = await connect(first);
  await approve(first, agent);
  const value = { node_id: agent.nodeId };
  await first.storage.commit([{ kind: "put", collection: "sought_agents", key: agent.nodeId, value }]);
  await pass(5);
  expect(await first.storage.count("sought_agents")).toBe(0);
  await agent.link.stop();
  await first.storage.commit([{ kind: "put", collection: "sought_agents", key: agent.nodeId, value }]);
  const second = await begin();
  await connect(second, agent.keys);
  await pass(5);
  expect([told(second), await second.storage.count("sought_agents")]).toEqual([[], 0]);
});
