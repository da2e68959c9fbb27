/** What goes through a terminal: breaks, slow viewers, floods, hostile agents, ends without order. */
import { describe, expect, it, vi } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { storageSchema } from "../../lib/storage-schema.ts";
import { openTerminal, textOf } from "../support/open-terminal.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { waitFor } from "../support/wait-for.ts";

describe("a viewer", () => {
  it("that was cut off comes back and misses nothing", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const first = scene.attach(ticket);
    await first.next("opened");
    first.type("for i in 1 2 3 4 5; do echo n$i; sleep 0.05; done; echo end\n");
    await first.shows(/n1\r\n/);
    first.socket.destroy();
    const again = await scene.terminals.ticket(scene.operator.caller, { session_id });
    const second = scene.attach(again.ticket, { last_offset: first.offset });
    expect(await second.next("opened")).toMatchObject({ offset: first.offset });
    await second.shows(/end\r\n/);
    expect(first.text + second.text).toMatch(/n1\r\nn2\r\nn3\r\nn4\r\nn5\r\nend\r\n/);
  });

  it("that comes again, or comes to watch, is told the size that the terminal has now", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const first = scene.attach(ticket);
    await first.next("opened");
    first.say({ type: "resize", cols: 111, rows: 33 });
    await first.next("resized");
    const watching = await scene.terminals.ticket(systemCaller, { session_id });
    expect(await scene.attach(watching.ticket).next("opened")).toMatchObject({ cols: 111, rows: 33 });
    const again = await scene.terminals.ticket(scene.operator.caller, { session_id });
    expect(await scene.attach(again.ticket).next("opened")).toMatchObject({ cols: 111, rows: 33 });
  });

  it("that is away for a minute finds the terminal closed", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.socket.destroy();
    await vi.waitFor(async () => {
      await scene.test.clock.advance(10_000);
      expect((await scene.terminals.get(systemCaller, { session_id })).status).not.toBe("active");
    }, 30_000);
    await scene.ended();
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
      close_reason: "detached",
    });
  });

  it("that takes nothing holds the program up, and has all of it in the end", async () => {
    await using scene = await openTerminal();
    const viewer = scene.attach(scene.opened.ticket);
    await viewer.next("opened");
    await viewer.shows(/[#$] $/);
    const seen = viewer.offset;
    viewer.acknowledges = false;
    viewer.type("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo done-$((1+1))\n");
    await vi.waitFor(() => expect(viewer.offset).toBeGreaterThan(500_000), 30_000);
    expect(viewer.offset - seen).toBeLessThanOrEqual(524_288);
    viewer.acknowledges = true;
    viewer.say({ type: "ack", offset: viewer.offset });
    await vi.waitFor(() => expect(viewer.offset).toBeGreaterThan(5_000_000), 30_000);
    await viewer.shows(/done-2\r\n/);
    expect(viewer.text.match(/x+/g)?.some(({ length }) => length === 5_000_000)).toBe(true);
  }, 120_000);

  it.each([
    ["0 columns", { type: "resize", cols: 0, rows: 24 }],
    ["10^9 rows", { type: "resize", cols: 80, rows: 1e9 }],
    ["another message", { type: "exec", command: "id" }],
    ["more fields", { type: "resize", cols: 80, rows: 24, session_id: "x" }],
  ])("that sends %s is refused", async (_, message) => {
    await using scene = await openTerminal();
    const viewer = scene.attach(scene.opened.ticket);
    await viewer.next("opened");
    viewer.say(message);
    expect(await viewer.next("refused")).toMatchObject({ code: "VALIDATION_FAILED" });
  });

  it("that acknowledges less than it did before is shown what it may have by the most that it saw", async () => {
    await using scene = await openTerminal();
    const viewer = scene.attach(scene.opened.ticket);
    await viewer.next("opened");
    viewer.acknowledges = false;
    viewer.type(
      "head -c 600000 /dev/zero | tr '\\0' x; read line; head -c 300000 /dev/zero | tr '\\0' y; sleep 100\n",
    );
    await vi.waitFor(() => expect(viewer.offset).toBeGreaterThanOrEqual(524_288), 30_000);
    viewer.say({ type: "ack", offset: viewer.offset });
    viewer.say({ type: "ack", offset: 0 });
    await viewer.shows(/x{100}$/);
    viewer.type("\n");
    await vi.waitFor(() => expect(viewer.offset).toBeGreaterThan(900_000), 30_000);
  });

  it("that types before it has attached is refused, and one that says nothing after ten seconds", async () => {
    await using scene = await openTerminal();
    const accept = (socket: TestViewer["socket"]): void =>
      scene.terminals.accept(socket, scene.opened.session_id);
    const hasty = new TestViewer(accept);
    hasty.type("id\n");
    expect(await hasty.next("refused")).toMatchObject({ code: "VALIDATION_FAILED" });
    const silent = new TestViewer(accept);
    await scene.test.clock.advance(10_000);
    expect(await silent.next("refused")).toMatchObject({ code: "REQUEST_TIMEOUT" });
  });

  it("gets characters of four bytes whole in the recording, however they were cut", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.type("printf '\\360\\237'; sleep 0.2; printf '\\216\\211.\\377.'; exit\n");
    await viewer.next("closed");
    const text = await textOf(await scene.terminals.transcript(systemCaller, { session_id, format: "text" }));
    expect(text).toContain("🎉.\ufffd.");
  });
});

describe("a transcript", () => {
  it("is plain text, searched by line, of what a hostile program printed", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.type("printf '\\033]52;c;cm0K\\007\\033]0;title\\007one\\r\\ntwo\\r\\n'; exit\n");
    await viewer.next("closed");
    const read = async (more: object): Promise<string> =>
      textOf(await scene.terminals.transcript(systemCaller, { session_id, format: "text", ...more }));
    const text = await read({});
    // oxlint-disable-next-line no-control-regex -- It looks for control characters.
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(await read({ search: "TWO" })).toMatch(/^\d+: .*two.*\n/m);
  });

  it("is read while the terminal is active", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.type("echo so far\n");
    await viewer.shows(/so far\r\n/);
    expect(await textOf(await scene.terminals.transcript(systemCaller, { session_id }))).toContain("so far");
  });

  it("that was changed is noticed", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.type("exit\n");
    await viewer.next("closed");
    await scene.test.storage.appendBlob(`terminal-${session_id}`, Buffer.from('[9,"o","more"]\n'));
    await expect(scene.terminals.transcript(systemCaller, { session_id })).rejects.toMatchObject({
      code: "STORAGE_CORRUPT",
    });
  });
});

describe("an end without order", () => {
  it("of the agent is interrupted, with what was recorded", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    viewer.type("echo kept\n");
    await viewer.shows(/kept\r\n/);
    await scene.agent.agent.stop();
    expect(await viewer.next("closed")).toMatchObject({ status: "interrupted", reason: "agent_lost" });
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({ recording: "partial" });
    expect(await textOf(await scene.terminals.transcript(systemCaller, { session_id }))).toContain("kept");
  });

  it("of the server is settled at the next start", async () => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    // What is typed before the shell asks is echoed first, and its prompt stands before the answer.
    await viewer.shows(/[#$] $/);
    viewer.type("echo kept\n");
    await viewer.shows(/\r\nkept\r\n[#$] $/);
    const data = (scene.test.storage as MemoryStorage).restoredCopy();
    await using next = await createTestOrchestrator({
      storage: new MemoryStorage({ clock: scene.test.clock, data }),
    });
    const { terminals } = next.orchestrator;
    expect(await terminals.get(systemCaller, { session_id })).toMatchObject({
      status: "interrupted",
      close_reason: "server_lost",
      recording: "partial",
      bytes: viewer.offset,
    });
    expect(await textOf(await terminals.transcript(systemCaller, { session_id }))).toContain("kept");
  });
});

describe("a recording of which the end is damaged", () => {
  it.each([
    ["a line is cut off", '[1.5,"o","cut'],
    ["a hole is in it", `${"\0".repeat(100)}"o","x"]\n[2.0,"o","after"]\n`],
  ])("has whole events alone: %s", async (_, damage) => {
    await using scene = await openTerminal();
    const { session_id, ticket } = scene.opened;
    const viewer = scene.attach(ticket);
    await viewer.next("opened");
    // What is typed before the shell asks is echoed first, and its prompt stands before the answer.
    await viewer.shows(/[#$] $/);
    viewer.type("echo kept\n");
    await viewer.shows(/\r\nkept\r\n[#$] $/);
    const data = (scene.test.storage as MemoryStorage).restoredCopy();
    const storage = new MemoryStorage({ clock: scene.test.clock, data });
    await storage.open(storageSchema);
    const { length } = (await storage.readBlob(`terminal-${session_id}`))!;
    await storage.appendBlob(`terminal-${session_id}`, Buffer.from(damage), length);
    await storage.close();
    await using next = await createTestOrchestrator({
      storage: new MemoryStorage({ clock: scene.test.clock, data }),
    });
    const { terminals } = next.orchestrator;
    const cast = await textOf(await terminals.transcript(systemCaller, { session_id }));
    const lines = cast.trimEnd().split("\n");
    expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => "object"));
    expect(cast).toContain("kept");
    expect(cast).not.toContain("cut");
    const text = await textOf(await terminals.transcript(systemCaller, { session_id, format: "text" }));
    expect(text).toContain("kept");
  });
});

describe("a hostile agent", () => {
  it.each([
    ["for a terminal that it does not have", "00000000-0000-4000-8000-000000000000", 1],
    ["more than it was granted", null, 2_000_000],
  ])("that sends output %s loses its connection", async (_, other, bytes) => {
    await using test = await createTestOrchestrator();
    await using agent = await connectScriptedAgent(test);
    const { nodeId: node_id } = agent;
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
    const opening = test.orchestrator.terminals.open(systemCaller, { node_id });
    const { id, session_id } = (await agent.next("terminal.open")) as { id: string; session_id: string };
    agent.link.send({ type: "reply", id });
    await opening;
    for (let sent = 0; sent < bytes; sent += 500_000)
      agent.link.sendStream(other ?? session_id, new Uint8Array(Math.min(bytes, 500_000)));
    await waitFor(() =>
      expect(test.events).toContainEqual(expect.objectContaining({ event_type: "agent.refused" })),
    );
  });
});
