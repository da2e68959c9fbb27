/** Which processes belong to a terminal, also where that can't be told at the first look. */
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, onTestFinished, test } from "vitest";
import { endLeftTerminals, TerminalProcesses } from "../../../lib/agent/terminal/terminal-processes.ts";
import { terminalVariable } from "../../../lib/host/marked-scope.ts";
import { environmentOf, processAt } from "../../../lib/host/process-table.ts";
import { waitFor } from "../../support/wait-for.ts";

/** So often a process that takes on another program is looked at before nothing is known of it for now. */
const looksOfOne = 20;

/** A process with a mark, in a session of its own, that runs until it is ended. */
async function start(
  mark: string,
): Promise<{ child: ChildProcess; pid: number; ended: () => string | null }> {
  const child = spawn("sleep", ["1000"], {
    env: { PATH: "/usr/bin:/bin", [terminalVariable]: mark },
    detached: true,
    stdio: "ignore",
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const pid = child.pid ?? 0;
  let killedBy: string | null = null;
  child.once("exit", (_code, signal) => (killedBy = signal));
  await waitFor(() => expect(environmentOf(pid, terminalVariable)).toBe(mark));
  return { child, pid, ended: () => killedBy };
}

/** As while a process takes on another program: it has no environment for so many looks. */
function hideEnvironment(pid: number, looks: number): void {
  const { readFileSync } = fs;
  let left = looks;
  const read = (path: fs.PathOrFileDescriptor, ...more: unknown[]): unknown => {
    if (path === `/proc/${pid}/environ` && left > 0) {
      left -= 1;
      return "";
    }
    return (readFileSync as (...all: unknown[]) => unknown)(path, ...more);
  };
  Object.assign(fs, { readFileSync: read });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { readFileSync });
    syncBuiltinESMExports();
  });
}

/** Nobody's number, for a terminal whose first program is long gone. */
const gone = { pid: 4_999_999, begun: 1 };

const ends: [whose: string, mark: string, end: () => unknown][] = [
  ["an earlier life of the agent left", "unsure-node/one", () => endLeftTerminals("unsure-node")],
  [
    "a terminal that ends started",
    "unsure-node/two",
    () => new TerminalProcesses("unsure-node/two", { first: gone, group: null }).end(),
  ],
];

describe.each(ends)("a process that %s", (_whose, mark, end) => {
  test.each([0, 1, looksOfOne, 3 * looksOfOne])(
    "is ended though it takes on another program for %i looks",
    async (looks) => {
      const { pid, ended } = await start(mark);
      hideEnvironment(pid, looks);
      end();
      await waitFor(() => expect(ended()).toBe("SIGKILL"));
    },
  );
});

test("what has ended, and whose parent does not reap it, is not waited for", async () => {
  const mark = "unsure-node/ended";
  // The program that the shell becomes knows nothing of the child that it has.
  const script = 'setsid sh -c "echo \\$\\$; exec sleep 1000" & exec sleep 1000';
  const parent = spawn("sh", ["-c", script], {
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  let text = "";
  parent.stdout.on("data", (piece: Buffer) => (text += piece.toString()));
  await waitFor(() => expect(text).toMatch(/^\d+\n/));
  const pid = Number(text);
  onTestFinished(() => {
    if (processAt(pid)?.isZombie === false) process.kill(pid, "SIGKILL");
  });
  await waitFor(() => expect(processAt(pid)?.session).toBe(pid));
  const first = { pid, begun: processAt(pid)!.begun };
  const processes = new TerminalProcesses(mark, { first, group: null });
  expect(processes.areLeft()).toBe(true);
  processes.end();
  await waitFor(() => expect(processAt(pid)?.isZombie).toBe(true));
  expect(processes.areLeft()).toBe(false);
});

test("what has the number of a terminal's first program by now, and is another's, goes on with its session", async () => {
  const other = await start("unsure-node-2/two");
  const begun = processAt(other.pid)?.begun ?? 0;
  const of = (first: { pid: number; begun: number }): TerminalProcesses =>
    new TerminalProcesses("unsure-node/five", { first, group: null });
  const earlier = of({ pid: other.pid, begun: begun - 1 });
  expect(earlier.areLeft()).toBe(false);
  earlier.hangUp();
  earlier.end();
  const own = of({ pid: other.pid, begun });
  expect([other.ended(), own.areLeft()]).toEqual([null, true]);
  own.end();
  await waitFor(() => expect(other.ended()).toBe("SIGKILL"));
  expect(own.areLeft()).toBe(false);
});

test("another agent's terminals go on, and so does a process that never tells whose it is", async () => {
  const other = await start("unsure-node-2/one");
  const untold = await start("unsure-node/three");
  const own = await start("unsure-node/four");
  hideEnvironment(untold.pid, Infinity);
  expect(endLeftTerminals("unsure-node")).toBe(1);
  await waitFor(() => expect(own.ended()).toBe("SIGKILL"));
  expect([other.ended(), untold.ended()]).toEqual([null, null]);
});
