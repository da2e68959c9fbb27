/** How the end of a terminal is written, where it can't be at first. */
import { expect, it, vi } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TerminalDocument } from "../../lib/terminals/documents.ts";
import { settleAll } from "../support/deferred.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";
import { waitFor } from "../support/wait-for.ts";

/** A storage that takes no end of a terminal for a while. */
class Busy extends MemoryStorage {
  isBusy = true;
  refused = 0;
  refusal: Error = new OrchestratorError("UNAVAILABLE");

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isEnd = writes.some(
      (write) =>
        write.kind === "put" && write.collection === "terminals" && write.value["closed_at"] !== undefined,
    );
    if (!this.isBusy || !isEnd) return super.commit(writes, options);
    this.refused += 1;
    throw this.refusal;
  }
}

it.each([
  new OrchestratorError("UNAVAILABLE"),
  new OrchestratorError("STORAGE_FAILED"),
  new Error("connection lost"),
])("the end of a terminal is written as soon as it can be, after: %s", async (refusal) => {
  const storage = new Busy();
  storage.refusal = refusal;
  await using scene = await openTerminal({}, { storage });
  const { session_id } = scene.opened;
  await scene.terminals.close(systemCaller, { session_id });
  expect(storage.refused).toBeGreaterThan(0);
  storage.isBusy = false;
  await scene.test.clock.advance(1_000);
  await waitFor(async () =>
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
      status: "closed",
      close_reason: "closed",
      recording: "complete",
    }),
  );
});

it("a server starts though it can't write the end of what an earlier one held, and writes it later", async () => {
  await using scene = await openTerminal();
  const { session_id } = scene.opened;
  const { clock } = scene.test;
  const data = (scene.test.storage as MemoryStorage).restoredCopy();
  const storage = new Busy({ clock, data });
  await using next = await createTestOrchestrator({ storage, clock });
  const { terminals } = next.orchestrator;
  await waitFor(() => expect(storage.refused).toBeGreaterThan(0));
  await settleAll();
  expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active" });
  storage.isBusy = false;
  await clock.advance(20_000);
  await waitFor(async () =>
    expect(await terminals.get(systemCaller, { session_id })).toMatchObject({
      status: "interrupted",
      close_reason: "server_lost",
    }),
  );
});

it("the end of one that its holder could not be asked to open is written as soon as it can be", async () => {
  const storage = new Busy();
  await using scene = await terminalsElsewhere({ storage });
  scene.services.terminals.holders.holderOf = () => "nobody";
  const opening = scene.terminals.open(systemCaller, { node_id: scene.nodeId });
  await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(storage.refused).toBeGreaterThan(0);
  const list = async () => (await scene.terminals.list(systemCaller)).items;
  expect(await list()).toMatchObject([{ status: "active" }]);
  storage.isBusy = false;
  await scene.test.clock.advance(1_000);
  await waitFor(async () => expect(await list()).toMatchObject([{ status: "interrupted" }]));
});

it("one that its holder was never asked to open ends, where who was about to was killed", async () => {
  await using scene = await openTerminal();
  const { clock, storage, orchestrator } = scene.test;
  const { session_id } = scene.opened;
  const stored = await storage.get<TerminalDocument>("terminals", session_id);
  const unasked = { ...stored!.value, session_id: "00000000-0000-7000-8000-000000000000" };
  const write = { kind: "put", collection: "terminals", key: unasked.session_id } as const;
  await storage.commit([{ ...write, value: { ...unasked } }]);
  const statusOf = async (id: string) =>
    (await orchestrator.terminals.get(systemCaller, { session_id: id })).status;
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000);
  await waitFor(async () => expect(await statusOf(unasked.session_id)).toBe("interrupted"));
  expect(await statusOf(session_id)).toBe("active");
});

it("a terminal whose time is over ends though the transport fails, and so does nothing else", async () => {
  await using scene = await openTerminal({}, { terminalIdleSeconds: 60 });
  const { session_id } = scene.opened;
  const { clock, transport, loggedErrors } = scene.test;
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  const send = vi.spyOn(transport, "send").mockRejectedValue(new Error("broken"));
  await clock.advance(60_000);
  await settleAll();
  send.mockRestore();
  await clock.advance(10_000);
  await settleAll();
  expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
    status: "interrupted",
    close_reason: "idle",
  });
  expect(loggedErrors.map(({ message }) => message)).toContain("A terminal's agent was not reached.");
});

it.each(["stops", "drains"])(
  "a terminal of a server that %s is lost with the server, not with its agent",
  async (how) => {
    await using scene = await openTerminal();
    const { events, orchestrator, transport } = scene.test;
    if (how === "stops") await orchestrator.stop();
    else {
      orchestrator.beginDrain();
      await transport.disconnect(scene.agent.nodeId, "drained");
      await scene.ended();
    }
    expect(events.findLast(({ event_type }) => event_type === "terminal.interrupted")).toMatchObject({
      metadata: { session_id: scene.opened.session_id, reason: "server_lost" },
    });
  },
);

it("who is at a terminal of a server that is about to stop is told that, and not to sign in", async () => {
  await using scene = await openTerminal();
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  scene.test.orchestrator.letGo();
  expect(await viewer.next("refused")).toMatchObject({ code: "UNAVAILABLE" });
});

/** Opens a terminal of an agent that does what the test says. */
async function openScripted(storage = new MemoryStorage()) {
  const test = await createTestOrchestrator({ storage });
  const agent = await connectScriptedAgent(test);
  const { terminals, agents } = test.orchestrator;
  await agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  const opening = terminals.open(systemCaller, { node_id: agent.nodeId });
  const { id, session_id } = await agent.next("terminal.open");
  agent.link.send({ type: "reply", id });
  const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
  viewer.say({ type: "attach", ticket: (await opening).ticket });
  await viewer.next("opened");
  return { test, agent, session_id, viewer, read: () => terminals.get(systemCaller, { session_id }) };
}

/** A storage that can't write to a recording, or make it durable, from when we say so. */
class Failing extends MemoryStorage {
  fails: "append" | "sync" | null = null;
  syncs = 0;

  override async openBlob(id: string) {
    const writer = await super.openBlob(id);
    for (const call of ["append", "sync"] as const) {
      const original = writer[call].bind(writer) as (bytes: Uint8Array) => Promise<void>;
      writer[call] = async (bytes?: Uint8Array) => {
        if (this.fails === call) throw new OrchestratorError("STORAGE_FULL");
        if (call === "sync") this.syncs += 1;
        return original(bytes as Uint8Array);
      };
    }
    return writer;
  }
}

it.each(["append", "sync"] as const)(
  "a terminal that can't be recorded any more, for its %s, shows nothing more, and its agent is told to end it at once",
  async (call) => {
    const storage = new Failing();
    const { test, agent, session_id, viewer, read } = await openScripted(storage);
    await using _test = test;
    await using _agent = agent;
    agent.link.sendStream(session_id, Buffer.from("recorded"));
    await viewer.shows(/recorded/);
    storage.fails = call;
    if (call === "append") agent.link.sendStream(session_id, Buffer.from("and lost"));
    else await test.clock.advance(1_000);
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "recording_failed" });
    const { close_reason, recording } = await read();
    expect([viewer.text, close_reason, recording]).toEqual(["recorded", "recording_failed", "partial"]);
    for (const _ of [1, 2]) expect(await agent.next("terminal.close")).toMatchObject({ session_id });
  },
);

it("what a terminal showed is on disk a second later, each time that something comes, and is not synced for nothing", async () => {
  const storage = new Failing();
  const { test, agent, session_id, viewer } = await openScripted(storage);
  await using _test = test;
  await using _agent = agent;
  await test.clock.advance(1_000);
  const synced: number[] = [];
  for (const texts of [["one"], ["two", "three"], [], ["four"]]) {
    const before = storage.syncs;
    for (const text of texts) {
      agent.link.sendStream(session_id, Buffer.from(text));
      await viewer.shows(new RegExp(text));
    }
    await test.clock.advance(1_000);
    synced.push(storage.syncs - before);
  }
  expect(synced).toEqual([1, 1, 0, 1]);
});

it.each([0, 3, undefined])(
  "a program that ended with %s, and without a word, is told so everywhere",
  async (exit_code) => {
    const { test, agent, session_id, viewer, read } = await openScripted();
    await using _test = test;
    await using _agent = agent;
    const code = exit_code === undefined ? {} : { exit_code };
    agent.link.send({ type: "terminal.closed", session_id, reason: "exit", ...code });
    await viewer.next("closed");
    const shown = exit_code === undefined ? [] : [{ type: "exit", ...code }];
    expect(viewer.messages.slice(1)).toEqual([
      ...shown,
      { type: "closed", status: "closed", reason: "exit" },
    ]);
    const stored = await read();
    expect(stored).toMatchObject({ status: "closed", recording: "complete", bytes: 0, close_reason: "exit" });
    const event = test.events.findLast(({ event_type }) => event_type === "terminal.closed");
    const { exit_code: told } = (event?.metadata ?? {}) as { exit_code?: number };
    expect([stored.exit_code, told]).toEqual([exit_code, exit_code]);
  },
);
