/** The terminals of a machine, whatever their shells do. */
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { AgentTerminals } from "../../../lib/agent/terminal/agent-terminals.ts";
import { loadNodePty } from "../../../lib/agent/terminal/node-pty.ts";
import type { OpenPty, PtyHandlers } from "../../../lib/agent/terminal/pty.ts";
import type { AgentMessage } from "../../../lib/wire/messages.ts";
import { uuid } from "../../support/agent-commands.ts";
import { settle } from "../../support/deferred.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Terminals whose programs are started by `openPty`. */
function create(openPty: OpenPty): { terminals: AgentTerminals; said: AgentMessage[]; shown: string[] } {
  const said: AgentMessage[] = [];
  const shown: string[] = [];
  const terminals = new AgentTerminals({
    nodeId: "0".repeat(32),
    setup: {},
    logger: new RecordingLogger(),
    load: () => openPty,
    send: (message) => said.push(message) > 0,
    sendStream: (_id, bytes) => shown.push(Buffer.from(bytes).toString()) > 0,
  });
  return { terminals, said, shown };
}

const opening = (number: number) =>
  ({
    type: "terminal.open",
    not_after: "2030-01-01T01:00:00.000Z",
    id: uuid(number),
    session_id: uuid(number),
    cols: 80,
    rows: 24,
    operator: "ada",
  }) as const;

it("a shell that can't be started takes no place, and may be opened again under its id", () => {
  const { terminals } = create(() => {
    throw new OrchestratorError("HOST_ERROR");
  });
  for (let number = 1; number <= 120; number += 1)
    expect(() => terminals.open(opening(number)), `${number}`).toThrow(
      expect.objectContaining({ code: "HOST_ERROR" }) as Error,
    );
  expect(() => terminals.open(opening(1))).toThrow(expect.objectContaining({ code: "HOST_ERROR" }) as Error);
  expect(terminals.size).toBe(0);
});

/** Programs that do nothing by themselves, and end when they are told to. */
function silentPrograms() {
  const running: PtyHandlers[] = [];
  let killed = 0;
  let hungUp = 0;
  const openPty: OpenPty = (_program, handlers) => {
    running.push(handlers);
    return {
      pid: 1,
      unreadBytes: 0,
      write: async () => {},
      resize() {},
      pause() {},
      resume() {},
      hangUp: () => void (hungUp += 1),
      kill: () => void (killed += 1),
    };
  };
  return { openPty, running, killed: () => killed, hungUp: () => hungUp };
}

it("terminals that ended with their connection take no places of those of the next, also under their ids", () => {
  const { openPty, running, killed } = silentPrograms();
  const { terminals, said } = create(openPty);
  for (let connection = 1; connection <= 3; connection += 1) {
    for (let number = 1; number <= 100; number += 1) terminals.open(opening(number));
    expect(terminals.size).toBe(100);
    expect(() => terminals.open(opening(101))).toThrow(
      expect.objectContaining({ code: "TOO_MANY_TERMINALS" }) as Error,
    );
    terminals.endAll();
    expect([terminals.size, killed()]).toEqual([0, connection * 100]);
  }
  expect(said).toEqual([]);
  terminals.open(opening(1));
  // One of the first connection ends at last: nobody is told, and the one that has its id now stays.
  running[0]!.ended(0);
  expect([terminals.size, said]).toEqual([1, []]);
  running.at(-1)!.ended(0);
  expect([terminals.size, said]).toEqual([0, [expect.objectContaining({ type: "terminal.closed" })]]);
});

it("what a program prints goes out at once as long as it is little, and together where it is much", async () => {
  const { openPty, running } = silentPrograms();
  const { terminals, shown } = create(openPty);
  terminals.open(opening(1));
  terminals.handle({ ...opening(1), type: "terminal.grant", through: 10_000_000 });
  const print = (bytes: number): void => running[0]!.output(new Uint8Array(bytes));
  for (let piece = 0; piece < 9; piece += 1) print(1_024);
  // The first eight kibibytes are sent as they come; what follows within a millisecond waits for the rest of it.
  expect(shown.map(({ length }) => length)).toEqual(Array(8).fill(1_024));
  for (let piece = 0; piece < 62; piece += 1) print(1_024);
  expect(shown).toHaveLength(8);
  // A frame that is full does not wait.
  print(1_024);
  expect(shown.slice(8).map(({ length }) => length)).toEqual([65_536]);
  print(1);
  await waitFor(() => expect(shown.slice(9).map(({ length }) => length)).toEqual([1]));
  terminals.endAll();
});

it("one that is closed twice is ended at once, and one that goes on printing as well", () => {
  const { openPty, running, killed, hungUp } = silentPrograms();
  const { terminals } = create(openPty);
  const close = { ...opening(1), type: "terminal.close" } as const;
  terminals.open(opening(1));
  terminals.handle(close);
  expect([hungUp(), killed()]).toEqual([1, 0]);
  terminals.handle(close);
  expect([hungUp(), killed()]).toEqual([1, 1]);
  terminals.open(opening(2));
  running[1]?.output(new Uint8Array(2_000_000));
  terminals.handle({ ...close, session_id: uuid(2) });
  running[1]?.output(new Uint8Array(1_048_576));
  expect([hungUp(), killed()]).toEqual([2, 1]);
  for (let piece = 0; piece < 3; piece += 1) running[1]?.output(new Uint8Array(1));
  expect([hungUp(), killed()]).toEqual([2, 2]);
});

/** One terminal whose program does as it is told, and all that was asked of it. */
function scripted() {
  const asked: string[] = [];
  let handlers: PtyHandlers | null = null;
  const openPty: OpenPty = (_program, given) => {
    handlers = given;
    const note = (call: string) => () => void asked.push(call);
    return {
      pid: 1,
      unreadBytes: 0,
      write: async () => {},
      resize() {},
      pause: note("pause"),
      resume: note("resume"),
      hangUp: note("hangUp"),
      kill: note("kill"),
    };
  };
  const created = create(openPty);
  created.terminals.open(opening(1));
  const grant = (through: number): void =>
    created.terminals.handle({ ...opening(1), type: "terminal.grant", through });
  const sizes = (): number[] => created.shown.map(({ length }) => length);
  const print = (length: number): void => handlers!.output(Buffer.alloc(length, "x"));
  return { ...created, asked, grant, sizes, print, ended: (code: number) => handlers!.ended(code) };
}

it("output goes out as far as it was granted, in frames of 64 KiB, and the program waits from 128 KiB on", () => {
  const { asked, grant, sizes, print, ended, said } = scripted();
  print(131_071);
  expect(asked).not.toContain("pause");
  print(1);
  expect(asked.at(-1)).toBe("pause");
  expect(sizes()).toEqual([]);
  grant(1);
  expect([sizes(), asked.at(-1)]).toEqual([[1], "resume"]);
  grant(65_538);
  // What was granted before is part of it.
  expect(sizes()).toEqual([1, 65_536, 1]);
  ended(3);
  expect(said).toEqual([]);
  grant(1_000_000);
  expect(sizes()).toEqual([1, 65_536, 1, 65_534]);
  const closed = { type: "terminal.closed", session_id: uuid(1), reason: "exit", exit_code: 3 };
  expect(said).toEqual([closed]);
});

it("a program that prints much, and then a little, has the little shown as well, again and again", async () => {
  const { grant, sizes, print } = scripted();
  grant(1_000_000);
  for (let round = 1; round <= 3; round += 1) {
    for (const length of [10_000, 10]) print(length);
    await expect.poll(() => sizes().reduce((sum, length) => sum + length, 0)).toBe(10_010 * round);
  }
});

it("one that is opened twice under its id is there once", () => {
  const { openPty, running } = silentPrograms();
  const { terminals } = create(openPty);
  for (const _ of [1, 2]) terminals.open(opening(1));
  expect([terminals.size, running.length]).toEqual([1, 1]);
});

it("a grant of less than before takes nothing back", () => {
  const { grant, sizes, print } = scripted();
  for (const through of [100, 10]) grant(through);
  print(50);
  expect(sizes()).toEqual([50]);
});

it("one that ended with its connection is not held up by what it still prints, nor is any of it sent", () => {
  const { terminals, asked, grant, sizes, print, ended, said } = scripted();
  grant(1_000_000);
  terminals.endAll();
  print(200_000);
  ended(0);
  expect([asked.at(-1), sizes(), said]).toEqual(["kill", [], []]);
});

it("tells how much of what was typed was taken, in steps of 64 KiB", async () => {
  const { terminals, said } = scripted();
  const type = async (length: number): Promise<void> => {
    terminals.type(uuid(1), new Uint8Array(length));
    await settle();
  };
  await type(65_535);
  expect(said).toEqual([]);
  await type(1);
  await type(65_535);
  await type(2);
  const taken = (through: number) => ({ type: "terminal.taken", session_id: uuid(1), through });
  expect(said).toEqual([taken(65_536), taken(131_073)]);
});

it("one that heeds nothing and prints for ever is closed, and takes no place any more", async () => {
  const { terminals, said, shown } = create(loadNodePty(null));
  terminals.open({ ...opening(1), shell: "/bin/sh" });
  terminals.handle({ ...opening(1), type: "terminal.grant", through: 1_000 });
  terminals.type(uuid(1), Buffer.from("trap '' HUP; yes\n"));
  await waitFor(() => expect(shown.join("")).toContain("y\r\ny\r\n"));
  terminals.handle({ ...opening(1), type: "terminal.grant", through: 16_777_216 });
  terminals.handle({ ...opening(1), type: "terminal.close" });
  await waitFor(() => expect(said.at(-1)).toMatchObject({ type: "terminal.closed", reason: "closed" }));
  expect(terminals.size).toBe(0);
});
