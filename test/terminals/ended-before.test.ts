/** Whoever attaches within a minute after a terminal has ended gets what they missed, and how it ended. */
import { expect, it } from "vitest";
import { FileStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { closingCommands } from "../../lib/terminals/documents.ts";
import type { LiveTerminal } from "../../lib/terminals/live-terminal.ts";
import { OutputWindow } from "../../lib/terminals/output-window.ts";
import { EndedTerminals } from "../../lib/terminals/terminal-ends.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";
import { waitFor } from "../support/wait-for.ts";

it("a program that ended before anybody attached shows what it printed, and its exit code", async () => {
  await using scene = await openTerminal({ shell: "/bin/uname" });
  await scene.ended();
  const viewer = scene.attach(scene.opened.ticket);
  expect(await viewer.next("closed")).toMatchObject({ status: "closed", reason: "exit" });
  expect(viewer.messages.map(({ type }) => type)).toEqual(["opened", "exit", "closed"]);
  expect(viewer.messages[0]).toMatchObject({ offset: 0 });
  expect(viewer.messages[1]).toMatchObject({ exit_code: 0 });
  expect(viewer.text).toBe("Linux\r\n");
  await waitFor(() => expect(viewer.closedWith).toMatchObject({ code: 1000 }));
  const { session_id } = scene.opened;
  expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({ viewers: 0 });
});

it("a program that ended before anybody attached, and printed nothing, shows its exit code", async () => {
  await using scene = await openTerminal({ shell: "/bin/false" });
  await scene.ended();
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("closed");
  expect(viewer.messages.slice(1)).toMatchObject([{ type: "exit", exit_code: 1 }, { type: "closed" }]);
});

it("who was cut off while the shell ended comes back for the rest of it", async () => {
  await using scene = await openTerminal();
  const { session_id, ticket } = scene.opened;
  const first = scene.attach(ticket);
  await first.next("opened");
  first.type("stty -echo; trap 'echo bye; exit 3' USR1; echo pid-$$-; read never\n");
  await first.shows(/pid-\d+-\r\n/);
  const { offset } = first;
  first.socket.destroy();
  await waitFor(async () =>
    expect((await scene.terminals.get(systemCaller, { session_id })).viewers).toBe(0),
  );
  process.kill(Number(/pid-(\d+)-/.exec(first.text)?.[1]), "SIGUSR1");
  await scene.ended();
  const again = await scene.terminals.ticket(scene.operator.caller, { session_id });
  const second = scene.attach(again.ticket, { last_offset: offset });
  await second.next("closed");
  expect(second.messages).toMatchObject([
    { type: "opened", offset, types: true },
    { type: "exit", exit_code: 3 },
    { type: "closed", status: "closed", reason: "exit" },
  ]);
  expect(second.text).toBe("bye\r\n");
});

it("after a minute it is closed for good, also with a ticket from before", async () => {
  await using scene = await openTerminal({ shell: "/bin/uname" });
  const { session_id } = scene.opened;
  await scene.ended();
  await scene.test.clock.advance(45_000);
  const { ticket } = await scene.terminals.ticket(scene.operator.caller, { session_id });
  await scene.test.clock.advance(15_000);
  await expect(scene.terminals.ticket(scene.operator.caller, { session_id })).rejects.toMatchObject({
    code: "INVALID_TRANSITION",
  });
  expect(await scene.attach(ticket).next("refused")).toMatchObject({ code: "INVALID_TRANSITION" });
});

it("one that somebody closed is closed for good", async () => {
  await using scene = await openTerminal();
  const { session_id, ticket } = scene.opened;
  await scene.terminals.close(scene.operator.caller, { session_id });
  expect(await scene.attach(ticket).next("refused")).toMatchObject({ code: "INVALID_TRANSITION" });
  await expect(scene.terminals.ticket(scene.operator.caller, { session_id })).rejects.toMatchObject({
    code: "INVALID_TRANSITION",
  });
});

it("one that ended before the server was restarted is closed for good, whatever ticket there is", async () => {
  const folder = temporaryFolder();
  const [session_id, clock] = await (async () => {
    await using scene = await openTerminal({ shell: "/bin/uname" }, { storage: new FileStorage({ folder }) });
    await scene.ended();
    return [scene.opened.session_id, scene.test.clock] as const;
  })();
  await using test = await createTestOrchestrator({ storage: new FileStorage({ folder }), clock });
  const { terminals } = test.orchestrator;
  const { ticket } = await terminals.ticket(systemCaller, { session_id });
  const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
  viewer.say({ type: "attach", ticket });
  expect(await viewer.next("refused")).toMatchObject({ code: "INVALID_TRANSITION" });
});

it.each([
  ["closed", 1],
  ["detached", 1],
  ["idle", 1],
  ["too_long", 1],
  ["operator_changed", 2],
  ["recording_failed", 2],
  ["server_lost", 2],
  ["refused", 2],
])("a terminal that ends as %s is told to close %i times: twice is at once", (reason, times) => {
  expect(closingCommands(reason)).toHaveLength(times);
});

it("one that ended at another process is shown from there", async () => {
  await using scene = await terminalsElsewhere();
  const { terminals, nodeId: node_id } = scene;
  const { session_id, ticket } = await terminals.open(systemCaller, { node_id, shell: "/bin/uname" });
  await waitFor(async () =>
    expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "closed" }),
  );
  const viewer = scene.attach(session_id, ticket);
  expect(await viewer.next("closed")).toMatchObject({ reason: "exit" });
  expect(viewer.text).toBe("Linux\r\n");
});

it("what is kept of terminals that ended has a bound, and the oldest goes first", () => {
  const clock = new FakeClock();
  const ended = new EndedTerminals(clock, 350_000);
  const one = (session_id: string, bytes: number): LiveTerminal => {
    const window = new OutputWindow(1_000_000);
    window.push(new Uint8Array(bytes));
    return { document: { session_id }, window } as unknown as LiveTerminal;
  };
  for (const id of ["a", "b", "c"]) ended.keep(one(id, 100_000));
  expect(["a", "b", "c"].map((id) => ended.find(id)?.document.session_id)).toEqual([undefined, "b", "c"]);
  ended.clear();
  expect(ended.find("c")).toBeNull();
});

it("what is kept of a terminal that ended goes after a minute, and makes room", async () => {
  const clock = new FakeClock();
  const ended = new EndedTerminals(clock, 350_000);
  const one = (session_id: string): LiveTerminal =>
    ({ document: { session_id }, window: new OutputWindow(1) }) as unknown as LiveTerminal;
  ended.keep(one("a"));
  await clock.advance(30_000);
  for (const id of ["b", "c", "d"]) ended.keep(one(id));
  await clock.advance(29_999);
  expect(ended.find("a")).not.toBeNull();
  await clock.advance(1);
  expect(["a", "b", "c", "d"].map((id) => ended.find(id) === null)).toEqual([true, false, false, false]);
  for (const id of ["e", "f"]) ended.keep(one(id));
  expect(["b", "e", "f"].map((id) => ended.find(id) === null)).toEqual([false, false, false]);
  ended.clear();
});
