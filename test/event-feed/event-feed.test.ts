import { describe, expect, it, vi } from "vitest";
import { silentLogger, systemCaller } from "fleetwright";
import type { Caller, EventPattern, EventStreamItem, Logger, Tracked } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { startAgent } from "../support/fleet.ts";
import { SideClock } from "../support/side-clock.ts";
import { handlesOf } from "../support/two-processes.ts";

type Stream = AsyncGenerator<Tracked<EventStreamItem>, void>;

async function next(stream: Stream): Promise<Tracked<EventStreamItem>> {
  const { done, value } = await stream.next();
  if (done === true) throw new Error("The stream has ended.");
  return value;
}

const typeOf = ({ item }: Tracked<EventStreamItem>): string =>
  item.type === "event" ? item.event.event_type : item.type;

const newModule = (name: string) => ({ content: `name: ${name}\nresources: []\n` });

describe("the stream of events", () => {
  it("begins with its position and then tells each event after it is on disk", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Viewer");
    const stream = test.orchestrator.events.stream(caller);
    expect(typeOf(await next(stream))).toBe("position");
    await test.orchestrator.modules.upload(systemCaller, newModule("web"));
    const told = await next(stream);
    expect(told.item).toEqual({ type: "event", event: test.events.at(-1) });
    await stream.return();
  });

  it("goes on after the last item that was read, and is reset for an item of another process", async () => {
    await using test = await createTestOrchestrator();
    const { events, modules } = test.orchestrator;
    const first = events.stream(systemCaller);
    const { id: lastEventId } = await next(first);
    await first.return();
    await modules.upload(systemCaller, newModule("while-away"));
    const again = events.stream(systemCaller, { lastEventId });
    expect([typeOf(await next(again)), typeOf(await next(again))]).toEqual(["position", "module.uploaded"]);
    await again.return();
    const elsewhere = events.stream(systemCaller, { lastEventId: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11-4" });
    expect(typeOf(await next(elsewhere))).toBe("reset");
    await elsewhere.return();
  });

  it("is told by a feed that goes on where a listener fails", async () => {
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
    await using test = await createTestOrchestrator({ logger });
    const heard: string[] = [];
    const fails = test.orchestrator.listen(() => {
      throw new Error("of an embedder");
    });
    test.orchestrator.listen(({ event_type }) => void heard.push(event_type));
    const stream = test.orchestrator.events.stream(systemCaller);
    await next(stream);
    await test.orchestrator.modules.upload(systemCaller, newModule("web"));
    expect([heard, typeOf(await next(stream))]).toEqual([["module.uploaded"], "module.uploaded"]);
    expect(errors).toEqual(["A listener failed."]);
    fails();
    await stream.return();
  });

  it("is told by a feed that goes on where a listener's promise is rejected", async () => {
    const errors: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (_, fields) => void errors.push(fields?.["error"]) };
    await using test = await createTestOrchestrator({ logger });
    const fault = new Error("of an embedder");
    const fails = (): unknown => Promise.reject(fault);
    const ends = [test.orchestrator.listen(fails), test.orchestrator.listen(["module.*"], fails)];
    await test.orchestrator.modules.upload(systemCaller, newModule("web"));
    await vi.waitFor(() => expect(errors).toEqual([fault, fault]));
    for (const end of ends) end();
  });

  it("can be of some types, of a kind, and of one agent", async () => {
    await using test = await createTestOrchestrator();
    const { events, modules, agents } = test.orchestrator;
    const ofModules = events.stream(systemCaller, { types: ["module.removed"] });
    const ofAgents = events.stream(systemCaller, { types: ["agent.*"] });
    await Promise.all([next(ofModules), next(ofAgents)]);
    await using agent = await startAgent(test);
    const ofOne = events.stream(systemCaller, { node_id: agent.nodeId });
    await next(ofOne);
    await modules.upload(systemCaller, newModule("web"));
    await modules.remove(systemCaller, { name: "web" });
    await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    expect(typeOf(await next(ofModules))).toBe("module.removed");
    expect(typeOf(await next(ofAgents))).toBe("agent.enrolled");
    expect(typeOf(await next(ofOne))).toBe("agent.approved");
    await Promise.all([ofModules.return(), ofAgents.return(), ofOne.return()]);
  });

  it.each([["agent"], ["nothing.*"], ["toString"], ["agent.connected "]])(
    "refuses the type %j",
    async (type) => {
      await using test = await createTestOrchestrator();
      const stream = test.orchestrator.events.stream(systemCaller, { types: [type as EventPattern] });
      await expect(stream.next()).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    },
  );
});

describe("a stream ends with the right to read it", () => {
  const endings: [
    string,
    (test: Awaited<ReturnType<typeof createTestOrchestrator>>, caller: Caller) => Promise<unknown>,
  ][] = [
    ["the operator signs out", ({ orchestrator }, caller) => orchestrator.access.signOut(caller)],
    [
      "the operator is removed",
      ({ orchestrator }, caller) =>
        orchestrator.operators.remove(systemCaller, {
          operator_id: caller.kind === "operator" ? caller.operator_id : "",
        }),
    ],
    [
      "the operator gets another role",
      ({ orchestrator }, caller) =>
        orchestrator.operators.setRole(systemCaller, {
          operator_id: caller.kind === "operator" ? caller.operator_id : "",
          role: "Operator",
        }),
    ],
    ["the session expires", ({ clock }) => clock.advance(3_700_000)],
    ["the orchestrator stops", ({ orchestrator }) => orchestrator.stop()],
  ];

  it.each(endings)("when %s", async (_when, end) => {
    await using test = await createTestOrchestrator();
    await test.signIn("Admin");
    const { caller } = await test.signIn("Viewer");
    const stream = test.orchestrator.events.stream(caller, { types: ["module.*"] });
    await next(stream);
    const ended = stream.next();
    await end(test, caller);
    expect(await ended).toEqual({ done: true, value: undefined });
  });

  it("does not begin where somebody ended the session just before", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Viewer");
    await test.orchestrator.access.signOut(caller);
    const stream = test.orchestrator.events.stream(caller, { types: ["module.*"] });
    await expect(stream.next()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  });

  it("also when the session was over just before the stream began", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Viewer");
    await test.clock.advance(3_600_000);
    const stream = test.orchestrator.events.stream(caller, { types: ["module.*"] });
    await next(stream);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it("and not when another's session ends", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Viewer");
    const other = await test.signIn("Operator");
    const stream = test.orchestrator.events.stream(caller, { types: ["module.*"] });
    await next(stream);
    await test.orchestrator.access.signOut(other.caller);
    await test.orchestrator.modules.upload(systemCaller, newModule("web"));
    expect(typeOf(await next(stream))).toBe("module.uploaded");
    await stream.return();
  });
});

it("a session may hold 32 streams open, and another one when one of them has ended", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const streams = Array.from({ length: 32 }, () => test.orchestrator.events.stream(caller));
  await Promise.all(streams.map(next));
  const surplus = test.orchestrator.events.stream(caller);
  await expect(surplus.next()).rejects.toMatchObject({ code: "RATE_LIMITED" });
  await streams[0]?.return();
  expect(typeOf(await next((streams[0] = test.orchestrator.events.stream(caller))))).toBe("position");
  await Promise.all(streams.map((stream) => stream.return()));
});

it("a stranger gets nothing", async () => {
  await using test = await createTestOrchestrator();
  const stream = test.orchestrator.events.stream({ kind: "anonymous" });
  await expect(stream.next()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

it("each event has an id past those before it, also where the clocks of two processes are apart", async () => {
  const clock = new FakeClock();
  const behind = new SideClock(clock);
  behind.wallOffsetMs = -60_000;
  const handle = handlesOf(new MemoryStorage({ clock }));
  await using first = await createTestOrchestrator({ clock, storage: handle() });
  await using second = await createTestOrchestrator({ clock: behind, storage: handle() });
  for (const [at, { orchestrator }] of [first, second, first, second].entries()) {
    await clock.advance(1_000);
    await orchestrator.modules.upload(systemCaller, newModule(`module-${at}`));
  }
  const ids = second.events.map(({ id }) => id);
  expect(ids).toHaveLength(4);
  expect(ids).toEqual(ids.toSorted());
});
