/** Terminals of which another process of the cluster holds the agent. */
import { describe, expect, it, vi } from "vitest";
import { nodeCrypto, silentLogger, systemCaller } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { eventOf } from "../support/fleet.ts";
import { textOf } from "../support/open-terminal.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";
import { waitFor } from "../support/wait-for.ts";

async function opened() {
  const scene = await terminalsElsewhere();
  const operator = await scene.test.signIn("Operator", "ada");
  const { caller } = operator;
  const terminal = await scene.terminals.open(caller, { node_id: scene.nodeId, shell: "/bin/sh" });
  return { scene, caller, operator, ...terminal };
}

describe("a terminal that another process holds", () => {
  it("is opened, typed to, resized, listed, recorded, and ends with its exit code", async () => {
    const { scene, caller, session_id, ticket } = await opened();
    await using _ = scene;
    expect(scene.services.terminals.size).toBe(0);
    const viewer = scene.attach(session_id, ticket);
    expect(await viewer.next("opened")).toMatchObject({ types: true });
    viewer.say({ type: "resize", cols: 120, rows: 40 });
    viewer.type("stty size; echo $((40+2))\n");
    await viewer.shows(/40 120\r\n42\r\n.*[#$] $/s);
    for (const face of [scene.terminals, scene.test.orchestrator.terminals])
      expect((await face.list(caller)).items).toMatchObject([
        { session_id, status: "active", viewers: 1, bytes: viewer.offset },
      ]);
    expect(await textOf(await scene.terminals.transcript(caller, { session_id }))).toContain("42");
    viewer.type("exit 7\n");
    expect(await viewer.next("exit")).toMatchObject({ exit_code: 7 });
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "exit" });
    await waitFor(() => expect(viewer.closedWith).toMatchObject({ code: 1000 }));
    expect(await scene.terminals.get(caller, { session_id })).toMatchObject({
      status: "closed",
      recording: "complete",
      bytes: viewer.offset,
      viewers: 0,
    });
  });

  it("shows 5 MB whole, to a viewer that takes it slowly, too", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    await viewer.shows(/[#$] $/);
    const seen = viewer.offset;
    viewer.acknowledges = false;
    viewer.type("head -c 5000000 /dev/zero | tr '\\0' x; echo; exit\n");
    await waitFor(() => expect(viewer.offset - seen).toBe(524_288));
    viewer.acknowledges = true;
    viewer.say({ type: "ack", offset: viewer.offset });
    await viewer.next("closed");
    expect(viewer.text.match(/x+/g)?.some(({ length }) => length === 5_000_000)).toBe(true);
  }, 120_000);

  it("cuts a viewer off that acknowledges without reading, before it fills the memory here", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    viewer.type("yes\n");
    await viewer.shows(/y\r\ny\r\n/);
    viewer.socket.pause();
    await vi.waitFor(() => {
      viewer.say({ type: "ack", offset: Number.MAX_SAFE_INTEGER });
      expect(viewer.closedWith).toMatchObject({ code: 1006 });
    }, 30_000);
    await waitFor(async () =>
      expect((await scene.terminals.get(systemCaller, { session_id })).viewers).toBe(0),
    );
  }, 120_000);

  it("is closed from here", async () => {
    const { scene, caller, session_id, ticket } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    await scene.terminals.close(caller, { session_id });
    expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "closed" });
  });

  it("is seen no more by an operator who signs out here", async () => {
    const { scene, session_id, ticket, operator } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    await scene.test.orchestrator.access.signOut(operator.caller);
    expect(await viewer.next("refused")).toMatchObject({ code: "UNAUTHENTICATED" });
    await waitFor(async () =>
      expect((await scene.terminals.get(systemCaller, { session_id })).viewers).toBe(0),
    );
  });

  it("is never seen by an operator whose session ends while the way to it is opened", async () => {
    const { scene, session_id, ticket, operator } = await opened();
    await using _ = scene;
    const { cluster } = scene.context;
    const open = cluster.open.bind(cluster);
    cluster.open = async (...way) => {
      const pipe = await open(...way);
      await scene.test.orchestrator.access.signOut(operator.caller);
      await settleAll();
      return pipe;
    };
    const viewer = scene.attach(session_id, ticket);
    expect(await viewer.next("refused")).toMatchObject({ code: "UNAUTHENTICATED" });
    await waitFor(async () =>
      expect((await scene.terminals.get(systemCaller, { session_id })).viewers).toBe(0),
    );
    expect(viewer.messages.map(({ type }) => type)).not.toContain("opened");
  });

  it("is attached to again where the way between the processes broke, and nothing is missed", async () => {
    const { scene, caller, session_id, ticket } = await opened();
    await using _ = scene;
    const first = scene.attach(session_id, ticket);
    await first.next("opened");
    // What is typed before the shell asks is echoed first, and its prompt stands before the answer.
    await first.shows(/[#$] $/);
    first.type("echo one\n");
    await first.shows(/\r\none\r\n[#$] $/);
    await scene.here.stop();
    await waitFor(() => expect(first.closedWith).toEqual({ code: 1013, reason: "UNAVAILABLE" }));
    const other = scene.test.orchestrator.terminals;
    const again = await other.ticket(caller, { session_id });
    const second = new TestViewer((socket) => other.accept(socket, session_id));
    second.say({ type: "attach", ticket: again.ticket, last_offset: first.offset });
    second.type("echo two\n");
    await second.shows(/two\r\n/);
    expect(second.text).not.toContain("one");
  });

  it("is to be attached to again at another process where the one between is about to stop", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    scene.context.leaving.abort();
    await waitFor(() => expect(viewer.closedWith).toEqual({ code: 1013, reason: "UNAVAILABLE" }));
    expect(viewer.messages.map(({ type }) => type)).not.toContain("refused");
  });

  it("that the holder refuses has ended, with its event", async () => {
    await using scene = await terminalsElsewhere();
    const opening = scene.terminals.open(systemCaller, { node_id: scene.nodeId, shell: "/no/such/shell" });
    await expect(opening).rejects.toMatchObject({ code: "HOST_ERROR" });
    expect((await scene.terminals.list(systemCaller)).items).toMatchObject([
      { status: "interrupted", close_reason: "refused", recording: "missing" },
    ]);
  });

  it("of a holder that is not there is not opened, and has ended", async () => {
    await using scene = await terminalsElsewhere();
    scene.services.terminals.holders.holderOf = () => "nobody";
    const opening = scene.terminals.open(systemCaller, { node_id: scene.nodeId });
    await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect((await scene.terminals.list(systemCaller)).items).toMatchObject([
      { status: "interrupted", recording: "missing" },
    ]);
  });
});

describe("a process that starts", () => {
  it("leaves terminals alone whose holder is there, and settles those of one that is gone", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    const { storage } = scene.test;
    const stored = await storage.get("terminals", session_id);
    const lost = { ...stored!.value, session_id: "00000000-0000-7000-8000-000000000000", holder: "gone" };
    await storage.commit([{ kind: "put", collection: "terminals", key: lost.session_id, value: lost }]);
    const again = await scene.services.terminals.start();
    await eventOf(scene.test, "terminal.interrupted", lost.session_id);
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active" });
    expect(await scene.terminals.get(systemCaller, { session_id: lost.session_id })).toMatchObject({
      status: "interrupted",
      close_reason: "server_lost",
    });
    await again();
  });
});

/** A terminal as a third process of the cluster would have left it, which answers until it is killed. */
async function heldByThird(scene: Awaited<ReturnType<typeof terminalsElsewhere>>) {
  const { clock, storage } = scene.test;
  const third = scene.cluster.member();
  const calls = new Map([["terminals.figures", async () => ({})]]);
  await third.start({ clock, crypto: nodeCrypto, logger: silentLogger }, { calls, pipes: new Map() });
  const { session_id } = await scene.terminals.open(systemCaller, {
    node_id: scene.nodeId,
    shell: "/bin/sh",
  });
  const stored = await storage.get("terminals", session_id);
  const held = { ...stored!.value, session_id: "00000000-0000-7000-8000-000000000000", holder: third.name };
  const writer = await storage.openBlob(`terminal-${held.session_id}`);
  await writer.append(Buffer.from('{"version":2}\n[0.1,"o","shown"]\n[0.2,"o","cut o'));
  await writer.close();
  await storage.commit([{ kind: "put", collection: "terminals", key: held.session_id, value: held }]);
  const get = () => scene.terminals.get(systemCaller, { session_id: held.session_id });
  return { third, get, session_id: held.session_id };
}

describe("a process that goes on", () => {
  it("settles what another holds from when that one is killed, and keeps what was recorded", async () => {
    await using scene = await terminalsElsewhere();
    const { clock } = scene.test;
    const { third, get, session_id } = await heldByThird(scene);
    await clock.advance(20_000);
    await settleAll();
    expect(await get()).toMatchObject({ status: "active" });
    scene.cluster.kill(third);
    await clock.advance(20_000);
    await eventOf(scene.test, "terminal.interrupted", session_id);
    expect(await get()).toMatchObject({
      status: "interrupted",
      close_reason: "server_lost",
      recording: "partial",
      bytes: 5,
    });
    const text = await scene.terminals.transcript(systemCaller, { session_id, format: "text" });
    expect(await textOf(text)).toBe("shown");
    await third.stop();
  });

  it("leaves alone what another holds that it can't ask", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const { clock, orchestrator } = scene.test;
    const viewer = new TestViewer((socket) => orchestrator.terminals.accept(socket, session_id));
    viewer.say({ type: "attach", ticket });
    await viewer.next("opened");
    scene.cluster.cut(scene.here, scene.there);
    for (let seconds = 0; seconds < 90; seconds += 2) {
      await clock.advance(2_000);
      await settleAll();
    }
    viewer.type("echo on-$((1+1))\n");
    await viewer.shows(/on-2/);
    const stored = await scene.test.storage.get("terminals", session_id);
    expect(stored!.value).toMatchObject({ status: "active" });
  });

  it("ends what it holds where another took it for gone, with its program", async () => {
    const { scene, session_id, ticket } = await opened();
    await using _ = scene;
    const { storage, orchestrator } = scene.test;
    const viewer = new TestViewer((socket) => orchestrator.terminals.accept(socket, session_id));
    viewer.say({ type: "attach", ticket });
    await viewer.next("opened");
    viewer.type("echo pid:$$:\n");
    await viewer.shows(/pid:\d+:/);
    const pid = Number(/pid:(\d+):/.exec(viewer.text)![1]);
    const stored = await storage.get("terminals", session_id);
    const value = { ...stored!.value, status: "interrupted", close_reason: "server_lost" };
    await storage.commit([{ kind: "put", collection: "terminals", key: session_id, value }]);
    expect(await viewer.next("closed")).toMatchObject({ status: "interrupted", reason: "server_lost" });
    await waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  });
});
