/** Terminals that end before their recording has begun. */
import { expect, it, onTestFinished } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { deferred, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

/** A storage in which a recording begins when a test says so. */
class SlowStorage extends MemoryStorage {
  readonly asked = deferred();
  readonly begun = deferred();

  override async openBlob(id: string): ReturnType<MemoryStorage["openBlob"]> {
    this.asked.resolve();
    await this.begun.promise;
    return super.openBlob(id);
  }
}

/** A terminal whose recording is about to begin when its agent goes. */
async function beginning() {
  const storage = new SlowStorage();
  const test = await createTestOrchestrator({ storage });
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { terminals, agents } = test.orchestrator;
  const before = await connectScriptedAgent(test);
  await agents.setStatus(systemCaller, { node_id: before.nodeId, status: "approved" });
  await before.link.stop();
  await settleAll();
  // Past what goes on for some seconds after a start.
  await test.clock.advance(10_000);
  const timers = test.clock.pendingTimers;
  const agent = await connectScriptedAgent(test, before.keys);
  const opening = terminals.open(systemCaller, { node_id: agent.nodeId }).then(
    () => "opened",
    () => "refused",
  );
  const { id, session_id } = await agent.next("terminal.open");
  agent.link.send({ type: "reply", id });
  await storage.asked.promise;
  await agent.link.stop();
  await settleAll();
  const begin = async (): Promise<void> => {
    storage.begun.resolve();
    await opening;
    await settleAll();
  };
  return { test, keys: before.keys, session_id, timers, begin };
}

it("one whose agent goes meanwhile is not opened any more, and nothing waits for it", async () => {
  const { test, session_id, timers, begin } = await beginning();
  await begin();
  const { terminals } = test.orchestrator;
  expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "interrupted" });
  // The lease of a process that holds terminals is let go with its next beat.
  await test.clock.advance(5_000);
  expect(test.clock.pendingTimers).toBe(timers);
});

it("one whose agent goes meanwhile asks nothing of an agent that has come back", async () => {
  const { test, keys, begin } = await beginning();
  await using back = await connectScriptedAgent(test, keys);
  await begin();
  expect(back.commands.filter(({ type }) => type.startsWith("terminal."))).toEqual([]);
});
