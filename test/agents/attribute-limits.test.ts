/** How much of what an agent tells of itself is kept, and that the newest is, whatever the disk said to it. */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

async function begin(test: TestOrchestrator, clock = test.clock) {
  const agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const say = async (attributes: Record<string, string>): Promise<string> => {
    await clock.advance(1);
    const collected_at = new Date(clock.now()).toISOString();
    agent.link.send({ type: "attributes", attributes, collected_at });
    await settleAll();
    return collected_at;
  };
  const stored = () => test.orchestrator.agents.attributes(systemCaller, { node_id });
  return { agent, say, stored };
}

const named = (count: number, value: string): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${String(at).padStart(5, "0")}`, value]));
const filling = (bytes: number, filler: string): string =>
  filler.repeat((bytes - 6) / Buffer.byteLength(filler));

it.each([
  ["500 attributes", named(500, "x"), 500],
  ["501 attributes", named(501, "x"), 500],
  ["64 KiB", named(64, filling(1024, "x")), 64],
  ["a byte more", { ...named(63, filling(1024, "x")), b: `${filling(1024, "x")}${"x".repeat(6)}` }, 63],
  ["64 KiB in letters of two bytes", named(64, filling(1024, "é")), 64],
  ["more than that in fewer letters", named(90, filling(1024, "é")), 64],
])("%s", async (_, attributes, kept) => {
  await using test = await createTestOrchestrator();
  const { agent, say, stored } = await begin(test);
  await using __ = agent;
  const collected_at = await say(attributes);
  await waitFor(async () => expect(await stored()).toMatchObject({ collected_at }));
  expect(Object.keys((await stored()).attributes)).toEqual(Object.keys(attributes).toSorted().slice(0, kept));
});

it("the last that is told in a minute is there once a full disk has space again, also where it waited", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  await using test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const { agent, say, stored } = await begin(test, clock);
  await using _ = agent;
  for (let number = 1; number < 12; number += 1) await say({ role: `v${number}` });
  data.freeBytes = 0;
  await say({ role: "newest" });
  for (let second = 0; second < 30; second += 1) await clock.advance(1_000);
  data.freeBytes = Infinity;
  await waitFor(async () => {
    await clock.advance(1_000);
    expect((await stored()).attributes).toEqual({ role: "newest" });
  });
});

/** Holds what agents tell of their machines, and then has no space for it, once. */
class HeldStorage extends MemoryStorage {
  held: Promise<void> | null = null;
  refusal: Error = new OrchestratorError("STORAGE_FULL");

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { held } = this;
    const isMeant = writes.some((write) => write.kind === "put" && write.collection === "agent_attributes");
    if (!held || !isMeant) return super.commit(writes, options);
    this.held = null;
    await held;
    throw this.refusal;
  }
}

it("what is told while something older finds no space is there in the end", async () => {
  const clock = new FakeClock();
  const storage = new HeldStorage({ clock });
  await using test = await createTestOrchestrator({ clock, storage });
  const { agent, say, stored } = await begin(test, clock);
  await using _ = agent;
  for (let number = 1; number < 12; number += 1) await say({ role: `v${number}` });
  const tried = deferred();
  storage.held = tried.promise;
  await clock.advance(6_000);
  await settleAll();
  expect(storage.held).toBeNull();
  await say({ role: "newest" });
  tried.resolve();
  await settleAll();
  for (let second = 0; second < 30; second += 1) await clock.advance(1_000);
  expect((await stored()).attributes).toEqual({ role: "newest" });
});

it.each([new OrchestratorError("STORAGE_FAILED"), new Error("connection lost")])(
  "what waits is there in the end where the storage failed once: %s",
  async (refusal) => {
    const clock = new FakeClock();
    const storage = new HeldStorage({ clock });
    await using test = await createTestOrchestrator({ clock, storage });
    const { agent, say, stored } = await begin(test, clock);
    await using _ = agent;
    for (let number = 1; number < 13; number += 1) await say({ role: `v${number}` });
    storage.refusal = refusal;
    storage.held = Promise.resolve();
    for (let second = 0; second < 30; second += 1) {
      await clock.advance(1_000);
      await settleAll();
    }
    expect(storage.held).toBeNull();
    expect((await stored()).attributes).toEqual({ role: "v12" });
  },
);

it("what waits is written when the server stops, and nothing is waited for any more", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const test = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const { agent, say } = await begin(test, clock);
  const { nodeId: node_id } = agent;
  for (let number = 1; number < 13; number += 1) await say({ role: `v${number}` });
  await test.orchestrator.stop();
  await agent[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
  await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  expect(await again.orchestrator.agents.attributes(systemCaller, { node_id })).toMatchObject({
    attributes: { role: "v12" },
  });
});
