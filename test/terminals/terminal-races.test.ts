/** Viewers that come too early, that do not read, that say more than anybody takes, and that take a place in the middle of a flood. */
import { expect, it, vi } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { deferred } from "../support/deferred.ts";
import { openTerminal, textOf } from "../support/open-terminal.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { connectScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { waitFor } from "../support/wait-for.ts";

const everything = Number.MAX_SAFE_INTEGER;

/** Asks for a terminal of an agent that has not answered yet. */
async function beginOpening({ orchestrator }: TestOrchestrator, agent: ScriptedAgent) {
  const { terminals, agents } = orchestrator;
  const { nodeId: node_id } = agent;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const opening = terminals.open(systemCaller, { node_id });
  const { id, session_id } = await agent.next("terminal.open");
  return { opening, id, session_id };
}

it("a terminal that is about to be opened shows nobody anything before it is recorded", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { terminals } = test.orchestrator;
  const { opening, id, session_id } = await beginOpening(test, agent);
  const { ticket } = await terminals.ticket(systemCaller, { session_id });
  const early = new TestViewer((socket) => terminals.accept(socket, session_id));
  early.say({ type: "attach", ticket });
  expect(await early.next("refused")).toMatchObject({ code: "INVALID_TRANSITION" });
  expect(agent.commands.map(({ type }) => type)).not.toContain("terminal.grant");
  agent.link.send({ type: "reply", id });
  const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
  viewer.say({ type: "attach", ticket: (await opening).ticket });
  await viewer.next("opened");
  agent.link.sendStream(session_id, Buffer.from("shown"));
  await viewer.shows(/shown/);
  expect(await textOf(await terminals.transcript(systemCaller, { session_id }))).toContain("shown");
});

it("one that types into an agent that takes nothing is read no further than 256 KiB and a few pieces", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { terminals } = test.orchestrator;
  const { opening, id, session_id } = await beginOpening(test, agent);
  agent.link.send({ type: "reply", id });
  const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
  viewer.say({ type: "attach", ticket: (await opening).ticket });
  await viewer.next("opened");
  const pieces = Array.from({ length: 300 }, (_, index) => Buffer.alloc(10_000, index % 250));
  for (const piece of pieces) viewer.socket.send(piece);
  const size = (): number => agent.typed.reduce((sum, { length }) => sum + length, 0);
  await waitFor(() => expect(size()).toBeGreaterThanOrEqual(262_144));
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(size()).toBeLessThanOrEqual(262_144 + 17 * 10_000);
  for (let through = size(); through < 3_000_000; through = size()) {
    agent.link.send({ type: "terminal.taken", session_id, through });
    await waitFor(() => expect(size()).toBeGreaterThan(through));
  }
  expect(Buffer.compare(Buffer.concat(agent.typed), Buffer.concat(pieces))).toBe(0);
});

it("one that takes the place of another who typed much is told how much waits, and is heard acknowledging output", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { terminals } = test.orchestrator;
  const { opening, id, session_id } = await beginOpening(test, agent);
  agent.link.send({ type: "reply", id });
  const attach = (ticket: string): TestViewer => {
    const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
    viewer.say({ type: "attach", ticket });
    return viewer;
  };
  const window = 196_608;
  const first = attach((await opening).ticket);
  await first.next("opened");
  for (let n = 0; n < 3; n += 1) first.type("x".repeat(window / 3));
  await waitFor(() => expect(Buffer.concat(agent.typed)).toHaveLength(window));
  const second = attach((await terminals.ticket(systemCaller, { session_id })).ticket);
  await second.next("opened");
  const taken = second.messages.find(({ type }) => type === "taken");
  second.type("y".repeat(window + Number(taken?.offset ?? 0)));
  const output = new Uint8Array(600_000);
  for (let at = 0; at < output.length; at += 60_000)
    agent.link.sendStream(session_id, output.subarray(at, at + 60_000));
  await vi.waitFor(() => expect(second.offset).toBe(output.length), 30_000);
  agent.link.send({ type: "terminal.taken", session_id, through: window });
  await waitFor(() => expect(second.messages.at(-1)).toEqual({ type: "taken", offset: 0 }));
});

it("a viewer that acknowledges without reading is cut off before it fills the memory", async () => {
  await using scene = await openTerminal();
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  viewer.type("yes\n");
  await viewer.shows(/y\r\ny\r\n/);
  viewer.socket.pause();
  await vi.waitFor(() => {
    viewer.say({ type: "ack", offset: everything });
    expect(viewer.closedWith).toMatchObject({ code: 1006 });
  }, 30_000);
});

it("one that watches, and types all the same without reading what it is told, is cut off", async () => {
  await using scene = await openTerminal();
  const { caller } = await scene.test.signIn("Admin", "root");
  const { ticket } = await scene.terminals.ticket(caller, { session_id: scene.opened.session_id });
  const viewer = scene.attach(ticket);
  await viewer.next("opened");
  viewer.socket.pause();
  for (let n = 0; n < 50_000; n += 1) viewer.type("x");
  await vi.waitFor(() => expect(viewer.closedWith).toMatchObject({ code: 1006 }), 30_000);
});

it("one that says more than the disk takes is read no further meanwhile", async () => {
  const held = deferred();
  let isHeld = false;
  class SlowStorage extends MemoryStorage {
    override async openBlob(id: string) {
      const writer = await super.openBlob(id);
      const append = writer.append.bind(writer);
      writer.append = async (bytes) => {
        if (isHeld) await held.promise;
        return append(bytes);
      };
      return writer;
    }
  }
  await using scene = await openTerminal({}, { storage: new SlowStorage() });
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  await viewer.shows(/[#$] $/);
  isHeld = true;
  for (let n = 0; n < 1_000; n += 1) viewer.say({ type: "resize", cols: 80 + (n % 2), rows: 24 });
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  const waiting = viewer.socket.bufferedBytes;
  isHeld = false;
  held.resolve();
  expect(waiting).toBeGreaterThan(900 * 30);
  viewer.type("echo on-$((1+1))\n");
  await viewer.shows(/on-2/);
});

it("one that takes the place of another in a flood holds it up, and is not sent away as too slow", async () => {
  await using scene = await openTerminal();
  const { session_id, ticket } = scene.opened;
  const first = scene.attach(ticket);
  await first.next("opened");
  first.type("head -c 6000000 /dev/zero | tr '\\0' x; echo done-$((1+1)); sleep 100\n");
  await vi.waitFor(() => expect(first.offset).toBeGreaterThan(1_500_000), 30_000);
  const again = await scene.terminals.ticket(scene.operator.caller, { session_id });
  const second = scene.attach(again.ticket);
  second.acknowledges = false;
  const { offset } = await second.next("opened");
  expect(first.messages.at(-1)).toMatchObject({ reason: "attached_elsewhere" });
  // Until the program has printed all that was granted before, and waits.
  let shown = -1;
  await vi.waitFor(
    async () => {
      const before = shown;
      shown = (await scene.terminals.get(systemCaller, { session_id })).bytes;
      expect(shown).toBe(before);
    },
    { timeout: 30_000, interval: 200 },
  );
  expect(second.messages.map(({ type }) => type)).toEqual(["opened"]);
  expect(shown - Number(offset)).toBeLessThanOrEqual(2 * 1_048_576 + 65_536);
  second.acknowledges = true;
  second.say({ type: "ack", offset: second.offset });
  await second.shows(/done-2\r\n/);
}, 120_000);

it("a terminal whose end somebody else wrote in the same moment keeps that one, and is told of once", async () => {
  const isEnd = (writes: readonly Write[]): boolean =>
    writes.some(
      (write) =>
        write.kind === "put" && write.collection === "terminals" && write.value["status"] !== "active",
    );
  const storage = new RacingStorage(isEnd);
  await using scene = await openTerminal({}, { storage });
  const { session_id } = scene.opened;
  storage.before = async () => {
    const stored = await storage.get<JsonObject>("terminals", session_id);
    const value = { ...stored!.value, status: "interrupted", close_reason: "server_lost" };
    await storage.commit([{ kind: "put", collection: "terminals", key: session_id, value }]);
  };
  await scene.terminals.close(systemCaller, { session_id });
  await waitFor(() => expect(storage.before).toBeNull());
  await waitFor(async () =>
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({ status: "interrupted" }),
  );
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
    close_reason: "server_lost",
  });
  expect(scene.test.events.filter(({ event_type }) => event_type === "terminal.closed")).toEqual([]);
});
