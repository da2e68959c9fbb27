/** Whoever can reach the server can make up agents: nobody closes the door for others, or fills the disk. */
import { describe, expect, it } from "vitest";
import { MemoryStorage, OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { deferred, settle } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

const introductionOf = (n: number, address: string | null) => ({
  node_id: String(n).padStart(32, "0"),
  public_key: String(n).padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: `machine-${n}`,
  platform: "linux",
  agent_version: "1.0.0",
  remote_address: address,
});

const stranger = "203.0.113.7";
const honest = "192.0.2.1";
const minuteMs = 60_000;

let last = 100_000;
const admit = (
  { orchestrator }: TestOrchestrator,
  address: string | null,
  n = (last += 1),
): Promise<string> =>
  servicesOf(orchestrator)
    .agents.enrolment.admit(introductionOf(n, address))
    .then(
      ({ status }) => status,
      (error: { code: string }) => error.code,
    );

async function flooded(slots = 100): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator({ pendingAgents: slots });
  for (let n = 0; n < slots; n += 1) await admit(test, stranger);
  return test;
}

async function waiting({ orchestrator }: TestOrchestrator): Promise<Record<string, number>> {
  const count: Record<string, number> = {};
  for (let cursor: string | undefined; ;) {
    const page = await orchestrator.agents.list(systemCaller, {
      status: "pending",
      ...(cursor && { cursor }),
    });
    for (const { remote_address } of page.items)
      count[remote_address ?? ""] = (count[remote_address ?? ""] ?? 0) + 1;
    if (page.next_cursor === null) return count;
    cursor = page.next_cursor;
  }
}

const checkOf = async ({ orchestrator }: TestOrchestrator) =>
  (await orchestrator.status.get(systemCaller)).checks?.find(({ name }) => name === "enrolment");

describe("a stranger who takes every slot", () => {
  it("keeps nobody else out, and gets none of theirs back", async () => {
    await using test = await flooded();
    for (let n = 0; n < 20; n += 1) expect(await admit(test, honest)).toBe("pending");
    expect(await waiting(test)).toEqual({ [honest]: 20, [stranger]: 80 });
    for (let n = 0; n < 200; n += 1) expect(await admit(test, stranger)).toBe("RATE_LIMITED");
    expect(await waiting(test)).toEqual({ [honest]: 20, [stranger]: 80 });
  });

  it("keeps out no machine behind the same address for longer than a minute", async () => {
    await using test = await flooded(10);
    expect(await admit(test, stranger)).toBe("RATE_LIMITED");
    await test.clock.advance(minuteMs);
    expect(await admit(test, stranger)).toBe("pending");
    expect(await waiting(test)).toEqual({ [stranger]: 10 });
  });

  it("nor for longer where the clock was ahead when he came", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 10 });
    test.clock.jump(86_400_000);
    for (let n = 0; n < 10; n += 1) await admit(test, stranger);
    test.clock.jump(-86_400_000);
    expect(await admit(test, stranger)).toBe("pending");
  });

  it("does not drive out who is connected, as long as others are away", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 10 });
    await using agent = await connectScriptedAgent(test, undefined, test.clock);
    for (let n = 0; n < 9; n += 1) await admit(test, stranger);
    await test.clock.advance(2 * minuteMs);
    for (let n = 0; n < 60; n += 1) {
      await admit(test, n % 2 === 0 ? stranger : `198.51.100.${n}`);
      if (n % 10 === 0) await test.clock.advance(minuteMs);
    }
    const { items } = await test.orchestrator.agents.list(systemCaller, { status: "pending" });
    expect(items).toHaveLength(10);
    expect(items.filter(({ connected }) => connected).map(({ node_id }) => node_id)).toEqual([agent.nodeId]);
  });

  it("fills no audit log: 20 a minute give way to one network, 60 to all", async () => {
    await using test = await flooded(400);
    await test.clock.advance(minuteMs);
    const events = () => test.events.filter(({ event_type }) => event_type === "agent.forgotten").length;
    for (let n = 0; n < 200; n += 1) await admit(test, honest);
    expect(events()).toBe(20);
    for (let n = 0; n < 200; n += 1) await admit(test, `198.51.${n}.1`);
    expect(events()).toBe(60);
    await test.clock.advance(minuteMs);
    await admit(test, honest);
    expect(events()).toBe(61);
  });

  it("takes nothing of what newcomers from elsewhere have, however often he comes, from however many addresses", async () => {
    await using test = await flooded(100);
    for (let minute = 0; minute < 3; minute += 1) {
      await test.clock.advance(minuteMs);
      for (let n = 0; n < 300; n += 1) await admit(test, `203.0.113.${n % 200}`);
      for (let n = 0; n < 10; n += 1) expect(await admit(test, `192.0.${minute}.${n}`)).toBe("pending");
    }
  });

  it.each(["::ffff:203.0.113.7", "::ffff:cb00:7107"])(
    "is found as what he is behind a socket of both kinds: %s",
    async (mapped) => {
      await using test = await createTestOrchestrator({ pendingAgents: 10 });
      for (let n = 0; n < 10; n += 1) await admit(test, mapped);
      for (let n = 0; n < 5; n += 1) expect(await admit(test, `::ffff:192.0.2.${n}`)).toBe("pending");
      const rejected = await test.orchestrator.agents.rejectPending(systemCaller, {
        network: "203.0.113.0/24",
      });
      expect(rejected).toEqual({ rejected: 5, remaining: 0 });
    },
  );

  it("is seen in the status and told as an event, once an hour", async () => {
    await using test = await flooded(10);
    const detail =
      "All 10 slots for agents that wait to be approved are taken, 10 of them from 203.0.113.0/24.";
    expect(await checkOf(test)).toMatchObject({ status: "failed", detail: expect.stringContaining(detail) });
    const told = () => test.events.filter(({ event_type }) => event_type === "agent.slotsTaken");
    expect(told()).toEqual([]);
    for (let n = 0; n < 5; n += 1) await admit(test, stranger);
    expect(told()).toMatchObject([{ metadata: { slots: 10, network: "203.0.113.0/24", count: 10 } }]);
    await test.clock.advance(60 * minuteMs);
    await admit(test, stranger);
    expect(told()).toHaveLength(2);
    await test.orchestrator.agents.rejectPending(systemCaller);
    expect(await checkOf(test)).toEqual({ name: "enrolment", status: "ok" });
  });

  it.each(["approved", "rejected"] as const)(
    "takes nothing from one that is %s in the moment in which it is to give way",
    async (status) => {
      const storage = new MemoryStorage();
      await using test = await createTestOrchestrator({ pendingAgents: 2, storage });
      for (const n of [1, 2]) await admit(test, stranger, n);
      await test.clock.advance(2 * minuteMs);
      const chosen = introductionOf(1, "").node_id;
      const get = storage.get.bind(storage);
      let isDecided = false;
      storage.get = async (collection, key) => {
        if (collection === "agents" && key === chosen && !isDecided) {
          isDecided = true;
          await test.orchestrator.agents.setStatus(systemCaller, { node_id: chosen, status });
        }
        return get(collection, key);
      };
      expect(await admit(test, honest, 3)).toBe("RATE_LIMITED");
      expect(isDecided).toBe(true);
      const { items } = await test.orchestrator.agents.list(systemCaller);
      expect(items.map((agent) => [agent.node_id, agent.status])).toContainEqual([chosen, status]);
      expect(test.events.map(({ event_type }) => event_type)).not.toContain("agent.forgotten");
      expect(await admit(test, honest, 3)).toBe("pending");
    },
  );

  it("is told of when all slots are taken, also where one was only about to be a moment before", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1 });
    const came = await Promise.all([admit(test, stranger, 1), admit(test, stranger, 2)]);
    expect(came.toSorted()).toEqual(["RATE_LIMITED", "pending"]);
    const told = () => test.events.filter(({ event_type }) => event_type === "agent.slotsTaken");
    expect(told()).toEqual([]);
    expect(await admit(test, honest)).toBe("RATE_LIMITED");
    await settle();
    expect(told()).toMatchObject([{ metadata: { slots: 1, count: 1 } }]);
  });

  it("takes a slot that is free by then, while another is about to give way to somebody else", async () => {
    const storage = new MemoryStorage();
    await using test = await createTestOrchestrator({ pendingAgents: 2, storage });
    for (const n of [1, 2]) await admit(test, stranger, n);
    await test.clock.advance(2 * minuteMs);
    const { promise: held, resolve: letGo } = deferred();
    const commit = storage.commit.bind(storage);
    storage.commit = async (writes, options) => {
      if (writes.some((write) => write.kind === "delete" && write.collection === "agents")) await held;
      return commit(writes, options);
    };
    const first = admit(test, honest, 3);
    await settle();
    const { node_id } = introductionOf(2, "");
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    expect(await admit(test, honest, 4)).toBe("pending");
    letGo();
    expect(await first).toBe("pending");
    const forgotten = test.events.filter(({ event_type }) => event_type === "agent.forgotten");
    expect(forgotten.map(({ target }) => target?.name)).toEqual(["machine-1"]);
  });

  it("takes no slot twice where many come at once, and none is left over", async () => {
    await using test = await flooded(10);
    const came = await Promise.all(Array.from({ length: 8 }, () => admit(test, honest)));
    const entered = came.filter((status) => status === "pending").length;
    expect(entered).toBeGreaterThan(0);
    expect(await waiting(test)).toEqual({ [honest]: entered, [stranger]: 10 - entered });
    // Who was turned away because of the others gets in when it comes again.
    for (let n = entered; n < 4; n += 1) expect(await admit(test, honest)).toBe("pending");
  });
});

describe("rejecting all that wait", () => {
  it("is done by network and by connection, and to nobody who was decided about", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    await using connected = await connectScriptedAgent(test);
    for (let n = 1; n <= 3; n += 1) await admit(test, stranger, n);
    for (let n = 4; n <= 5; n += 1) await admit(test, honest, n);
    await agents.setStatus(systemCaller, { node_id: introductionOf(1, "").node_id, status: "approved" });
    expect(await agents.rejectPending(systemCaller, { network: "203.0.113.0/24" })).toEqual({
      rejected: 2,
      remaining: 0,
    });
    expect(await agents.rejectPending(systemCaller, { connected: true })).toEqual({
      rejected: 1,
      remaining: 0,
    });
    const statuses = (await agents.list(systemCaller)).items.map(({ node_id, status }) => [node_id, status]);
    const of = (n: number): string => introductionOf(n, "").node_id;
    expect(Object.fromEntries(statuses)).toEqual({
      [of(1)]: "approved",
      [of(2)]: "rejected",
      [of(3)]: "rejected",
      [of(4)]: "pending",
      [of(5)]: "pending",
      [connected.nodeId]: "rejected",
    });
    expect(test.transport.isConnected(connected.nodeId)).toBe(false);
    expect(test.events.filter(({ event_type }) => event_type === "agent.rejected")).toHaveLength(3);
  });

  it.each(["0.0.0.0/0", "::/0", "203.0.113.0/24"])(
    "by network %s leaves those alone of whom no address is known",
    async (network) => {
      await using test = await createTestOrchestrator();
      for (const n of [1, 2]) await admit(test, null, n);
      expect(await test.orchestrator.agents.rejectPending(systemCaller, { network })).toEqual({
        rejected: 0,
        remaining: 0,
      });
    },
  );

  it("rejects a thousand in one call and tells how many are left", async () => {
    await using test = await createTestOrchestrator({ pendingAgents: 1_002 });
    for (let n = 0; n < 1_002; n += 1) await admit(test, stranger);
    const reject = () => test.orchestrator.agents.rejectPending(systemCaller);
    expect([await reject(), await reject(), await reject()]).toEqual([
      { rejected: 1_000, remaining: 2 },
      { rejected: 2, remaining: 0 },
      { rejected: 0, remaining: 0 },
    ]);
  });

  it("tells those whom it rejected, and those who remain, where the storage fails in the middle", async () => {
    const storage = new MemoryStorage();
    await using test = await createTestOrchestrator({ storage });
    for (let n = 1; n <= 3; n += 1) await admit(test, stranger, n);
    const reject = () => test.orchestrator.agents.rejectPending(systemCaller);
    const commit = storage.commit.bind(storage);
    let left = 0;
    storage.commit = (...args) =>
      (left -= 1) >= 0 ? commit(...args) : Promise.reject(new OrchestratorError("UNAVAILABLE"));
    await expect(reject()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    left = 1;
    expect(await reject()).toEqual({ rejected: 1, remaining: 2 });
    storage.commit = commit;
    expect(await reject()).toEqual({ rejected: 2, remaining: 0 });
  });

  it.each(["10.0.0", "10.0.0.0/33", "everything"])("refuses %j as a network", async (network) => {
    await using test = await createTestOrchestrator();
    await expect(test.orchestrator.agents.rejectPending(systemCaller, { network })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  });
});

it("what an agent tells of its machine is written ten times a minute, and the newest at last", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await settle();
  const versions = new Set<unknown>();
  const look = async () =>
    (await test.orchestrator.agents.attributes(systemCaller, { node_id })).attributes["n"];
  for (let n = 0; n < 100; n += 1) {
    agent.link.send({
      type: "attributes",
      attributes: { n },
      collected_at: new Date(test.clock.now()).toISOString(),
    });
    await settle();
    versions.add(await look());
  }
  expect([...versions]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await test.clock.advance(6_000);
  await settle();
  expect(await look()).toBe(99);
  agent.link.send({ type: "attributes", attributes: { n: 100 }, collected_at: "2030-01-01T00:00:00.000Z" });
  agent.link.send({ type: "attributes", attributes: { n: 101 }, collected_at: "2030-01-01T00:00:00.000Z" });
  await settle();
  await agent.link.stop();
  await settle();
  // What waited when it left is written in its turn, however often it comes and goes.
  expect(await look()).toBe(99);
  await test.clock.advance(6_000);
  expect(await look()).toBe(101);
});
