import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const introductionOf = (n: number) => ({
  node_id: String(n).padStart(32, "0"),
  public_key: String(n).padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: `machine-${n}`,
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: "192.0.2.1",
});

const admit = ({ orchestrator }: TestOrchestrator, n: number) =>
  servicesOf(orchestrator).agents.enrolment.admit(introductionOf(n));

async function known({ orchestrator }: TestOrchestrator): Promise<string[]> {
  return (await orchestrator.agents.list(systemCaller)).items.map(({ hostname }) => hostname);
}

const forgotten = ({ events }: TestOrchestrator): (string | undefined)[] =>
  events.filter(({ event_type }) => event_type === "agent.forgotten").map(({ target }) => target?.name);

describe("an agent that waits to be approved", () => {
  it("is forgotten when it was away for a week, not an hour before, with its tags and with an audit event", async () => {
    await using test = await createTestOrchestrator();
    await admit(test, 1);
    const { node_id } = introductionOf(1);
    await test.orchestrator.agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    await test.clock.advance(7 * dayMs - 1);
    expect(await known(test)).toEqual(["machine-1"]);
    await test.clock.advance(2 * hourMs);
    expect(await known(test)).toEqual([]);
    const { items } = await test.orchestrator.audit.list(systemCaller, { event_type: "agent.forgotten" });
    expect(items).toMatchObject([
      {
        actor: { type: "system" },
        target: { type: "agent", id: node_id, name: "machine-1" },
        metadata: { public_key: introductionOf(1).public_key, last_seen_at: "2030-01-01T00:00:00.000Z" },
      },
    ]);
    expect(await admit(test, 1)).toEqual({ status: "pending" });
    expect(await test.orchestrator.agents.get(systemCaller, { node_id })).toMatchObject({ tags: {} });
    expect(test.events.at(-1)).toMatchObject({
      event_type: "agent.enrolled",
      metadata: { removed_before: false },
    });
  });

  it("makes room for another, however many wait", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 120 });
    for (let n = 1; n <= 120; n += 1) await admit(test, n);
    await expect(admit(test, 121)).rejects.toMatchObject({ code: "RATE_LIMITED" });
    await test.clock.advance(7 * dayMs + 2 * hourMs);
    expect(forgotten(test)).toHaveLength(120);
    expect(await admit(test, 121)).toEqual({ status: "pending" });
  });

  it("is looked at once in an hour, fifty in one go", async () => {
    const sizes: number[] = [];
    class CountingStorage extends MemoryStorage {
      override getMany<Value>(collection: string, keys: readonly string[]) {
        if (collection === "agents") sizes.push(keys.length);
        return super.getMany<Value>(collection, keys);
      }
    }
    await using test = await createTestOrchestrator({ storage: new CountingStorage(), pendingAgents: 120 });
    for (let n = 1; n <= 120; n += 1) await admit(test, n);
    await test.clock.advance(hourMs + 1_000);
    sizes.length = 0;
    await test.clock.advance(hourMs);
    expect(sizes).toEqual([50, 50, 20]);
  });

  it("stays when it comes now and then, and so do those that were decided about", async () => {
    await using test = await createTestOrchestrator({ pendingAgentRetentionDays: 2 });
    for (const n of [1, 2, 3, 4]) await admit(test, n);
    const decide = (n: number, status: "approved" | "rejected") =>
      test.orchestrator.agents.setStatus(systemCaller, { node_id: introductionOf(n).node_id, status });
    await decide(2, "approved");
    await decide(3, "rejected");
    for (let day = 0; day < 10; day += 1) {
      await test.clock.advance(dayMs);
      await admit(test, 1);
    }
    expect(await known(test)).toEqual(["machine-1", "machine-2", "machine-3"]);
    expect(forgotten(test)).toEqual(["machine-4"]);
  });

  it("stays while it is connected, and its record says that it is there, for the process after a crash", async () => {
    await using test = await createTestOrchestrator({ pendingAgentRetentionDays: 1 });
    await using agent = await connectScriptedAgent(test, undefined, test.clock);
    const node_id = agent.nodeId;
    await test.clock.advance(2 * dayMs);
    const { connected, last_seen_at } = await test.orchestrator.agents.get(systemCaller, { node_id });
    const seenMs = test.clock.now() - Date.parse(last_seen_at);
    expect([connected, seenMs < 14 * hourMs, forgotten(test)]).toEqual([true, true, []]);
  });

  it("stays while it is connected though nothing can be written of it for longer than it is kept", async () => {
    const clock = new FakeClock();
    const data = new MemoryData();
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, pendingAgentRetentionDays: 1 });
    await using agent = await connectScriptedAgent(test, undefined, clock);
    await admit(test, 1);
    data.freeBytes = 0;
    await clock.advance(1.2 * dayMs);
    const { items } = await test.orchestrator.agents.list(systemCaller);
    expect(items.map(({ node_id, connected }) => [node_id, connected])).toEqual([[agent.nodeId, true]]);
    expect(forgotten(test)).toEqual(["machine-1"]);
  });

  it("stays where it is approved while others are forgotten", async () => {
    await using test = await createTestOrchestrator();
    for (let n = 1; n <= 60; n += 1) await admit(test, n);
    const { node_id } = introductionOf(60);
    const end = test.orchestrator.listen(({ event_type, target }) => {
      if (event_type !== "agent.forgotten" || target?.name !== "machine-1") return;
      void test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    });
    await test.clock.advance(7 * dayMs + 2 * hourMs);
    end();
    expect(await known(test)).toEqual(["machine-60"]);
  });

  it("gets an hour to come back after a restart", async () => {
    const clock = new FakeClock();
    const data = new MemoryData();
    const start = () =>
      createTestOrchestrator({
        clock,
        storage: new MemoryStorage({ clock, data }),
        pendingAgentRetentionDays: 1,
      });
    {
      await using before = await start();
      await admit(before, 1);
      await admit(before, 2);
      await clock.advance(dayMs / 2);
    }
    await clock.advance(dayMs * 0.6);
    await using after = await start();
    await clock.advance(hourMs / 2);
    expect(await known(after)).toEqual(["machine-1", "machine-2"]);
    await admit(after, 1);
    await clock.advance(hourMs);
    expect(await known(after)).toEqual(["machine-1"]);
  });

  it("that came while a clock was ahead waits a week from when the clock is right", async () => {
    await using test = await createTestOrchestrator();
    test.clock.jump(400 * dayMs);
    await admit(test, 1);
    test.clock.jump(-400 * dayMs);
    await test.clock.advance(7 * dayMs);
    expect(await known(test)).toEqual(["machine-1"]);
    await test.clock.advance(dayMs);
    expect(await known(test)).toEqual([]);
  });

  it("is not forgotten because a clock jumped ahead, and is when the time has passed", async () => {
    await using test = await createTestOrchestrator();
    await admit(test, 1);
    await test.clock.advance(2 * hourMs);
    test.clock.jump(400 * dayMs);
    await test.clock.advance(5 * hourMs);
    test.clock.jump(-400 * dayMs);
    await test.clock.advance(5 * dayMs);
    expect(await known(test)).toEqual(["machine-1"]);
    await test.clock.advance(2 * dayMs);
    expect(await known(test)).toEqual([]);
  });
});
