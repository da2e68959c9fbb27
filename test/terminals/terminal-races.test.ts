/** Viewers that come too early, that do not read, that say more than anybody takes, and that take a place in the middle of a flood. */
import { expect, it, vi } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { deferred } from "../support/deferred.ts";
import { openTerminal, textOf } from "../support/open-terminal.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";

const everything = Number.MAX_SAFE_INTEGER;

it("a terminal that is about to be opened shows nobody anything before it is recorded", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  const { terminals, agents } = test.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const opening = terminals.open(systemCaller, { node_id });
  const { id, session_id } = await agent.next("terminal.open");
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
  }, 10_000);
});

it("one that watches, and types all the same without reading what it is told, is cut off", async () => {
  await using scene = await openTerminal();
  const { caller } = await scene.test.signIn("Admin", "root");
  const { ticket } = await scene.terminals.ticket(caller, { session_id: scene.opened.session_id });
  const viewer = scene.attach(ticket);
  await viewer.next("opened");
  viewer.socket.pause();
  for (let n = 0; n < 50_000; n += 1) viewer.type("x");
  await vi.waitFor(() => expect(viewer.closedWith).toMatchObject({ code: 1006 }), 10_000);
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
  await vi.waitFor(() => expect(first.offset).toBeGreaterThan(1_500_000), 10_000);
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
    { timeout: 10_000, interval: 200 },
  );
  expect(second.messages.map(({ type }) => type)).toEqual(["opened"]);
  expect(shown - Number(offset)).toBeLessThanOrEqual(2 * 1_048_576 + 65_536);
  second.acknowledges = true;
  second.say({ type: "ack", offset: second.offset });
  await second.shows(/done-2\r\n/);
}, 40_000);
