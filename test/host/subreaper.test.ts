/** Orphans of programs, which come to this process: which ones they are, and that their end is taken note of. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { becomeSubreaper, reaperOf, type Subreaper } from "../../lib/host/local-subreaper.ts";
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
    const found = becomeSubreaper();
    if (!found) throw new Error("This process can't adopt any.");
    subreaper = found;
  });
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

describe("the end of orphans", () => {
  /** Orphans as they are now, and the numbers of those whose end was taken note of. */
  const reaping = () => {
    const clock = new FakeClock();
    const state = { orphans: [] as ProcessEntry[], looks: 0 };
    const reaped: number[] = [];
    const adopted = (): ProcessEntry[] => {
      state.looks += 1;
      return state.orphans;
    };
    const reap = (pid: number): void => {
      reaped.push(pid);
      state.orphans = state.orphans.filter((each) => each.pid !== pid);
    };
    return { clock, state, reaped, tellEnd: reaperOf({ adopted, reap }, clock) };
  };
  const zombie = entry({ isZombie: true });

  test("is taken note of where nobody else has for a second, and so is that of the next", async () => {
    const { clock, state, reaped, tellEnd } = reaping();
    for (const pid of [none, none + 1]) {
      reaped.splice(0);
      state.orphans = [{ ...zombie, pid }];
      tellEnd();
      tellEnd();
      // Another thread may have started it, and be about to hear of its end.
      await clock.advance(2 * secondLookMs - 1);
      expect(reaped).toEqual([]);
      await clock.advance(1);
      expect(reaped).toEqual([pid]);
    }
    await clock.advance(10 * secondLookMs);
    expect(state.looks).toBe(4);
  });

  test.each<[what: string, then: ProcessEntry[]]>([
    ["is gone", []],
    ["is another that has its number", [{ ...zombie, begun: 101 }]],
    ["lives: it is another", [entry({ begun: 101 })]],
  ])("is left to who took note of it: at the second look it %s", async (_what, then) => {
    const { clock, state, reaped, tellEnd } = reaping();
    state.orphans = [zombie];
    tellEnd();
    await clock.advance(secondLookMs);
    state.orphans = then;
    await clock.advance(secondLookMs);
    expect(reaped).toEqual([]);
  });

  test("is not looked for while all of them live", async () => {
    const { clock, state, reaped, tellEnd } = reaping();
    state.orphans = [entry({})];
    tellEnd();
    await clock.advance(60 * secondLookMs);
    expect([reaped, state.looks]).toEqual([[], 1]);
  });
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
