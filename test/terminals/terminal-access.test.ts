/** Who may see and do what with a terminal, and tickets that are no good. */
import { describe, expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { waitFor } from "../support/wait-for.ts";

describe("a ticket", () => {
  it("works once", async () => {
    await using scene = await openTerminal();
    const first = scene.attach(scene.opened.ticket);
    await first.next("opened");
    const second = scene.attach(scene.opened.ticket);
    expect(await second.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
  });

  it("works once where two come with it in the same moment", async () => {
    await using scene = await openTerminal();
    const both = [scene.attach(scene.opened.ticket), scene.attach(scene.opened.ticket)];
    await expect.poll(() => both.every(({ messages }) => messages.length > 0)).toBe(true);
    expect(both.map(({ messages }) => messages[0]!.type).toSorted()).toEqual(["opened", "refused"]);
    const refused = both.flatMap(({ messages }) => messages).find(({ type }) => type === "refused");
    expect(refused).toMatchObject({ code: "TICKET_INVALID" });
  });

  it("works for 30 seconds", async () => {
    await using scene = await openTerminal();
    await scene.test.clock.advance(30_000);
    const late = scene.attach(scene.opened.ticket);
    expect(await late.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
  });

  it("works to the end of these, however many are made meanwhile", async () => {
    await using scene = await openTerminal();
    const { session_id } = scene.opened;
    const ask = () => scene.terminals.ticket(scene.operator.caller, { session_id });
    const tickets = [scene.opened, await ask(), await ask()];
    await scene.test.clock.advance(29_000);
    await ask();
    await scene.test.clock.advance(999);
    for (const { ticket } of tickets)
      expect(await scene.attach(ticket).next("opened")).toMatchObject({ types: true });
  });

  it("that nobody used in time is kept no longer than until the next one is made", async () => {
    const storage = new MemoryStorage();
    await using scene = await openTerminal({}, { storage });
    const { session_id } = scene.opened;
    const ask = () => scene.terminals.ticket(scene.operator.caller, { session_id });
    const kept = async () => (await storage.list("terminal_tickets", {})).items.length;
    await ask();
    await ask();
    expect(await kept()).toBe(3);
    await scene.test.clock.advance(30_001);
    await ask();
    expect(await kept()).toBe(1);
    await scene.test.clock.advance(30_001);
    await scene.terminals.open(scene.operator.caller, { node_id: scene.agent.nodeId, shell: "/bin/sh" });
    expect(await kept()).toBe(1);
  });

  it("works for no other terminal", async () => {
    await using scene = await openTerminal();
    const other = await scene.terminals.open(scene.operator.caller, {
      node_id: scene.agent.nodeId,
      shell: "/bin/sh",
    });
    const viewer = scene.attach(other.ticket);
    expect(await viewer.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
    // Nor for its own, once it was shown elsewhere.
    const own = new TestViewer((socket) => scene.terminals.accept(socket, other.session_id));
    own.say({ type: "attach", ticket: other.ticket });
    expect(await own.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
  });

  it("is no good when the session of its operator has ended", async () => {
    await using scene = await openTerminal();
    await scene.test.orchestrator.access.signOut(scene.operator.caller);
    const viewer = scene.attach(scene.opened.ticket);
    expect(await viewer.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
  });

  it.each(["", "00", "zz".repeat(32), "0".repeat(64)])("is not %j", async (ticket) => {
    await using scene = await openTerminal();
    const viewer = scene.attach(ticket);
    expect(await viewer.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
  });
});

describe("somebody else's terminal", () => {
  it("is neither read, closed nor attached to by an Operator", async () => {
    await using scene = await openTerminal();
    const { session_id } = scene.opened;
    const { caller } = await scene.test.signIn("Operator", "bob");
    const { terminals } = scene;
    for (const call of [
      terminals.ticket(caller, { session_id }),
      terminals.close(caller, { session_id }),
      terminals.transcript(caller, { session_id }),
    ])
      await expect(call).rejects.toMatchObject({ code: "FORBIDDEN" });
    const denied = scene.test.events.filter(({ event_type }) => event_type === "access.denied");
    expect(denied.map(({ metadata }) => metadata)).toEqual(
      ["ticket", "close", "transcript"].map((verb) => ({ permission: `terminals.${verb}`, needed: "Admin" })),
    );
    expect(denied[0]).toMatchObject({ actor: { name: "bob" }, target: { type: "terminal", id: session_id } });
  });

  it("is watched by an Admin, who can't type nor resize, and that is in the audit log", async () => {
    await using scene = await openTerminal();
    const { session_id } = scene.opened;
    const opener = scene.attach(scene.opened.ticket);
    await opener.next("opened");
    const { caller } = await scene.test.signIn("Admin", "root");
    const { ticket } = await scene.terminals.ticket(caller, { session_id });
    const admin = scene.attach(ticket);
    expect(await admin.next("opened")).toMatchObject({ types: false });
    admin.type("echo no\n");
    expect(await admin.next("warning")).toMatchObject({ code: "FORBIDDEN" });
    opener.type("echo $((6*7))\n");
    await opener.shows(/42\r\n/);
    await admin.shows(/42\r\n/);
    expect(opener.text).not.toContain("echo no");
    expect(scene.test.events.map(({ event_type }) => event_type)).toContain("terminal.watched");
    await scene.terminals.close(caller, { session_id });
    expect(await opener.next("closed")).toMatchObject({ reason: "closed" });
    const asked = scene.test.events.find(({ event_type }) => event_type === "terminal.closeRequested");
    expect(asked).toMatchObject({ actor: { name: "root" }, target: { id: session_id } });
  });

  it("is seen no more by an Admin who signs out in the moment in which it would be shown", async () => {
    const isWatched = (writes: readonly Write[]): boolean =>
      writes.some((write) => write.kind === "append" && JSON.stringify(write).includes("terminal.watched"));
    const storage = new RacingStorage(isWatched);
    await using scene = await openTerminal({}, { storage });
    const { session_id } = scene.opened;
    const { caller } = await scene.test.signIn("Admin", "root");
    const { ticket } = await scene.terminals.ticket(caller, { session_id });
    storage.before = () => scene.test.orchestrator.access.signOut(caller);
    const viewer = scene.attach(ticket);
    expect(await viewer.next("refused")).toMatchObject({ code: "UNAUTHENTICATED" });
    expect(viewer.pieces).toEqual([]);
  });

  it("is seen by no Viewer", async () => {
    await using scene = await openTerminal();
    const { caller } = await scene.test.signIn("Viewer", "eve");
    await expect(scene.terminals.list(caller)).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(scene.terminals.open(caller, { node_id: scene.agent.nodeId })).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
  });
});

describe("a terminal ends with who opened it", () => {
  it.each(["removed", "demoted"])("who is %s", async (what) => {
    await using scene = await openTerminal();
    const viewer = scene.attach(scene.opened.ticket);
    await viewer.next("opened");
    const { operators } = scene.test.orchestrator;
    const { operator_id } = scene.operator;
    if (what === "removed") await operators.remove(systemCaller, { operator_id });
    else await operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await scene.ended();
    expect(await scene.terminals.get(systemCaller, { session_id: scene.opened.session_id })).toMatchObject({
      status: "closed",
      close_reason: "operator_changed",
    });
  });

  it.each([
    ["Admin", "Operator"],
    ["Operator", "Admin"],
  ] as const)(
    "who was %s then and becomes %s, and stays with one who keeps their role",
    async (role, next) => {
      await using scene = await openTerminal();
      const { terminals, test, agent } = scene;
      const [changed, kept] = [await test.signIn(role, "eve"), await test.signIn("Admin", "root")];
      const open = ({ caller }: typeof changed) =>
        terminals.open(caller, { node_id: agent.nodeId, shell: "/bin/sh" });
      const [first, second] = [await open(changed), await open(kept)];
      const { operator_id } = changed;
      await test.orchestrator.operators.setRole(systemCaller, { operator_id, role: next });
      await waitFor(async () =>
        expect(await terminals.get(systemCaller, { session_id: first.session_id })).toMatchObject({
          status: "closed",
          close_reason: "operator_changed",
        }),
      );
      for (const { session_id } of [second, scene.opened])
        expect((await terminals.get(systemCaller, { session_id })).status).toBe("active");
    },
  );

  it.each(["removed", "demoted"])("who is %s while it is opened: it never is", async (what) => {
    const isOpening = (writes: readonly Write[]): boolean =>
      writes.some((write) => write.kind === "put" && write.collection === "terminals");
    const storage = new RacingStorage(isOpening);
    await using scene = await openTerminal({}, { storage });
    const { operators } = scene.test.orchestrator;
    const { caller, operator_id } = scene.operator;
    storage.before = () =>
      what === "removed"
        ? operators.remove(systemCaller, { operator_id })
        : operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await expect(scene.terminals.open(caller, { node_id: scene.agent.nodeId })).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
    const listed = async () => (await scene.terminals.list(systemCaller, {})).items;
    await expect
      .poll(async () => (await listed()).map(({ status }) => status))
      .toEqual(["interrupted", "closed"]);
  });

  it("who is demoted while operators can't be read, as soon as they can", async () => {
    const storage = new UnreadableOperators();
    await using scene = await openTerminal({}, { storage });
    const { operator_id } = scene.operator;
    storage.isDue = true;
    await scene.test.orchestrator.operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await expect.poll(() => storage.refused).toBeGreaterThan(0);
    const { session_id } = scene.opened;
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active" });
    storage.isUnreadable = false;
    await scene.test.clock.advance(1_000);
    await scene.ended();
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
      close_reason: "operator_changed",
    });
  });
});

/** A storage that reads no operator for a while after the next that is written. */
class UnreadableOperators extends MemoryStorage {
  isDue = false;
  isUnreadable = false;
  refused = 0;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isMeant = writes.some((write) => write.kind === "put" && write.collection === "operators");
    if (this.isDue && isMeant) {
      this.isDue = false;
      this.isUnreadable = true;
    }
    return super.commit(writes, options);
  }

  override get: MemoryStorage["get"] = (collection, key) => {
    if (!this.isUnreadable || collection !== "operators") return super.get(collection, key);
    this.refused += 1;
    return Promise.reject(new OrchestratorError("UNAVAILABLE"));
  };
}
