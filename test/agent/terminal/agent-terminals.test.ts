/** The terminals of a machine, whatever their shells do. */
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { AgentTerminals } from "../../../lib/agent/terminal/agent-terminals.ts";
import type { OpenPty, PtyHandlers } from "../../../lib/agent/terminal/pty.ts";
import type { AgentMessage } from "../../../lib/wire/messages.ts";
import { uuid } from "../../support/agent-commands.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

/** Terminals whose programs are started by `openPty`. */
function create(openPty: OpenPty): { terminals: AgentTerminals; said: AgentMessage[] } {
  const said: AgentMessage[] = [];
  const terminals = new AgentTerminals({
    nodeId: "0".repeat(32),
    setup: {},
    logger: new RecordingLogger(),
    load: () => openPty,
    send: (message) => said.push(message) > 0,
    sendStream: () => true,
  });
  return { terminals, said };
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
  const openPty: OpenPty = (_program, handlers) => {
    running.push(handlers);
    return {
      pid: 1,
      unreadBytes: 0,
      write: async () => {},
      resize() {},
      pause() {},
      resume() {},
      hangUp() {},
      kill: () => void (killed += 1),
    };
  };
  return { openPty, running, killed: () => killed };
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
