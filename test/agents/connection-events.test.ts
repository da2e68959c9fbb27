/** Agents that come and go all the time leave room in the log of events, and what is told of them ends as they are. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import { deferred, settleAll, type Deferred } from "../support/deferred.ts";
import { waitFor } from "../support/wait-for.ts";

const here = "192.0.2.1";
const stranger = "203.0.113.7";
const minuteMs = 60_000;

async function connect(test: TestOrchestrator, number: number, address = here): Promise<TestAgent> {
  const [agentEnd, orchestratorEnd] = createSocketPair(address);
  test.transport.accept(orchestratorEnd);
  const seed = new Uint8Array(32).fill(number);
  const agent = new TestAgent(agentEnd, { crypto: nodeCrypto, seed, hostname: `machine-${number}` });
  await agent.join();
  await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(true));
  await settleAll();
  return agent;
}

async function leave(test: TestOrchestrator, agent: TestAgent): Promise<void> {
  agent.socket.close(1000, "");
  await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(false));
  await settleAll();
}

async function flap(test: TestOrchestrator, { number = 1, address = here, times = 1 }): Promise<void> {
  for (let count = 0; count < times; count += 1) await leave(test, await connect(test, number, address));
}

/** What is told of agents that come and go, in order. */
function told({ events }: TestOrchestrator, { nodeId }: { nodeId?: string } = {}): string[] {
  return events
    .filter(({ target }) => nodeId === undefined || target?.id === nodeId)
    .flatMap(({ event_type: type }) =>
      type === "agent.connected" ? ["came"] : type === "agent.disconnected" ? ["left"] : [],
    );
}

async function approved(test: TestOrchestrator, number: number): Promise<TestAgent> {
  const agent = await connect(test, number);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  return agent;
}

describe("an agent that waits for approval and comes and goes", () => {
  it("makes ten events a minute, under however many names", async () => {
    await using test = await createTestOrchestrator();
    for (let number = 1; number <= 4; number += 1) await flap(test, { number });
    for (let count = 0; count < 10; count += 1)
      for (let number = 1; number <= 4; number += 1) await flap(test, { number });
    // Four came for the first time, which its slot pays for.
    expect(told(test)).toHaveLength(10 + 4);
    const { head } = await test.storage.readLog("events", { limit: 1 });
    expect(head.sequence).toBe(test.events.length);
  });

  it("takes nothing from those of another address", async () => {
    await using test = await createTestOrchestrator();
    await flap(test, { number: 1, address: stranger, times: 20 });
    const other = await connect(test, 2);
    await leave(test, other);
    expect(told(test, other)).toEqual(["came", "left"]);
  });

  it("is one of all that wait: sixty events a minute are theirs", async () => {
    await using test = await createTestOrchestrator();
    for (let number = 1; number <= 10; number += 1)
      await flap(test, { number, address: `198.51.100.${number}`, times: 6 });
    expect(told(test)).toHaveLength(60 + 10);
  });

  it("is told for the first time, however many more come with it", async () => {
    await using test = await createTestOrchestrator();
    for (let number = 1; number <= 40; number += 1) await connect(test, number);
    expect(told(test)).toEqual(Array(40).fill("came"));
  });

  it("pays for its first time where it takes the slot of another", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 2 });
    await flap(test, { number: 1 });
    await flap(test, { number: 2 });
    // Long enough for one that is away to give way.
    await test.clock.advance(minuteMs + 1);
    await flap(test, { number: 2, times: 20 });
    const third = await connect(test, 3);
    expect(test.events.some(({ event_type }) => event_type === "agent.forgotten")).toBe(true);
    expect(told(test, third)).toEqual([]);
    await test.clock.advance(6_000);
    await settleAll();
    expect(told(test, third)).toEqual(["came"]);
  });
});

describe("an approved agent that flaps", () => {
  it("makes twenty events at once and then twenty a minute, and is told as it is in the end", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    await flap(test, { times: 30 });
    expect(told(test, agent)).toHaveLength(21);
    expect(told(test, agent).at(-1)).toBe("came");
    const leftAt = new Date(test.clock.now()).toISOString();
    await test.clock.advance(6_000);
    await settleAll();
    expect(told(test, agent)).toHaveLength(22);
    expect(told(test, agent).at(-1)).toBe("left");
    // When it was seen last, not when that was told.
    const { last_seen_at } = await test.orchestrator.agents.get(systemCaller, { node_id: agent.nodeId });
    expect(last_seen_at).toBe(leftAt);
    const timers = test.clock.pendingTimers;
    await test.clock.advance(minuteMs);
    expect(told(test, agent)).toHaveLength(22);
    expect(test.clock.pendingTimers).toBeLessThanOrEqual(timers);
  });

  it("was seen last when it left, not when it came, nor when it came again", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    const { nodeId: node_id } = agent;
    const seenLast = async () => (await test.orchestrator.agents.get(systemCaller, { node_id })).last_seen_at;
    const now = () => new Date(test.clock.now()).toISOString();
    for (let times = 0; times < 3; times += 1) {
      test.clock.leap(minuteMs * 60);
      await leave(test, times === 0 ? agent : await connect(test, 1));
      expect(await seenLast()).toBe(now());
    }
  });

  it("is not told again where it is as it was told last", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    await flap(test, { times: 9 });
    await connect(test, 1);
    expect(told(test, agent)).toHaveLength(21);
    for (let count = 0; count < 5; count += 1) {
      await test.transport.disconnect(agent.nodeId, "for the test");
      await settleAll();
      await connect(test, 1);
    }
    await test.clock.advance(minuteMs / 2);
    expect(told(test, agent)).toHaveLength(21);
    expect(told(test, agent).at(-1)).toBe("came");
  });

  it("counts as connected at once, and is given its work, whatever was told", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    await flap(test, { times: 30 });
    const again = await connect(test, 1);
    const { nodeId: node_id } = agent;
    expect(await test.orchestrator.agents.get(systemCaller, { node_id })).toMatchObject({ connected: true });
    await test.orchestrator.operations.plan(systemCaller, { node_id, wait_seconds: 0 });
    await waitFor(() =>
      expect(again.heard.of("message")).toContainEqual(
        expect.objectContaining({ message: expect.objectContaining({ type: "plan" }) }),
      ),
    );
  });

  it("is told as gone before the orchestrator has stopped, and no timer stays", async () => {
    const test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    await flap(test, { times: 9 });
    await connect(test, 1);
    await connect(test, 2);
    await test.orchestrator.stop();
    expect(told(test, agent).slice(-2)).toEqual(["came", "left"]);
    expect(test.clock.pendingTimers).toBe(0);
  });

  it("owes nothing once it is removed", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    await flap(test, { times: 30 });
    const { nodeId: node_id } = agent;
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
    const timers = test.clock.pendingTimers;
    await test.orchestrator.agents.remove(systemCaller, { node_id });
    expect(test.clock.pendingTimers).toBe(timers - 1);
    await test.clock.advance(minuteMs);
    expect(told(test, agent)).toHaveLength(21);
  });
});

/** A disk that is slow, and an agent that somebody else changes in the moment in which it leaves. */
class BusyStorage extends MemoryStorage {
  /** Holds back the next that tells of an agent that left; null holds back nothing. */
  held: Deferred | null = null;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { held } = this;
    const isHeld = writes.some(
      (write) => write.kind === "append" && write.value["event_type"] === "agent.disconnected",
    );
    if (held === null || !isHeld) return super.commit(writes, options);
    this.held = null;
    const known = writes.find((write) => write.kind === "put" && write.collection === "agents");
    if (known?.kind === "put") await super.commit([{ ...known }]);
    await held.promise;
    return super.commit(writes, options);
  }
}

describe("an agent that is back before it is written that it left", () => {
  it("is told in the order in which it came and went", async () => {
    const storage = new BusyStorage();
    await using test = await createTestOrchestrator({ storage });
    const agent = await approved(test, 1);
    const held = (storage.held = deferred());
    await leave(test, agent);
    const [agentEnd, orchestratorEnd] = createSocketPair(here);
    test.transport.accept(orchestratorEnd);
    const again = new TestAgent(agentEnd, {
      crypto: nodeCrypto,
      seed: new Uint8Array(32).fill(1),
      hostname: "machine-1",
    });
    await again.join();
    await settleAll();
    held.resolve();
    await settleAll();
    expect(told(test)).toEqual(["came", "left", "came"]);
    const shown = await test.orchestrator.agents.get(systemCaller, { node_id: agent.nodeId });
    expect(shown.connected).toBe(true);
  });
});
