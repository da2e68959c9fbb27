/** What is told of agents that are away for longer than a short break. */
import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { storageSchema } from "../../lib/storage-schema.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { RacingStorage } from "../support/racing-storage.ts";

async function pass(test: TestOrchestrator, seconds: number): Promise<void> {
  // In steps, so that those who stay answer.
  for (let left = seconds * 1_000; left > 0; left -= 1_000) {
    await test.clock.advance(Math.min(left, 1_000));
    await settleAll();
  }
}

/** The events that tell who is away, and who is back. */
function told({ events }: TestOrchestrator): [type: string, agents: number, nodeIds: string[]][] {
  return events.flatMap((event) =>
    event.event_type === "agent.offline" || event.event_type === "agent.online"
      ? [[event.event_type, event.metadata.agents, [...event.metadata.node_ids]]]
      : [],
  );
}

/** Holds up what is written of who is offline. */
class HeldStorage extends MemoryStorage {
  held: Promise<void> | null = null;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    if (writes.some((write) => "collection" in write && write.collection === "offline_agents"))
      await this.held;
    return super.commit(writes, options);
  }
}

describe("an agent that is away", () => {
  it("is told offline once, after a minute, and online when it is back", async () => {
    await using test = await createTestOrchestrator();
    const agent = await approved(test, 1);
    await leave(test, agent);
    const since = new Date(test.clock.now()).toISOString();
    await pass(test, 59);
    expect(told(test)).toEqual([]);
    await pass(test, 2);
    expect(told(test)).toEqual([["agent.offline", 1, [agent.nodeId]]]);
    const event = test.events.findLast(({ event_type }) => event_type === "agent.offline");
    expect(event).toMatchObject({
      target: { id: agent.nodeId },
      summary: "Agent machine-1 is offline",
      metadata: { since },
    });
    await pass(test, 600);
    expect(told(test)).toHaveLength(1);
    await connect(test, 1);
    await pass(test, 40);
    expect(told(test).slice(1)).toEqual([["agent.online", 1, [agent.nodeId]]]);
  });

  it("is not told of where it is back in time, nor online where it is gone again", async () => {
    await using test = await createTestOrchestrator({ agentOfflineSeconds: 120 });
    const agent = await approved(test, 1);
    await leave(test, agent);
    await pass(test, 100);
    const back = await connect(test, 1);
    await pass(test, 100);
    expect(told(test)).toEqual([]);
    await leave(test, back);
    await pass(test, 121);
    await leave(test, await connect(test, 1));
    await pass(test, 300);
    expect(told(test)).toEqual([["agent.offline", 1, [agent.nodeId]]]);
  });

  it("is not told of where it was let go, however long the server goes on", async () => {
    await using test = await createTestOrchestrator();
    await approved(test, 1);
    test.orchestrator.beginDrain();
    await test.transport.drain(0);
    await pass(test, 300);
    expect(told(test)).toEqual([]);
  });

  it("is not told of where nobody approved it, or somebody rejected it since", async () => {
    await using test = await createTestOrchestrator();
    await leave(test, await connect(test, 1));
    const agent = await approved(test, 2);
    await leave(test, agent);
    await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "rejected" });
    await pass(test, 300);
    expect(told(test)).toEqual([]);
  });
});

describe("while it is written that an agent is", () => {
  const isOffline =
    (kind: Write["kind"]) =>
    (writes: readonly Write[]): boolean =>
      writes.some(
        (write) => write.kind === kind && "collection" in write && write.collection === "offline_agents",
      );

  it("offline it comes: it is told online", async () => {
    const storage = new RacingStorage(isOffline("put"));
    await using test = await createTestOrchestrator({ storage });
    const agent = await approved(test, 1);
    await leave(test, agent);
    storage.before = () => connect(test, 1);
    await pass(test, 61);
    await expect.poll(() => told(test).length).toBe(1);
    await pass(test, 40);
    expect(told(test)).toEqual([
      ["agent.offline", 1, [agent.nodeId]],
      ["agent.online", 1, [agent.nodeId]],
    ]);
  });

  it("online it goes: it is told offline once more", async () => {
    const storage = new RacingStorage(isOffline("delete"));
    await using test = await createTestOrchestrator({ storage });
    const agent = await approved(test, 1);
    await leave(test, agent);
    await pass(test, 61);
    const back = await connect(test, 1);
    storage.before = () => leave(test, back);
    await pass(test, 20);
    await expect.poll(() => told(test).length).toBe(2);
    await pass(test, 100);
    expect(told(test).map(([type]) => type)).toEqual(["agent.offline", "agent.online", "agent.offline"]);
  });

  it.each(["rejected", "removed"] as const)(
    "offline it is %s: let in again and away again, it is told offline once more",
    async (decision) => {
      const storage = new RacingStorage(isOffline("put"));
      await using test = await createTestOrchestrator({ storage });
      const { agents } = test.orchestrator;
      const agent = await approved(test, 1);
      const { nodeId: node_id } = agent;
      await leave(test, agent);
      storage.before = async () => {
        await agents.setStatus(systemCaller, { node_id, status: "rejected" });
        if (decision === "removed") await agents.remove(systemCaller, { node_id });
      };
      await pass(test, 161);
      const before = told(test).length;
      expect(await storage.count("offline_agents")).toBe(0);
      if (decision === "removed") await leave(test, await approved(test, 1));
      else await agents.setStatus(systemCaller, { node_id, status: "approved" });
      await pass(test, 61);
      expect(told(test).slice(before)).toEqual([["agent.offline", 1, [node_id]]]);
    },
  );
});

describe("a network that is gone", () => {
  it("is one event for each 100 of its agents, which names them, and as many when it is back", async () => {
    await using test = await createTestOrchestrator();
    const agents: TestAgent[] = [];
    for (let number = 1; number <= 120; number += 1) agents.push(await approved(test, number));
    // Agents notice within some seconds of each other.
    await leave(test, ...agents.slice(0, 50));
    await pass(test, 15);
    await leave(test, ...agents.slice(50));
    await pass(test, 46);
    expect(told(test)).toEqual([]);
    await pass(test, 15);
    const offline = told(test);
    expect(new Set(offline.flatMap(([, , named]) => named)).size).toBe(120);
    for (let number = 1; number <= 120; number += 1) await connect(test, number);
    await pass(test, 17);
    expect(told(test).map(([each, count, named]) => [each, count, named.length])).toEqual([
      ["agent.offline", 100, 100],
      ["agent.offline", 20, 20],
      ["agent.online", 100, 100],
      ["agent.online", 20, 20],
    ]);
    expect(
      new Set(
        told(test)
          .slice(2)
          .flatMap(([, , named]) => named),
      ).size,
    ).toBe(120);
  });

  it.each([
    [16, [2]],
    [17, [1, 1]],
  ])("is told together with what went %i s after the first: %j", async (seconds, counts) => {
    await using test = await createTestOrchestrator();
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    await leave(test, first);
    await pass(test, seconds);
    await leave(test, second);
    await pass(test, 100);
    expect(told(test).map(([, count]) => count)).toEqual(counts);
  });

  it("is waited for to its last agent, and one that is back meanwhile is told no later for that", async () => {
    await using test = await createTestOrchestrator();
    const away = await approved(test, 1);
    await leave(test, away);
    await pass(test, 61);
    // Now: who says nothing for 45 s is gone.
    const [first, second] = [await approved(test, 2), await approved(test, 3)];
    await leave(test, first);
    await pass(test, 15);
    await leave(test, second);
    await pass(test, 35);
    await connect(test, 1);
    await pass(test, 17);
    expect(told(test).slice(1)).toEqual([["agent.online", 1, [away.nodeId]]]);
    await pass(test, 10);
    expect(told(test).slice(2)).toEqual([["agent.offline", 2, [first.nodeId, second.nodeId].toSorted()]]);
  });

  it("is told later where telling fails for good, and others after it", async () => {
    class FailingStorage extends MemoryStorage {
      fails = 1;

      override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
        const isMeant = writes.some(
          (write) => "collection" in write && write.collection === "offline_agents",
        );
        if (isMeant && this.fails-- > 0) throw new Error("The disk is odd.");
        return super.commit(writes, options);
      }
    }
    await using test = await createTestOrchestrator({ storage: new FailingStorage() });
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    await leave(test, first);
    await pass(test, 61);
    expect(told(test)).toEqual([]);
    expect(test.loggedErrors).toMatchObject([{ message: "It could not be told which agents are away." }]);
    await pass(test, 61);
    await leave(test, second);
    await pass(test, 61);
    expect(told(test)).toEqual([
      ["agent.offline", 1, [first.nodeId]],
      ["agent.offline", 1, [second.nodeId]],
    ]);
  });

  it("is told once, however long telling takes and who goes meanwhile", async () => {
    const storage = new HeldStorage();
    await using test = await createTestOrchestrator({ storage });
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    const { promise, resolve } = deferred();
    storage.held = promise;
    await leave(test, first);
    await pass(test, 61);
    await leave(test, second);
    await pass(test, 65);
    expect(told(test)).toEqual([]);
    storage.held = null;
    resolve();
    await pass(test, 65);
    expect(told(test)).toEqual([
      ["agent.offline", 1, [first.nodeId]],
      ["agent.offline", 1, [second.nodeId]],
    ]);
  });

  it("is told back once, however long telling takes, who comes back meanwhile and who goes", async () => {
    const storage = new HeldStorage();
    await using test = await createTestOrchestrator({ storage });
    const numbers = [1, 2, 3];
    const agents = [];
    for (const number of numbers) agents.push(await approved(test, number));
    const [first, second, third] = agents.map(({ nodeId }) => nodeId);
    await leave(test, ...agents.slice(0, 2));
    await pass(test, 61);
    await connect(test, 1);
    const { promise, resolve } = deferred();
    storage.held = promise;
    await pass(test, 17);
    await connect(test, 2);
    await leave(test, agents[2]!);
    await pass(test, 20);
    storage.held = null;
    resolve();
    await pass(test, 65);
    expect(told(test).slice(1)).toEqual([
      ["agent.online", 1, [first]],
      ["agent.online", 1, [second]],
      ["agent.offline", 1, [third]],
    ]);
  });

  it("is not put together with what went a minute later", async () => {
    await using test = await createTestOrchestrator();
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    await leave(test, first);
    await pass(test, 40);
    await leave(test, second);
    await pass(test, 70);
    expect(told(test).map(([, count]) => count)).toEqual([1, 1]);
  });
});

describe("a restart", () => {
  it("forgets that one is away who was rejected right before it", async () => {
    const storage = new MemoryStorage();
    const before = await createTestOrchestrator({ storage });
    const away = await approved(before, 1);
    await leave(before, away);
    await pass(before, 61);
    const data = storage.restoredCopy();
    await before[Symbol.asyncDispose]();
    const raw = new MemoryStorage({ data });
    await raw.open(storageSchema);
    const { key, value } = (await raw.get("agents", away.nodeId))!;
    await raw.commit([{ kind: "put", collection: "agents", key, value: { ...value, status: "rejected" } }]);
    expect(await raw.count("offline_agents")).toBe(1);
    await raw.close();

    await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
    await settleAll();
    expect(await test.storage.count("offline_agents")).toBe(0);
  });

  it("tells of those who did not come back, and of nobody twice", async () => {
    const storage = new MemoryStorage();
    const before = await createTestOrchestrator({ storage });
    const [away, , stays] = [await approved(before, 1), await approved(before, 2), await approved(before, 3)];
    await leave(before, away);
    await pass(before, 61);
    expect(told(before)).toHaveLength(1);
    const data = storage.restoredCopy();
    await before[Symbol.asyncDispose]();

    await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
    await pass(test, 25);
    await connect(test, 3);
    await pass(test, 64);
    expect(told(test)).toEqual([]);
    await pass(test, 2);
    const [, , nodeIds] = told(test)[0]!;
    expect(nodeIds).toHaveLength(1);
    expect(nodeIds).not.toContain(away.nodeId);
    expect(nodeIds).not.toContain(stays.nodeId);
    await connect(test, 1);
    await pass(test, 17);
    expect(told(test).slice(1)).toEqual([["agent.online", 1, [away.nodeId]]]);
  });
});
