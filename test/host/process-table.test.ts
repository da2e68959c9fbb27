/** What can be told of a process while it takes on another program, however long a busy machine keeps it at that. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { environmentOf, processAt } from "../../lib/host/process-table.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** So many share one processor, at the least priority: each waits for its turn in the middle of whatever it does. */
const crowd = 40;

test.runIf(process.platform === "linux")(
  "the mark of a process that executes one program after the other is never told as missing",
  { timeout: 60_000 },
  async () => {
    const restless = join(temporaryFolder(), "restless");
    writeFileSync(restless, 'exec sh "$0"\n');
    const idle = Array.from({ length: crowd }, () => slow(["-c", "while :; do :; done"]));
    const marked = Array.from({ length: 8 }, () => slow([restless], { MARK: "ours" }));
    onTestFinished(async () => {
      for (const child of [...idle, ...marked]) child.kill("SIGKILL");
      await Promise.all([...idle, ...marked].map((child) => child.signalCode ?? once(child, "exit")));
    });
    await pause(500);
    const told = new Map<string | null | undefined, number>();
    const lengths = new Set<number | null>();
    const end = performance.now() + 5000;
    while (performance.now() < end) {
      for (const { pid = 0 } of marked) {
        const mark = environmentOf(pid, "MARK");
        told.set(mark, (told.get(mark) ?? 0) + 1);
        lengths.add(processAt(pid)?.environmentBytes ?? null);
      }
    }
    expect(told.get("ours")).toBeGreaterThan(0);
    // Undefined is what asks the caller to look again.
    told.delete(undefined);
    expect([...told.keys()]).toEqual(["ours"]);
    expect(lengths).not.toContain(0);
  },
);

function slow(argv: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const [processor = "0"] =
    /Cpus_allowed_list:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.slice(1) ?? [];
  const niced = ["-n", "19", "taskset", "-c", processor, "sh", ...argv];
  return spawn("nice", niced, { env: { PATH: process.env["PATH"], ...env }, stdio: "ignore" });
}
