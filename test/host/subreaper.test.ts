/** Orphans of programs, which come to this process: which ones they are, and that their end is taken note of. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { becomeSubreaper, type Subreaper } from "../../lib/host/local-subreaper.ts";
import { MarkedScopes, markVariable, terminalVariable } from "../../lib/host/marked-scope.ts";
import { listProcesses, processAt, type ProcessEntry } from "../../lib/host/process-table.ts";

const secondLookMs = 1000;
const originalRead = fs.readFileSync;

/** A process that has lost its parent, and is ours by now. */
async function orphan(environment: Record<string, string> = {}): Promise<number> {
  const env = { PATH: process.env["PATH"], ...environment };
  const line = "setsid sleep 300 > /dev/null 2>&1 & echo $!";
  const pid = Number(execFileSync("/bin/sh", ["-c", line], { env, encoding: "utf8" }));
  onTestFinished(() => {
    if (processAt(pid)?.isZombie === false) process.kill(pid, "SIGKILL");
  });
  await until(() => processAt(pid)?.parent === process.pid && processAt(pid)?.session === pid);
  return pid;
}

function started(): ChildProcess {
  const child = spawn("/bin/sleep", ["300"], { stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return child;
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setImmediate(resolve));
}

const pidsOf = (list: readonly { pid: number }[]): number[] => list.map(({ pid }) => pid);

describe.runIf(process.platform === "linux")("a process that adopts orphans", () => {
  let subreaper: Subreaper;
  beforeAll(() => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const found = becomeSubreaper();
    if (!found) throw new Error("This process can't adopt any.");
    subreaper = found;
  });
  afterAll(() => void vi.useRealTimers());

  /** A thread does not hear of it by itself. */
  const tellEnd = (): void => void process.emit("SIGCHLD", "SIGCHLD");

  test("is one for all who ask", () => {
    expect(becomeSubreaper()).toBe(subreaper);
  });

  test.each([
    ["as the kernel lists them", false],
    ["on a kernel that lists none", true],
  ])("tells them from what it has started itself, %s", async (_how, isBare) => {
    if (isBare) {
      const read = (path: fs.PathOrFileDescriptor, ...more: unknown[]): unknown => {
        if (String(path).endsWith("/children")) throw Object.assign(new Error("none"), { code: "ENOENT" });
        return (originalRead as (...all: unknown[]) => unknown)(path, ...more);
      };
      Object.assign(fs, { readFileSync: read });
      syncBuiltinESMExports();
      onTestFinished(() => {
        Object.assign(fs, { readFileSync: originalRead });
        syncBuiltinESMExports();
      });
    }
    const own = started();
    const pid = await orphan();
    expect(pidsOf(subreaper.adopted())).toContain(pid);
    expect(pidsOf(subreaper.adopted())).not.toContain(own.pid);
    for (const entry of subreaper.adopted()) expect(entry.parent).toBe(process.pid);
    expect(listProcesses().length).toBeGreaterThan(subreaper.adopted().length);
  });

  test("takes note of one that ended where nobody else has for a second", async () => {
    const pid = await orphan();
    process.kill(pid, "SIGKILL");
    await until(() => processAt(pid)?.isZombie === true);
    expect(pidsOf(subreaper.adopted())).toContain(pid);
    tellEnd();
    tellEnd();
    await vi.advanceTimersByTimeAsync(secondLookMs);
    // Another thread may have started it, and be about to hear of its end.
    expect(processAt(pid)?.isZombie).toBe(true);
    await vi.advanceTimersByTimeAsync(secondLookMs - 1);
    expect(processAt(pid)?.isZombie).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(processAt(pid)).toBeNull();
    // And of the next one, which nothing is known of yet.
    const next = await orphan();
    process.kill(next, "SIGKILL");
    await until(() => processAt(next)?.isZombie === true);
    tellEnd();
    await vi.advanceTimersByTimeAsync(secondLookMs);
    expect(processAt(next)?.isZombie).toBe(true);
    await vi.advanceTimersByTimeAsync(secondLookMs);
    expect(processAt(next)).toBeNull();
  });

  test("leaves the end of what it has started to who started it", async () => {
    const child = started();
    child.kill("SIGKILL");
    tellEnd();
    await vi.advanceTimersByTimeAsync(3 * secondLookMs);
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    expect(child.signalCode).toBe("SIGKILL");
  });

  test("waits for none that lives", async () => {
    const pid = await orphan();
    subreaper.reap(pid);
    expect(processAt(pid)?.isZombie).toBe(false);
    process.kill(pid, "SIGKILL");
    await until(() => processAt(pid)?.isZombie === true);
    subreaper.reap(pid);
    expect(processAt(pid)).toBeNull();
  });

  test("counts those that bear a mark as nobody's strays", async () => {
    const scopes = new MarkedScopes(subreaper);
    const [stray, program, terminal] = [
      await orphan(),
      await orphan({ [markVariable]: "another" }),
      await orphan({ [terminalVariable]: "node/session" }),
    ];
    const found = pidsOf(scopes.strayOrphans(0));
    expect([stray, program, terminal].map((pid) => found.includes(pid))).toEqual([true, false, false]);
  });
});

/** Numbers that no process has: those of the kernel end below. */
const none = 5_000_000;
const entry = (of: Partial<ProcessEntry>): ProcessEntry => ({
  pid: none,
  parent: process.pid,
  session: none,
  begun: 100,
  isZombie: false,
  isKernels: false,
  isEnding: false,
  environmentBytes: 0,
  ...of,
});

describe("the strays of a program", () => {
  const scopesWith = (...adopted: ProcessEntry[]) => {
    const list = { adopted };
    const reaped: number[] = [];
    const scopes = new MarkedScopes({ adopted: () => list.adopted, reap: (pid) => void reaped.push(pid) });
    return { scopes, reaped, adopt: (...entries: ProcessEntry[]) => void (list.adopted = entries) };
  };

  test.each<[what: string, of: Partial<ProcessEntry>, isStray: boolean]>([
    ["an orphan", {}, true],
    ["one that began as the program did", { begun: 90 }, true],
    ["one that began before", { begun: 89 }, false],
    ["one that has ended", { isZombie: true }, false],
    ["one that is ending", { isEnding: true }, false],
    ["one of our own session", { session: processAt(process.pid)?.session ?? -1 }, false],
  ])("are orphans that live and began with it or later: %s", (_what, of, isStray) => {
    const { scopes } = scopesWith(entry(of));
    expect(pidsOf(scopes.strayOrphans(90))).toEqual(isStray ? [none] : []);
  });

  test.each<[what: string, next: Partial<ProcessEntry>, isStray: boolean]>([
    ["the same", {}, false],
    ["another of its session", { pid: none + 1 }, false],
    ["another of another session", { pid: none + 1, session: none + 1 }, true],
    ["the same, in a session of its own", { session: none + 2 }, false],
    ["another that has its number", { session: none + 2, begun: 200 }, true],
  ])("are none of what an earlier program left on purpose: %s", (_what, next, isStray) => {
    const { scopes, adopt } = scopesWith(entry({}));
    scopes.release();
    adopt(entry(next));
    expect(pidsOf(scopes.strayOrphans(0))).toEqual(isStray ? [next.pid ?? none] : []);
    // What is let go now is all that is let go.
    adopt();
    scopes.release();
    adopt(entry({}));
    expect(pidsOf(scopes.strayOrphans(0))).toEqual([none]);
  });

  test("are nobody's where nothing is adopted", () => {
    const scopes = new MarkedScopes(null);
    scopes.release();
    scopes.reap([entry({ isZombie: true })]);
    expect(scopes.strayOrphans(0)).toEqual([]);
    expect(scopes.found()).toEqual([]);
  });

  test("have their end taken note of, and nobody else's", () => {
    const [ended, living, other] = [
      entry({ isZombie: true }),
      entry({ pid: none + 1 }),
      entry({ pid: none + 2, isZombie: true }),
    ];
    const { scopes, reaped } = scopesWith(ended, living);
    scopes.reap([ended, living, other]);
    expect(reaped).toEqual([none]);
  });
});
