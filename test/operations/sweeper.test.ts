/** What ends without anybody having heard of it, and what documents say that somebody else wrote. */
import { describe, expect, it, vi } from "vitest";
import { systemCaller, type Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { unheard } from "../../lib/operations/conclusions.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { deferred, settle } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

async function setUp(given: { data?: MemoryData; clock?: FakeClock } = {}) {
  const { clock = new FakeClock(), data = new MemoryData() } = given;
  const storage = new MemoryStorage({ clock, data });
  const test = await createTestOrchestrator({ clock, storage });
  const agent = await connectScriptedAgent(test);
  const { node_id } = await test.orchestrator.agents.get(systemCaller, { node_id: agent.nodeId });
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await test.orchestrator.modules.upload(systemCaller, { content: motd });
  const apply = (input: object = {}) =>
    test.orchestrator.operations.apply(systemCaller, {
      node_id,
      modules: ["motd"],
      wait_seconds: 0,
      ...input,
    });
  return { clock, data, test, agent, node_id, storage, apply };
}

const read = (test: TestOrchestrator, operation_id: string) =>
  test.orchestrator.operations.get(systemCaller, { operation_id });

/** Writes a document as another process on the same storage would. */
async function rewrite(storage: Storage, place: { collection: string; key: string }, change: JsonObject) {
  const { collection, key } = place;
  const { value, revision } = (await storage.get(collection, key))!;
  const put = { kind: "put", collection, key, value: { ...value, ...change }, expected: revision } as const;
  await storage.commit([put]);
}

describe("the sweeper", () => {
  it("ends each operation at its own deadline, whatever the order in which they were begun", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const others = [await connectScriptedAgent(test), await connectScriptedAgent(test)];
    const asked: [string, number][] = [];
    for (const [nodeId, seconds] of [
      [agent.nodeId, 300],
      [others[0]!.nodeId, 60],
      [others[1]!.nodeId, 120],
    ] as const) {
      if (nodeId !== agent.nodeId)
        await test.orchestrator.agents.setStatus(systemCaller, { node_id: nodeId, status: "approved" });
      const { operation_id } = await scene.apply({ node_id: nodeId, timeout_seconds: seconds });
      asked.push([operation_id, seconds + 30]);
    }
    await settle();
    await Promise.all([agent, ...others].map((each) => each.link.stop()));
    let passed = 0;
    for (const until of [89, 91, 149, 151, 329, 331]) {
      await scene.clock.advance((until - passed) * 1000);
      passed = until;
      for (const [operation_id, seconds] of asked)
        expect((await read(test, operation_id)).status).toBe(until > seconds ? "unknown" : "running");
    }
  });

  it("ends what waits too long for its agent, also over a restart", async () => {
    const scene = await setUp();
    await scene.agent.link.stop();
    await waitFor(async () => {
      const { node_id } = scene;
      expect(await scene.test.orchestrator.agents.get(systemCaller, { node_id })).toMatchObject({
        connected: false,
      });
    });
    const queue = (expires_in_seconds: number) => scene.apply({ when_offline: "queue", expires_in_seconds });
    const [short, long] = [await queue(600), await queue(3_600)];
    await scene.test.orchestrator.stop();
    const { clock, data } = scene;
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage });
    await clock.advance(599_000);
    expect((await read(test, short.operation_id)).status).toBe("queued");
    await clock.advance(2_000);
    expect(await read(test, short.operation_id)).toMatchObject({
      status: "failed",
      error: { code: "AGENT_OFFLINE" },
    });
    expect((await read(test, long.operation_id)).status).toBe("queued");
    await clock.advance(3_000_000);
    expect((await read(test, long.operation_id)).status).toBe("failed");
  });

  it("gives agents time to come back after a start before it ends what ran past its deadline while nobody was there", async () => {
    const { clock, data, test: first, agent, apply } = await setUp();
    const { operation_id } = await apply({ timeout_seconds: 60 });
    await agent.next("apply");
    await first.orchestrator.stop();
    await agent.link.stop();
    await clock.advance(3_600_000);
    const storage = new MemoryStorage({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage });
    await clock.advance(89_000);
    expect((await read(test, operation_id)).status).toBe("running");
    await clock.advance(2_000);
    expect(await read(test, operation_id)).toMatchObject({
      status: "unknown",
      error: { code: "AGENT_TIMEOUT" },
    });
  });

  it("tries what a full disk keeps from ending once a sweep, however many sweeps there were to be", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await scene.agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await settle();
    const count = 40;
    for (let at = 0; at < count; at++)
      await scene.apply({ when_offline: "queue", expires_in_seconds: 60 + at });
    scene.data.freeBytes = 0;
    const ends = vi.spyOn(servicesOf(test.orchestrator).operations.outcomes, "record");
    await scene.clock.advance(5 * 60_000);
    // A sweep when the first is due; then after 1, 2, 4, 8, 16, 32, 60, 60 and 60 seconds.
    expect(ends.mock.calls.length).toBeLessThan(10 * count);
    expect(ends.mock.calls.length).toBeGreaterThan(count);
    scene.data.freeBytes = Infinity;
    await scene.clock.advance(60_000);
    const { items } = await test.orchestrator.operations.list(systemCaller, { limit: 100 });
    expect(items.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => "failed"));
  });

  it("ends all that is due at once, also what is more than is read at once", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await scene.agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await settle();
    for (let at = 0; at < 101; at++) await scene.apply({ when_offline: "queue", expires_in_seconds: 60 });
    await scene.clock.advance(61_000);
    const { items } = await test.orchestrator.operations.list(systemCaller, { status: "queued" });
    expect(items).toEqual([]);
  });

  it("tries again within a minute what could not be ended for a reason that does not pass by itself", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await scene.agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await settle();
    const { operation_id } = await scene.apply({ when_offline: "queue", expires_in_seconds: 60 });
    const record = vi.spyOn(servicesOf(test.orchestrator).operations.outcomes, "record");
    record.mockRejectedValueOnce(new Error("unreadable"));
    await scene.clock.advance(61_000);
    expect(record).toHaveBeenCalledTimes(1);
    const error = expect.objectContaining({ message: "unreadable" }) as Error;
    expect(test.loggedErrors).toEqual([{ message: "What is over was not ended.", fields: { error } }]);
    expect((await read(test, operation_id)).status).toBe("queued");
    await scene.clock.advance(60_000);
    expect((await read(test, operation_id)).status).toBe("failed");
    // And it looks no more for what is ended.
    await scene.clock.advance(600_000);
    expect(record).toHaveBeenCalledTimes(2);
  });

  it("looks once for each time that something is due, also where work came while it looked", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await scene.agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await settle();
    const queue = (expires_in_seconds: number) => scene.apply({ when_offline: "queue", expires_in_seconds });
    const begun = [await queue(60)];
    const looks: number[] = [];
    const list = scene.storage.list.bind(scene.storage);
    // One that looked without end would keep the clock from going on.
    const ended = deferred<void>();
    scene.storage.list = async (collection, query) => {
      if (query?.index === "by_expiry" && query.limit === 1) {
        looks.push(scene.clock.monotonic());
        if (looks.length > 100) await ended.promise;
        if (looks.length === 1) begun.push(await queue(120));
      }
      return list(collection, query);
    };
    await scene.clock.advance(600_000);
    const [first = 0] = looks;
    expect(looks.map((at) => Math.round((at - first) / 1000))).toEqual([0, 120]);
    for (const { operation_id } of begun) expect((await read(test, operation_id)).status).toBe("failed");
    ended.resolve();
  });

  it.each([
    ["before what it found next", 90, [0, 90, 600]],
    ["after what it found next", 700, [0, 600, 700]],
    ["in the moment of what it found next", 600, [0, 600]],
  ])("ends in time what came while it looked, due %s", async (_, seconds, expected) => {
    const scene = await setUp();
    await using test = scene.test;
    await scene.agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await settle();
    const queue = (expires_in_seconds: number) => scene.apply({ when_offline: "queue", expires_in_seconds });
    const begun = [await queue(60), await queue(660)];
    const ends: number[] = [];
    const { outcomes } = servicesOf(test.orchestrator).operations;
    const record = outcomes.record.bind(outcomes);
    vi.spyOn(outcomes, "record").mockImplementation((...ending) => {
      ends.push(scene.clock.monotonic());
      return record(...ending);
    });
    const list = scene.storage.list.bind(scene.storage);
    scene.storage.list = async <T>(...asked: Parameters<typeof list>) => {
      const page = await list<T>(...asked);
      const [, query] = asked;
      // It has read when the next is due, and knows nothing of this one.
      if (query?.index === "by_expiry" && query.limit === 1 && begun.length === 2)
        begun.push(await queue(seconds));
      return page;
    };
    await scene.clock.advance(900_000);
    const [first = 0] = ends;
    expect([...new Set(ends.map((at) => Math.round((at - first) / 1000)))]).toEqual(expected);
    for (const { operation_id } of begun) expect((await read(test, operation_id)).status).toBe("failed");
  });

  it.each([
    ["first", [600, 3_600]],
    ["last", [3_600, 600]],
  ])("ends in time what was begun during a sweep, the nearest %s", async (_name, waits) => {
    const { test: made, agent, clock, storage, apply } = await setUp();
    await using test = made;
    await agent.link.stop();
    await settle();
    const queue = (expires_in_seconds: number) => apply({ when_offline: "queue", expires_in_seconds });
    await queue(300);
    const looked = deferred<void>();
    const goOn = deferred<void>();
    const list = storage.list.bind(storage);
    storage.list = async <T>(...[collection, query]: Parameters<Storage["list"]>) => {
      const page = await list<T>(collection, query);
      // The last that a sweep looks for: when the next is due.
      if (query?.index !== "by_expiry" || query.limit !== 1) return page;
      looked.resolve();
      await goOn.promise;
      return page;
    };
    await clock.advance(301_000);
    await looked.promise;
    const begun = new Map<number, string>();
    for (const seconds of waits) begun.set(seconds, (await queue(seconds)).operation_id);
    goOn.resolve();
    await settle();
    await clock.advance(602_000);
    const statuses = [600, 3_600].map(async (seconds) => (await read(test, begun.get(seconds)!)).status);
    expect(await Promise.all(statuses)).toEqual(["failed", "queued"]);
  });

  it("leaves an operation as it ended whose result came in the same moment", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const { operation_id } = await scene.apply();
    await agent.next("apply");
    const { outcomes } = servicesOf(test.orchestrator).operations;
    // Each reads the operation while it runs.
    const recorded = await Promise.all(
      (["succeeded", "failed"] as const).map((status) => outcomes.record(operation_id, { status })),
    );
    expect(recorded.filter(({ changed }) => changed)).toHaveLength(1);
    const first = recorded.find(({ changed }) => changed)!.operation.status;
    expect((await read(test, operation_id)).status).toBe(first);
    expect((await outcomes.record(operation_id, unheard)).changed).toBe(false);
  });

  it("says once that nobody knows how an operation ended, however many find it over", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const { operation_id } = await scene.apply();
    await agent.next("apply");
    const { outcomes } = servicesOf(test.orchestrator).operations;
    const atOnce = await Promise.all([1, 2].map(() => outcomes.record(operation_id, unheard)));
    await scene.clock.advance(1_000);
    const later = await outcomes.record(operation_id, unheard);
    expect([...atOnce, later].map(({ changed }) => changed)).toEqual([true, false, false]);
    const before = await read(test, operation_id);
    expect((await outcomes.record(operation_id, { status: "succeeded" })).changed).toBe(true);
    expect(Date.parse(before.finished_at!)).toBe(scene.clock.now() - 1_000);
    const { items } = await test.orchestrator.audit.list(systemCaller, {});
    const ends = items
      .filter(({ target }) => target?.id === operation_id)
      .map(({ metadata }) => metadata["status"]);
    expect(ends.filter((status) => status !== undefined)).toEqual(["succeeded", "unknown"]);
  });
});

describe("what another process on the same storage writes", () => {
  it("a queued operation is given to its agent here", async () => {
    const scene = await setUp();
    await using _test = scene.test;
    await using agent = scene.agent;
    const { operation_id } = await scene.apply();
    await agent.next("apply");
    agent.link.send(emptyResult(operation_id));
    await agent.next("ack");
    const { value } = (await scene.storage.get("operations", operation_id))!;
    const { finished_at: _1, started_at: _2, begun_at: _3, deadline_at: _4, results: _5, ...made } = value;
    const key = "01890000-0000-7000-8000-000000000001";
    const other = { ...made, operation_id: key, status: "queued" };
    await scene.storage.commit([{ kind: "put", collection: "operations", key, value: other, expected: 0 }]);
    expect(await agent.next("apply")).toMatchObject({ operation_id: key });
  });

  it("a wish to cancel reaches the agent that runs it, and ends what waits", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const [runs, waits] = [await scene.apply(), await scene.apply()];
    await agent.next("apply");
    for (const { operation_id: key } of [runs, waits])
      await rewrite(scene.storage, { collection: "operations", key }, { cancel_requested: true });
    expect(await agent.next("cancel")).toMatchObject({ operation_id: runs.operation_id });
    await waitFor(async () => expect((await read(test, waits.operation_id)).status).toBe("cancelled"));
  });

  it("an end wakes whoever waits for it", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const waiting = scene.apply({ wait_seconds: 60 });
    const { operation_id: key } = await agent.next("apply");
    await rewrite(scene.storage, { collection: "operations", key }, { status: "interrupted" });
    expect(await waiting).toMatchObject({ operation_id: key, status: "interrupted" });
    expect((await read(test, key)).status).toBe("interrupted");
  });

  it("an agent that is rejected loses its connection, and what waits for it ends", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const [, waits] = [await scene.apply(), await scene.apply()];
    await agent.next("apply");
    await rewrite(scene.storage, { collection: "agents", key: scene.node_id }, { status: "rejected" });
    await waitFor(() => expect(test.transport.isConnected(scene.node_id)).toBe(false));
    await waitFor(async () =>
      expect(await read(test, waits.operation_id)).toMatchObject({
        status: "cancelled",
        error: { code: "AGENT_NOT_APPROVED" },
      }),
    );
    const input = { selector: "*", status: "approved" } as const;
    expect((await test.orchestrator.agents.list(systemCaller, input)).items).toEqual([]);
  });

  it("the removal of an operation that more was to come of is told once, with its agent", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using agent = scene.agent;
    const { store } = servicesOf(test.orchestrator).operations;
    const gone: [string, string][] = [];
    store.watchGone((nodeId, operationId) => gone.push([nodeId, operationId]));
    const [unknown, ended] = [await scene.apply(), await scene.apply()];
    for (const [{ operation_id: key }, status] of [
      [unknown, "unknown"],
      [ended, "failed"],
    ] as const)
      await rewrite(scene.storage, { collection: "operations", key }, { status });
    for (const { operation_id: key } of [ended, unknown])
      await scene.storage.commit([{ kind: "delete", collection: "operations", key }]);
    expect(gone).toEqual([[agent.nodeId, unknown.operation_id]]);
  });

  it("tags and attributes are found by selectors at once", async () => {
    const scene = await setUp();
    await using test = scene.test;
    await using _agent = scene.agent;
    const { storage, node_id: key } = scene;
    await rewrite(storage, { collection: "agents", key }, { tags: { tier: "gold" } });
    const attributes = { node_id: key, attributes: { rack: "r7" }, collected_at: "2030-01-01T00:00:00.000Z" };
    await storage.commit([{ kind: "put", collection: "agent_attributes", key, value: attributes }]);
    for (const selector of ["tier=gold", "attr.rack=r7", "tier=gold and attr.rack=r7"]) {
      const { items } = await test.orchestrator.agents.list(systemCaller, { selector });
      expect(items.map(({ node_id }) => node_id)).toEqual([key]);
    }
  });
});
