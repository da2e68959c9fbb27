/** Terminals of an agent that a test speaks for: what it may send, what viewers keep open, and whose word about an end counts. */
import { expect, it, onTestFinished } from "vitest";
import { MemoryStorage, systemCaller, type Caller, type OrchestratorOptions } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { deferred, settleAll } from "../support/deferred.ts";
import { textOf } from "../support/open-terminal.ts";
import { connectScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { waitFor } from "../support/wait-for.ts";

const mebibyte = 1_048_576;

async function openScripted(options: Partial<OrchestratorOptions> = {}) {
  const test = await createTestOrchestrator(options);
  onTestFinished(() => test[Symbol.asyncDispose]());
  const agent = await connectScriptedAgent(test, undefined, test.clock);
  onTestFinished(() => agent[Symbol.asyncDispose]());
  const { terminals, agents } = test.orchestrator;
  const { nodeId: node_id } = agent;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const opening = terminals.open(systemCaller, { node_id });
  const { id, session_id } = await agent.next("terminal.open");
  agent.link.send({ type: "reply", id });
  await opening;
  /** Somebody at the terminal: who opened it, unless another is named. */
  async function attach(more: { last_offset?: number } = {}, caller: Caller = systemCaller) {
    const { ticket } = await terminals.ticket(caller, { session_id });
    const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
    viewer.acknowledges = false;
    viewer.say({ type: "attach", ticket, ...more });
    await viewer.next("opened");
    return viewer;
  }
  return { test, agent, terminals, session_id, attach };
}

it("a program goes on for one who comes again and has seen what the one before did not acknowledge", async () => {
  const { agent, session_id, attach } = await openScripted();
  for (let sent = 0; sent < mebibyte; sent += mebibyte / 16)
    agent.link.sendStream(session_id, new Uint8Array(mebibyte / 16));
  let last_offset = 0;
  for (const upTo of [mebibyte / 2, mebibyte]) {
    const viewer = await attach({ last_offset });
    await waitFor(() => expect(viewer.offset).toBe(upTo));
    last_offset = viewer.offset;
    viewer.socket.destroy();
  }
  await attach({ last_offset });
  await waitFor(() =>
    expect(agent.commands.findLast(({ type }) => type === "terminal.grant")).toMatchObject({
      through: 2 * mebibyte,
    }),
  );
});

it("one who watches keeps no terminal open that its opener has left, and how its program ends does not say why", async () => {
  const { test, agent, terminals, session_id, attach } = await openScripted();
  const { caller } = await test.signIn("Admin", "root");
  const opener = await attach();
  const watching = await attach({}, caller);
  opener.socket.destroy();
  await settleAll();
  await test.clock.advance(60_000);
  await settleAll();
  expect(agent.commands.map(({ type }) => type)).toContain("terminal.close");
  agent.link.send({ type: "terminal.closed", session_id, reason: "exit", exit_code: 129 });
  expect(await watching.next("closed")).toMatchObject({ status: "closed", reason: "detached" });
  expect(await terminals.get(systemCaller, { session_id })).toMatchObject({
    close_reason: "detached",
    exit_code: 129,
  });
});

it("what came before a program ended is recorded and shown to the last of it, however slow the disk", async () => {
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
  const { agent, terminals, session_id, attach } = await openScripted({ storage: new SlowStorage() });
  const viewer = await attach();
  isHeld = true;
  for (const text of ["first ", "second ", "third"]) agent.link.sendStream(session_id, Buffer.from(text));
  agent.link.send({ type: "terminal.closed", session_id, reason: "exit", exit_code: 0 });
  await settleAll();
  isHeld = false;
  held.resolve();
  expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "exit" });
  expect(viewer.text).toBe("first second third");
  expect(await terminals.get(systemCaller, { session_id })).toMatchObject({
    bytes: 18,
    recording: "complete",
  });
  const text = await textOf(await terminals.transcript(systemCaller, { session_id, format: "text" }));
  expect(text.trim()).toBe("first second third");
});

it("an agent that says it took less than it said before, or more than was typed, changes nothing", async () => {
  const { agent, session_id, attach } = await openScripted();
  const viewer = await attach();
  viewer.type("0123456789");
  await waitFor(() => expect(Buffer.concat(agent.typed)).toHaveLength(10));
  for (const through of [8, 4, 11]) agent.link.send({ type: "terminal.taken", session_id, through });
  await waitFor(() =>
    expect(viewer.messages.filter(({ type }) => type === "taken").map(({ offset }) => offset)).toEqual([
      8, 8, 10,
    ]),
  );
});

it.each<[string, (link: ScriptedAgent["link"], session_id: string) => void]>([
  ["prints", (link, session_id) => link.sendStream(session_id, new TextEncoder().encode("theirs"))],
  [
    "says that it took what was typed",
    (link, session_id) => link.send({ type: "terminal.taken", session_id, through: 1 }),
  ],
  [
    "ends it",
    (link, session_id) => link.send({ type: "terminal.closed", session_id, reason: "exit", exit_code: 0 }),
  ],
])(
  "an agent that speaks for a terminal of another is cut off, and the terminal goes on: it %s",
  async (_, speak) => {
    const { test, agent, terminals, session_id, attach } = await openScripted();
    const viewer = await attach();
    const other = await connectScriptedAgent(test, undefined, test.clock);
    onTestFinished(() => other[Symbol.asyncDispose]());
    await test.orchestrator.agents.setStatus(systemCaller, { node_id: other.nodeId, status: "approved" });
    speak(other.link, session_id);
    await waitFor(() =>
      expect(test.events.find(({ event_type }) => event_type === "agent.refused")).toMatchObject({
        target: { id: other.nodeId },
      }),
    );
    agent.link.sendStream(session_id, new TextEncoder().encode("ours"));
    await waitFor(() => expect(viewer.text).toBe("ours"));
    expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active" });
  },
);
