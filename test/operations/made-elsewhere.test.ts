/** Operations for an agent that one member holds, which the others hear of. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { motd } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { handlesOf } from "../support/two-processes.ts";

/** A handle that reads of operations later than others, so that its member is never the first to begin one. */
function slowHandle(storage: Storage): Storage {
  const get: Storage["get"] = async (collection, key) => {
    if (collection === "operations") for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
    return storage.get(collection, key);
  };
  return new Proxy(storage, {
    get: (target, name) => (name === "get" ? get : (Reflect.get(target, name, target) as unknown)),
  });
}

/** Two members and an agent of the second, which reads operations later than the first. */
async function members() {
  const clock = new FakeClock();
  const handle = handlesOf(new MemoryStorage({ clock }));
  const begin = async (storage: Storage): Promise<TestOrchestrator> => {
    const test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0 });
    onTestFinished(() => test.orchestrator.stop());
    return test;
  };
  const first = await begin(handle());
  const holder = await begin(slowHandle(handle()));
  const agent = await connectScriptedAgent(holder, undefined, clock);
  onTestFinished(() => agent.link.stop());
  const { nodeId: node_id } = agent;
  await holder.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: "a1" });
  await holder.orchestrator.modules.upload(systemCaller, { content: motd });
  const apply = () =>
    holder.orchestrator.operations.apply(systemCaller, { node_id, modules: ["motd"], wait_seconds: 0 });
  const statusOf = async (operation_id: string) =>
    (await first.orchestrator.operations.get(systemCaller, { operation_id })).status;
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 10) {
      await clock.advance(10_000);
      await settleAll();
    }
  };
  return { clock, first, holder, agent, node_id, apply, statusOf, pass };
}

it("are begun by the member that holds the agent, and ended by no other as if it were away", async () => {
  const { agent, apply, statusOf } = await members();
  const { operation_id } = await apply();
  await settleAll();
  expect(await statusOf(operation_id)).toBe("running");
  agent.link.send(emptyResult((await agent.next("apply")).operation_id));
  await agent.next("ack");
  expect(await statusOf(operation_id)).toBe("succeeded");
});

it("wait behind a long one of their agent for as long as that runs", async () => {
  const { agent, apply, statusOf, pass } = await members();
  const [long, next] = [await apply(), await apply()];
  await pass(200);
  expect([await statusOf(long.operation_id), await statusOf(next.operation_id)]).toEqual([
    "running",
    "queued",
  ]);
  agent.link.send(emptyResult((await agent.next("apply")).operation_id));
  await agent.next("ack");
  await settleAll();
  expect(await statusOf(next.operation_id)).toBe("running");
});

it("of a member that was lost before it began them end as of an agent that is away", async () => {
  const { first, holder, apply, statusOf, agent, pass } = await members();
  const lost = await apply();
  const next = await apply();
  await settleAll();
  await agent.link.stop();
  await holder.orchestrator.stop();
  await pass(330);
  expect(await statusOf(lost.operation_id)).toBe("unknown");
  await pass(180);
  expect(
    await first.orchestrator.operations.get(systemCaller, { operation_id: next.operation_id }),
  ).toMatchObject({
    status: "failed",
    error: { code: "AGENT_OFFLINE" },
  });
});
