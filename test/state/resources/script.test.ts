import { mkdtempSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { OrchestratorError } from "../../../lib/errors.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { listProcesses } from "../../../lib/host/process-table.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import { describeLaws } from "../../support/laws.ts";
import { OwnTime } from "../../support/own-time.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

describeLaws({
  "a script with a check": {
    definition: {
      id: "done",
      type: "script",
      run: "touch work/done # hunter2",
      check: "test -e work/done # hunter2",
      undo: "rm work/done",
    },
    breakIt: (host) => host.files.removeFile("/work/done"),
    secret: "hunter2",
  },
  "a script that creates a path": {
    definition: {
      id: "done",
      type: "script",
      run: ["/bin/sh", "-c", "touch work/done"],
      creates: "/work/done",
      undo: "rm work/done",
    },
    breakIt: (host) => host.files.removeFile("/work/done"),
  },
});

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "fleetwright-script-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Whether a process works in a folder; what has ended works nowhere. */
function isIn(path: string, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === path;
  } catch {
    return false;
  }
}

/** Runs a script for real; what it writes comes with the result. */
async function apply(script: JsonObject): Promise<StateRunResult & { output: string }> {
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const cause = { id: "cause", type: "file", path: join(folder, "cause"), content: `${Math.random()}` };
  const desired = declare([cause, { id: "s", type: "script", run_on: ["cause"], cwd: folder, ...script }]);
  let output = "";
  const { signal } = new AbortController();
  const onOutput = ({ bytes }: { bytes: Uint8Array }): void => void (output += Buffer.from(bytes).toString());
  const options = {
    mode: "apply" as const,
    desired,
    applied: [],
    host,
    clock: systemClock,
    signal,
    timeoutMs: 60_000,
  };
  return { ...(await runState({ ...options, onOutput })), output };
}

test("a program in a script that reads standard input does not swallow the rest of it", async () => {
  const { output, status } = await apply({ run: "echo one\ncat\necho two\n" });
  expect([status, output]).toEqual(["succeeded", "one\ntwo\n"]);
});

test.each([
  [["/usr/bin/env", "bash"], "one \ntwo\n"],
  [["bash", "-s", "--", "arg"], "one arg\ntwo\n"],
  [["/usr/bin/env", "-S", "bash -eu", "-s", "arg"], "one arg\ntwo\n"],
])("the shell %j loses no line to a program in the script either", async (interpreter, expected) => {
  const { output, status } = await apply({ interpreter, run: 'echo "one ${1-}"\ncat\necho two\n' });
  expect([status, output]).toEqual(["succeeded", expected]);
});

test.each([
  ["a text", { interpreter: ["bash"], run: "umask; echo done" }],
  ["a program", { run: ["bash", "-c", "umask; echo done"] }],
])("no file of the user's shell is run before %s", async (_what, script) => {
  writeFileSync(join(folder, ".bashrc"), "echo rc\numask 077\n");
  const { output } = await apply({ ...script, environment: { HOME: folder } });
  expect(output).toBe("0022\ndone\n");
});

test("the text of a script is on no command line", async () => {
  const { output } = await apply({ run: "tr '\\0' ' ' < /proc/$$/cmdline # hunter2" });
  expect(output).toContain("/bin/sh -eu -c");
  expect(output).not.toContain("hunter2");
});

test("a script ends at its first error and at a name that is not set, and its exit code is told", async () => {
  expect(await apply({ run: "(exit 4)\necho on" })).toMatchObject({
    output: "",
    results: [{}, { exit_code: 4, code: "COMMAND_FAILED" }],
  });
  expect((await apply({ run: 'echo "$nothing"\necho on' })).results[1]?.outcome).toBe("failed");
});

test("a script gets its environment, its folder and another interpreter", async () => {
  const { output, results } = await apply({
    run: "console.log(process.env.A, process.cwd())",
    interpreter: [process.execPath, "-"],
    environment: { A: "1" },
  });
  expect(output).toBe(`1 ${folder}\n`);
  expect(results[1]).toMatchObject({ outcome: "changed", action: "run", exit_code: 0, caused_by: ["cause"] });
});

test("a program with arguments is run as it is, without a shell", async () => {
  expect((await apply({ run: ["/bin/echo", "$HOME", "a  b"] })).output).toBe("$HOME a  b\n");
});

test("creates and check must both hold", async () => {
  const state = new StateFixture();
  const desired = declare([{ id: "s", type: "script", run: "touch a", creates: "/a", check: "test -e b" }]);
  expect((await state.run("plan", desired)).results[0]?.outcome).toBe("would_change");
  state.write("/b", "");
  expect((await state.run("apply", desired)).results[0]?.outcome).toBe("changed");
  expect((await state.run("apply", desired)).results[0]?.outcome).toBe("unchanged");
});

describe.each([
  ["a path that stood before", { creates: "/work/made" }],
  ["a check that held before", { check: "test -e work/made" }],
])("the work of %s", (_what, more) => {
  const desired = (content: string, run = "touch work/fired"): ReturnType<typeof declare> =>
    declare([
      { id: "conf", type: "file", path: "/work/conf", content },
      { id: "s", type: "script", run, undo: "rm work/made", run_on: ["conf"], ...more },
    ]);

  test.each([
    ["is run", "touch work/fired", "changed"],
    ["fails", "no-such-program", "failed"],
  ])("is not undone where a trigger came and the script %s", async (_how, run, outcome) => {
    const state = new StateFixture();
    state.host.files.makeDirectory("/work", {});
    state.write("/work/made", "of somebody");
    for (const content of ["1", "2"]) {
      const { results } = await state.run("apply", desired(content, run));
      expect(results[1]).toMatchObject({ outcome, action: "run" });
    }
    await state.run("apply", []);
    expect(state.read("/work/made")).toBe("of somebody");
  });

  test("is undone where it was done anew, and a trigger ran it after that", async () => {
    const state = new StateFixture();
    state.host.files.makeDirectory("/work", {});
    state.write("/work/made", "of somebody");
    await state.run("apply", desired("1"));
    state.host.files.removeFile("/work/made");
    for (const content of ["1", "2"]) await state.run("apply", desired(content, "touch work/made"));
    await state.run("apply", []);
    expect(state.host.files.stat("/work/made")).toBeNull();
  });
});

test("checks of many scripts run eight at once", async () => {
  let running = 0;
  let most = 0;
  const host = new StateFixture().host;
  const look = host.run.bind(host);
  host.run = async (command, signal) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return look(command, signal);
  };
  const scripts = Array.from({ length: 30 }, (_, index) => ({
    id: `s${index}`,
    type: "script",
    run: "touch a",
    check: "test -e a",
  }));
  await new StateFixture(host).run("plan", declare(scripts));
  expect(most).toBe(8);
});

/** Cancels as soon as the script says that it is ready. */
async function cancel(run: string, reason: Error = new OrchestratorError("CANCELLED"), more = {}) {
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const script = { id: "s", type: "script", run, creates: join(folder, "done"), cwd: folder, ...more };
  const after = { id: "after", type: "file", path: join(folder, "after"), content: "x" };
  const stop = new AbortController();
  let began = 0;
  let time: OwnTime | null = null;
  onTestFinished(() => time?.[Symbol.dispose]());
  const result = await runState({
    mode: "apply",
    desired: declare([script, after]),
    applied: [],
    host,
    clock: systemClock,
    signal: stop.signal,
    timeoutMs: 60_000,
    onOutput() {
      began = performance.now();
      time = new OwnTime();
      stop.abort(reason);
    },
  });
  return { result, ms: performance.now() - began, ownMs: (time as OwnTime | null)?.ms };
}

describe("a script that runs when somebody cancels", () => {
  test("is ended by SIGTERM, with what it started, and the result says so", async () => {
    const { result, ownMs } = await cancel("sleep 60 & echo ready; wait");
    expect(result.status).toBe("cancelled");
    expect(result.results).toMatchObject([
      { outcome: "failed", code: "CANCELLED", message: "It was cancelled: SIGTERM ended it." },
      { outcome: "skipped", skipped_because: "cancelled" },
    ]);
    expect(ownMs).toBeLessThan(4000);
    const left = listProcesses().filter(({ pid }) => isIn(folder, pid));
    expect(left).toEqual([]);
  });

  test("is ended by SIGKILL after five seconds where it ignores SIGTERM, and the result says so", async () => {
    const { result, ms, ownMs } = await cancel("trap '' TERM; echo ready; while :; do sleep 0.1; done");
    expect(result.results[0]).toMatchObject({
      outcome: "failed",
      code: "CANCELLED",
      message: "It was cancelled: SIGKILL ended it, 5 s after SIGTERM.",
    });
    expect(ms).toBeGreaterThan(4900);
    expect(ownMs).toBeLessThan(9000);
  });

  test("may end in its own way on SIGTERM, with its exit code in the result", async () => {
    const { result } = await cancel("trap 'exit 3' TERM; echo ready; while :; do sleep 0.1; done");
    expect(result.results[0]).toMatchObject({
      code: "CANCELLED",
      exit_code: 3,
      message: "It was cancelled: it exited with 3 after SIGTERM.",
    });
  });

  test("is the last one, and the run is cancelled all the same", async () => {
    const { result } = await cancel("echo ready; sleep 60", undefined, { requires: ["after"] });
    expect(result.results.map(({ outcome }) => outcome)).toEqual(["changed", "failed"]);
    expect(result.status).toBe("cancelled");
  });

  test("is not tried again", async () => {
    const { result } = await cancel("echo ready; sleep 60", undefined, {
      retry: { attempts: 3, delay_seconds: 0 },
    });
    expect(result.results[0]).toMatchObject({ code: "CANCELLED", attempts: 1 });
  });

  test("goes on to its end where it is the agent that stops", async () => {
    const { result } = await cancel(
      "echo ready; sleep 0.3; touch done",
      new OrchestratorError("UNAVAILABLE"),
    );
    expect(result.results).toMatchObject([{ outcome: "changed" }, { outcome: "skipped" }]);
  });
});

test("a script that takes too long says what ended it", async () => {
  const { results } = await apply({ run: "sleep 60", timeout_seconds: 0.2 });
  expect(results[1]).toMatchObject({
    code: "RESOURCE_TIMEOUT",
    message: "It took longer than 0.2 s: SIGTERM ended it.",
  });
});
