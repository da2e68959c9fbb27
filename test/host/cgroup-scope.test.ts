/** The groups of the kernel that programs are held in, as whoever looks at the machine sees them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CgroupScopes } from "../../lib/host/cgroup-scope.ts";
import { ownCgroup } from "../../lib/host/own-cgroup.ts";
import { bootOf, listProcesses, processAt } from "../../lib/host/process-table.ts";
import type { HeldProgram } from "../../lib/host/program-scope.ts";
import { eventually } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let count = 0;
/** Groups of an agent that nobody else is. */
const openScopes = (): CgroupScopes | null => CgroupScopes.open(`test-${process.pid}-${(count += 1)}`);
const canGroup = openScopes() !== null;
if (!canGroup) console.warn("Skipped: groups of programs: this process may make none.");

const held = (id: string): HeldProgram => ({ id, program: "p", boot: bootOf(), first: null, group: null });
const groupOf = (pid: number | "self"): string =>
  /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "";

function sleeper(): ChildProcess {
  const child = spawn("/bin/sleep", ["300"], { detached: true, stdio: "ignore" });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return child;
}

describe.runIf(canGroup)("a group of the kernel", () => {
  const pidsOf = (list: readonly { pid: number }[]): number[] => list.map(({ pid }) => pid).sort();

  test("holds a program from its birth on, and nothing of ours", async () => {
    const before = groupOf("self");
    const scopes = openScopes()!;
    const [one, two] = [scopes.create(held("one")), scopes.create(held("two"))];
    const [first, second] = [one.start(sleeper), two.start(sleeper)];
    expect(groupOf("self")).toBe(before);
    expect(basename(groupOf(first.pid!))).toBe("one");
    expect(dirname(groupOf(first.pid!))).toBe(dirname(groupOf(second.pid!)));
    const other = sleeper();
    expect(groupOf(other.pid!)).toBe(before);
    expect([one, two].map((scope) => pidsOf(scope.members(listProcesses())))).toEqual([
      [first.pid],
      [second.pid],
    ]);
    // A later life finds them by their place, and opens them by what it finds.
    const found = scopes.found();
    expect(found.map(({ id }) => id).toSorted()).toEqual(["one", "two"]);
    expect(found[0]).toMatchObject({ boot: bootOf(), first: null, program: "a program" });
    for (const each of found) expect(scopes.open(each).members(listProcesses())).toHaveLength(1);
    expect(scopes.open(held("one")).group).toBe(one.group);
    one.kill();
    await once(first, "exit");
    expect(first.signalCode).toBe("SIGKILL");
    expect([one.members(listProcesses()), processAt(second.pid!)?.isZombie]).toEqual([[], false]);
    two.kill();
    await once(second, "exit");
    for (const scope of [one, two]) scope.remove();
    expect([existsSync(one.group!), existsSync(dirname(one.group!))]).toEqual([false, false]);
  });

  test("lets go what lives in it, which is nobody's from then on", async () => {
    const scopes = openScopes()!;
    const scope = scopes.create(held("one"));
    const child = scope.start(sleeper);
    scope.letGo();
    scope.remove();
    expect(basename(groupOf(child.pid!))).toBe("left");
    expect([scope.members(listProcesses()), scopes.found()]).toEqual([[], []]);
    expect(existsSync(scope.group!)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    await eventually("the group is empty", () => (scope.remove(), !existsSync(dirname(scope.group!))));
  });

  test("goes with all that a program made below it", () => {
    const scopes = openScopes()!;
    const scope = scopes.create(held("one"));
    mkdirSync(join(scope.group!, "a/b"), { recursive: true });
    mkdirSync(join(scope.group!, "c"));
    expect(scopes.found().map(({ id }) => id)).toEqual(["one"]);
    scope.remove();
    expect(existsSync(dirname(scope.group!))).toBe(false);
  });

  test("counts as members what programs put into groups below it", async () => {
    const scope = openScopes()!.create(held("one"));
    const child = scope.start(sleeper);
    const inner = join(scope.group!, "a/b");
    mkdirSync(inner, { recursive: true });
    writeFileSync(join(inner, "cgroup.procs"), String(child.pid));
    expect(pidsOf(scope.members(listProcesses()))).toEqual([child.pid]);
    scope.letGo();
    expect(basename(groupOf(child.pid!))).toBe("left");
    child.kill("SIGKILL");
    await once(child, "exit");
    scope.remove();
  });

  test("that this process is in itself is not ended", () => {
    const kills = (...pids: number[]): boolean => {
      const group = temporaryFolder();
      writeFileSync(join(group, "cgroup.procs"), pids.map((pid) => `${pid}\n`).join(""));
      openScopes()!
        .open({ ...held("one"), group })
        .kill();
      return existsSync(join(group, "cgroup.kill"));
    };
    expect([kills(1_000_000), kills(1_000_000, process.pid), kills(process.pid)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("is no place to leave a trace in where it is only tried out", () => {
    const name = `test-${process.pid}-trial`;
    CgroupScopes.open(name);
    expect(readdirSync(ownCgroup()!)).not.toContain(`fleetwright-${name}`);
  });

  // As it reads in a container: a process that has no number there stands as 0, which the kernel takes for whoever writes it.
  test("moves nobody who has no number here", () => {
    const folder = temporaryFolder();
    const group = join(folder, "group");
    mkdirSync(group);
    const child = sleeper();
    writeFileSync(join(group, "cgroup.procs"), `${child.pid}\n0\n`);
    const scope = openScopes()!.open({ ...held("one"), group });
    expect(pidsOf(scope.members(listProcesses()))).toEqual([child.pid]);
    scope.letGo();
    expect(readFileSync(join(folder, "left/cgroup.procs"), "utf8")).toBe(String(child.pid));
  });
});
