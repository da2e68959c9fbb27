/** How long terminals last, how many there may be, and what happens where one side is slow. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { newFolders, startApprovedAgent } from "../support/fleet.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { waitFor } from "../support/wait-for.ts";

async function attached(options: Parameters<typeof openTerminal>[1] = {}) {
  const scene = await openTerminal({}, options);
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  await viewer.shows(/[#$] $/);
  return { scene, viewer };
}

describe("a terminal", () => {
  it("into which nobody types is closed after its time, whatever it prints", async () => {
    const { scene, viewer } = await attached({ terminalIdleSeconds: 60 });
    await using _ = scene;
    await scene.test.clock.advance(50_000);
    viewer.type("while :; do echo on; sleep 0.02; done\n");
    await viewer.shows(/on\r\non\r\n/);
    await scene.test.clock.advance(59_000);
    expect(viewer.messages.map(({ type }) => type)).not.toContain("closed");
    await scene.test.clock.advance(1_000);
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "idle" });
  });

  it("is closed when it has lasted for its longest time, whoever types", async () => {
    const { scene, viewer } = await attached({ terminalIdleSeconds: 60, terminalMaxSeconds: 120 });
    await using _ = scene;
    for (let seconds = 0; seconds < 120; seconds += 30) {
      expect(viewer.messages.map(({ type }) => type)).not.toContain("closed");
      const before = viewer.offset;
      viewer.type("echo here\n");
      await waitFor(() => expect(viewer.offset).toBeGreaterThan(before + 10));
      await scene.test.clock.advance(30_000);
    }
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "too_long" });
  });

  it("takes one of so many places, and those of a server that was killed are free again", async () => {
    await using scene = await openTerminal({}, { terminalSessions: 2 });
    const open = (terminals = scene.terminals, node_id = scene.agent.nodeId) =>
      terminals.open(systemCaller, { node_id, shell: "/bin/sh" });
    await open();
    await expect(open()).rejects.toMatchObject({ code: "TOO_MANY_TERMINALS" });
    const data = (scene.test.storage as MemoryStorage).restoredCopy();
    await scene.agent.agent.stop();
    await using next = await createTestOrchestrator({
      terminalSessions: 2,
      storage: new MemoryStorage({ clock: scene.test.clock, data }),
    });
    await next.orchestrator.restores.resume(systemCaller);
    await using agent = await startApprovedAgent(next, { ...newFolders(), clock: next.clock });
    const { terminals } = next.orchestrator;
    for (const _ of [1, 2]) await open(terminals, agent.nodeId);
    await expect(open(terminals, agent.nodeId)).rejects.toMatchObject({ code: "TOO_MANY_TERMINALS" });
    expect((await terminals.list(systemCaller, { status: "active" })).items).toHaveLength(2);
    expect((await terminals.list(systemCaller, { status: "interrupted" })).items).toHaveLength(2);
  });
});

describe("who may say no on the machine", () => {
  it("does, before anything is run", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await startApprovedAgent(test, {
      ...newFolders(),
      clock: test.clock,
      terminals: false,
    });
    const { terminals } = test.orchestrator;
    const opening = terminals.open(systemCaller, { node_id: agent.nodeId });
    await expect(opening).rejects.toMatchObject({ code: "TERMINALS_REFUSED" });
    expect((await terminals.list(systemCaller)).items).toMatchObject([
      { status: "interrupted", close_reason: "refused" },
    ]);
  });

  it.skipIf(process.getuid?.() !== 0)("names another user (needs root)", async () => {
    await using test = await createTestOrchestrator();
    const terminals = { user: "nobody", shell: "/bin/sh" };
    await using agent = await startApprovedAgent(test, { ...newFolders(), clock: test.clock, terminals });
    const opened = await test.orchestrator.terminals.open(systemCaller, { node_id: agent.nodeId });
    const viewer = new TestViewer((socket) => test.orchestrator.terminals.accept(socket, opened.session_id));
    viewer.say({ type: "attach", ticket: opened.ticket });
    await viewer.shows(/[#$] $/);
    viewer.type("id -un; id -G; echo $USER; cat /etc/shadow; exit\n");
    await viewer.next("closed");
    expect(viewer.text).toMatch(/\nnobody\r\n(\d+)\r\nnobody\r\n.*[Pp]ermission denied/s);
  });

  it("names a user that there is not", async () => {
    await using test = await createTestOrchestrator();
    const terminals = { user: "no-such-user" };
    await using agent = await startApprovedAgent(test, { ...newFolders(), clock: test.clock, terminals });
    const opening = test.orchestrator.terminals.open(systemCaller, { node_id: agent.nodeId });
    await expect(opening).rejects.toMatchObject({ code: "TERMINALS_UNAVAILABLE" });
  });
});

describe("input", () => {
  it("waits for a program that does not read, and comes whole when it does", async () => {
    const { scene, viewer } = await attached();
    await using _ = scene;
    const goOn = join(temporaryFolder(), "go-on");
    const waits = `while [ ! -e ${goOn} ]; do sleep 0.05; done`;
    viewer.type(
      `stty raw -echo; echo wait-$((1+1)); ${waits}; head -c 1000000 | tr -d x | wc -c; echo all\n`,
    );
    await viewer.shows(/wait-2/);
    const piece = "x".repeat(50_000);
    for (let sent = 0; sent < 1_000_000; sent += piece.length) viewer.type(piece);
    await waitFor(() => expect(viewer.socket.bufferedBytes).toBeGreaterThan(500_000));
    writeFileSync(goOn, "");
    await viewer.shows(/wait-2.*\D0\s+all/s);
    expect(viewer.socket.bufferedBytes).toBe(0);
  });

  it("that nobody ever reads is held outside, and the terminal can be closed", async () => {
    const { scene, viewer } = await attached();
    await using _ = scene;
    viewer.type("stty raw -echo; echo wait-$((1+1)); sleep 1000\n");
    await viewer.shows(/wait-2/);
    for (let sent = 0; sent < 100; sent += 1) viewer.type("x".repeat(65_536));
    await waitFor(() => expect(viewer.socket.bufferedBytes).toBeGreaterThan(5_500_000));
    const before = viewer.socket.bufferedBytes;
    await scene.terminals.close(systemCaller, { session_id: scene.opened.session_id });
    expect(await viewer.next("closed")).toMatchObject({ reason: "closed" });
    expect(before).toBeLessThan(100 * 65_536);
  });
});

describe("a viewer that falls behind", () => {
  it("is sent away, and costs neither the others nor the server more than the window", async () => {
    const { scene, viewer } = await attached();
    await using _ = scene;
    const { session_id } = scene.opened;
    const { caller } = await scene.test.signIn("Admin", "root");
    const slow = scene.attach((await scene.terminals.ticket(caller, { session_id })).ticket);
    slow.acknowledges = false;
    await slow.next("opened");
    viewer.type("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo done-$((1+1))\n");
    await viewer.shows(/done-2\r\n/);
    expect(await slow.next("refused")).toMatchObject({ code: "RATE_LIMITED" });
    expect(slow.offset).toBeLessThanOrEqual(524_288 + 65_536);
    expect(viewer.text.match(/x+/g)?.some(({ length }) => length === 5_000_000)).toBe(true);
  });

  it("has all of it where the program ends before it has acknowledged what came", async () => {
    const { scene, viewer } = await attached();
    await using _ = scene;
    viewer.acknowledges = false;
    viewer.type("head -c 900000 /dev/zero | tr '\\0' x; exit\n");
    await viewer.next("closed");
    expect(viewer.text.match(/x+/g)?.some(({ length }) => length === 900_000)).toBe(true);
  });
});
