/** Programs that types run: which end is a good one, and what is told of a bad one. */
import { expect, test } from "vitest";
import type { HostCommandResult } from "../../../../lib/host/host.ts";
import { MemoryHost } from "../../../../lib/host/memory-host.ts";
import { act, ask, attempt } from "../../../../lib/state/resources/shared/command.ts";

const { signal } = new AbortController();

/** A machine whose one program ends so. */
const ending = (result: Partial<HostCommandResult>) => ({
  host: new MemoryHost({ programs: { work: () => result } }),
  signal,
});
const command = { argv: ["work", "now"] } as const;

test("what ends as it may is a result, and all else a failure", async () => {
  for (const exitCode of [0, 2, 3, null]) {
    const machine = ending({ exitCode, signal: exitCode === null ? "SIGKILL" : null, stdout: "x" });
    const isGood = async (run: () => Promise<HostCommandResult>): Promise<boolean> =>
      run().then(
        ({ stdout }) => stdout === "x",
        () => false,
      );
    expect(await isGood(() => act(command, machine))).toBe(exitCode === 0);
    expect(await isGood(() => ask(command, machine))).toBe(exitCode === 0);
    for (const run of [ask, attempt])
      expect(await isGood(() => run(command, machine, [0, 2]))).toBe(exitCode === 0 || exitCode === 2);
  }
});

test.each<[result: Partial<HostCommandResult>, message: string]>([
  [{ exitCode: 3 }, "work exited with 3."],
  [{ exitCode: null, signal: "SIGKILL" }, "work was ended by SIGKILL."],
  [{ exitCode: 1, stderr: "no\n" }, "work exited with 1: no"],
  [{ exitCode: 1, stderr: "a\n\n b \nc\nd" }, "work exited with 1: b | c | d"],
  [{ exitCode: 1, stderr: "a\tb\u0007\r\n" }, "work exited with 1: a b"],
  [{ exitCode: 1, stderr: "x".repeat(400) }, `work exited with 1: ${"x".repeat(300)}`],
])("of %j is told %j", async (result, message) => {
  const { exitCode = null, signal: ended = null } = result;
  for (const run of [act, ask])
    await expect(run(command, ending(result))).rejects.toMatchObject({
      code: "COMMAND_FAILED",
      message,
      details: { program: "work", exit_code: exitCode, signal: ended },
    });
});

test("of what read a secret only its end is told", async () => {
  const failing = act(command, ending({ exitCode: 1, stderr: "hunter2" }), { reads: "secret" });
  await expect(failing).rejects.toMatchObject({ message: "work exited with 1." });
});

test("an answer that was cut is none, and what a change says may be cut", async () => {
  const machine = ending({ stdout: "x", truncated: { stdout: true, stderr: false } });
  await expect(ask(command, machine)).rejects.toMatchObject({
    code: "HOST_ERROR",
    message: "The output of work is longer than can be read.",
    details: { program: "work" },
  });
  expect((await act(command, machine)).stdout).toBe("x");
  const noisy = ending({ stdout: "x", truncated: { stdout: false, stderr: true } });
  expect((await ask(command, noisy)).stdout).toBe("x");
});
