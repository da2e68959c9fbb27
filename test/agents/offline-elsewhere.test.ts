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
  return { clock, begin, connect, approve, pass };
}

type Commit = Storage["commit"];
type Writes = Parameters<Commit>[0];

/** A storage whose commits something else makes, or does something before. */
function committing(make: (commit: Commit, ...args: Parameters<Commit>) => ReturnType<Commit>) {
  return (storage: Storage): Storage => {
    const commit: Commit = (...args) => make(storage.commit.bind(storage), ...args);
    return new Proxy(storage, {
      get: (target, name) => (name === "commit" ? commit : (Reflect.get(target, name, target) as unknown)),
    });
  };
}

const about = (writes: Writes, kind: "put" | "delete", collection: string): Writes =>
  writes.filter((write) => write.kind === kind && write.collection === collection);

/** A storage that has something happen before the next commit that puts into a collection. */
function before(collection: string) {
  let happen: (() => Promise<void>) | null = null;
  const over = committing(async (commit, writes, options) => {
    const next = about(writes, "put", collection).length > 0 ? happen : null;
    if (next) happen = null;
    await next?.();
    return commit(writes, options);
  });
  return { over, once: (act: () => Promise<void>) => void (happen = act) };
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
  const heldUp = committing((commit, writes, options) => {
    const isAnswer = about(writes, "delete", "sought_agents").length > 0;
    return isHeldUp && isAnswer
      ? Promise.reject(new OrchestratorError("STORAGE_FULL"))
      : commit(writes, options);
  });
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

it("a question that could not be written is asked again, and nobody is told before it was", async () => {
  const { begin, connect, approve, pass } = members();
  let [failed, asked] = [0, 0];
  const failing = committing((commit, writes, options) => {
    if (about(writes, "put", "sought_agents").length === 0) return commit(writes, options);
    if (failed === 2) {
      asked += 1;
      return commit(writes, options);
    }
    failed += 1;
    return Promise.reject(new OrchestratorError(failed === 1 ? "UNAVAILABLE" : "STORAGE_FULL"));
  });
  const [first, second] = [await begin(failing), await begin()];
  await approve(second, await connect(second));
  await pass(300);
  expect([failed, asked, told(first)]).toEqual([2, 1, []]);
  expect(await first.storage.count("sought_agents")).toBe(0);
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
  const counting = committing((commit, writes, options) => {
    const some = writes.filter((write) => "collection" in write && write.collection === "sought_agents");
    if (some.length > 0) commits.push(some.length);
    return commit(writes, options);
  });
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

it("an answer that could not be written in time takes no later question away", async () => {
  const { begin, connect, approve, pass } = members();
  let isOut = true;
  let failed = 0;
  const first = await begin(
    committing((commit, writes, options) => {
      const isAnswer = about(writes, "delete", "sought_agents").length === writes.length;
      if (!isOut || !isAnswer || writes.length === 0) return commit(writes, options);
      failed += 1;
      return Promise.reject(new OrchestratorError("UNAVAILABLE"));
    }),
  );
  const agent = await connect(first);
  await approve(first, agent);
  await agent.link.stop();
  const value = { node_id: agent.nodeId };
  await first.storage.commit([{ kind: "put", collection: "sought_agents", key: agent.nodeId, value }]);
  const again = await connect(first, agent.keys);
  await settleAll();
  await again.link.stop();
  // What is tried again without end would be tried while the next question is open.
  await pass(60);
  expect([failed > 0, await first.storage.count("sought_agents")]).toEqual([true, 1]);
  isOut = false;
  await pass(200);
  expect(told(first)).toEqual(["agent.offline"]);
});

it("an agent that another process has by then is not told offline, though that was about to be written", async () => {
  const { begin, connect, approve, pass } = members();
  const telling = before("offline_agents");
  const first = await begin(telling.over);
  const second = await begin();
  const agent = await connect(first);
  await approve(first, agent);
  // The second has asked for it, and has been answered.
  await pass(200);
  await agent.link.stop();
  await pass(60);
  let questions: number | null = null;
  telling.once(async () => {
    await connect(second, agent.keys);
    await settleAll();
    questions = await first.storage.count("sought_agents");
  });
  await pass(200);
  expect([questions, told(first)]).toEqual([0, []]);
});

it("an agent that comes and goes while others are asked for it has its time anew", async () => {
  const { begin, connect, approve, pass } = members();
  const asking = before("sought_agents");
  const first = await begin(asking.over);
  const agent = await connect(first);
  await approve(first, agent);
  await agent.link.stop();
  let cameAt = 0;
  asking.once(async () => {
    const again = await connect(first, agent.keys);
    await again.link.stop();
    await settleAll();
    cameAt += 1;
  });
  await pass(65);
  expect([cameAt, told(first)]).toEqual([1, []]);
  await pass(50);
  expect(told(first)).toEqual([]);
  await pass(30);
  expect(told(first)).toEqual(["agent.offline"]);
});

it("an agent that comes and goes while it is told is told as it is at last", async () => {
  const { begin, connect, approve, pass } = members();
  const telling = before("offline_agents");
  const first = await begin(telling.over);
  const agent = await connect(first);
  await approve(first, agent);
  await agent.link.stop();
  let cameAt = 0;
  telling.once(async () => {
    const again = await connect(first, agent.keys);
    await settleAll();
    await again.link.stop();
    cameAt += 1;
  });
  await pass(400);
  expect([cameAt, told(first).at(-1)]).toEqual([1, "agent.offline"]);
  await connect(first, agent.keys);
  await pass(60);
  expect(told(first).at(-1)).toBe("agent.online");
  expect(await first.storage.count("sought_agents")).toBe(0);
});

it("one that is gone is told ten seconds late, however many are connected to other processes", async () => {
  const { begin, connect, approve, pass } = members();
  const other = await begin();
  const gone = await connect(other);
  await approve(other, gone, "gone");
  await gone.link.stop();
  const { value } = (await other.storage.get("agents", gone.nodeId))!;
  const size = 5_500;
  await other.storage.commit(
    Array.from({ length: size }, (_, n) => {
      const node_id = `f${String(n).padStart(gone.nodeId.length - 1, "0")}`;
      const agent = { ...value, node_id, name: `n${n}`, public_key: node_id };
      return { kind: "put", collection: "agents", key: node_id, value: agent } as const;
    }),
  );
  const asked: number[] = [];
  // As other processes do that have all but one of them.
  const first = await begin(
    committing(async (commit, writes, options) => {
      const questions = about(writes, "put", "sought_agents");
      const committed = await commit(writes, options);
      if (questions.length === 0) return committed;
      asked.push(questions.length);
      const answers = questions.flatMap((write) =>
        write.kind === "put" && write.key !== gone.nodeId
          ? [{ kind: "delete", collection: "sought_agents", key: write.key } as const]
          : [],
      );
      await commit(answers);
      return committed;
    }),
  );
  await other.orchestrator.stop();
  await pass(95);
  expect([asked, told(first)]).toEqual([[5_000, 501], []]);
  await pass(10);
  expect(told(first)).toEqual(["agent.offline"]);
});

it("an agent that comes and goes while it is looked at whom to tell has its time anew, in one process too", async () => {
  const { clock, connect, approve, pass } = members();
  let happen: (() => Promise<void>) | null = null;
  const storage = new MemoryStorage({ clock });
  const getMany = storage.getMany.bind(storage);
  storage.getMany = async (collection, keys) => {
    const next = collection === "agents" ? happen : null;
    if (next) happen = null;
    await next?.();
    return getMany(collection, keys);
  };
  const only = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
  onTestFinished(() => only.orchestrator.stop());
  const agent = await connect(only);
  await approve(only, agent);
  await agent.link.stop();
  let cameAt = 0;
  await pass(55);
  happen = async () => {
    const again = await connect(only, agent.keys);
    await again.link.stop();
    await settleAll();
    cameAt += 1;
  };
  await pass(50);
  expect([cameAt, told(only)]).toEqual([1, []]);
  await pass(20);
  expect(told(only)).toEqual(["agent.offline"]);
});
