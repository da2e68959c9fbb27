import { createHash, randomUUID } from "node:crypto";
import fs, { readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { loadNodePty } from "../../../lib/agent/terminal/node-pty.ts";
import type { Pty } from "../../../lib/agent/terminal/pty.ts";
import { CgroupScopes } from "../../../lib/host/cgroup-scope.ts";
import { MarkedScopes, terminalVariable } from "../../../lib/host/marked-scope.ts";
import { environmentOf, listProcesses, processAt } from "../../../lib/host/process-table.ts";
import type { ProgramScope, ProgramScopes } from "../../../lib/host/program-scope.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitFor } from "../../support/wait-for.ts";

const openPty = loadNodePty(null);
// A name of its own: what a run that was killed left is none of this one.
const groups = CgroupScopes.open(`terminals-of-a-test-${randomUUID()}`);
if (groups === null) console.warn("Skipped: terminals in cgroups: this process may make none.");
const runs = Number(process.env["FLEETWRIGHT_PTY_RUNS"] ?? 100);

interface Run {
  pty: Pty;
  bytes: () => number;
  text: () => string;
  exitCode: Promise<number>;
}

function run(script: string, mark = "node/session", open = openPty): Run {
  const pieces: Uint8Array[] = [];
  let end: (exitCode: number) => void = () => {};
  const exitCode = new Promise<number>((resolve) => (end = resolve));
  const pty = open(
    {
      file: "/bin/sh",
      args: ["-c", script],
      environment: { PATH: "/usr/bin:/bin", TERM: "xterm" },
      mark,
      folder: "/",
      cols: 80,
      rows: 24,
    },
    { output: (bytes) => pieces.push(Uint8Array.from(bytes)), ended: end },
  );
  return {
    pty,
    exitCode,
    bytes: () => pieces.reduce((sum, { length }) => sum + length, 0),
    text: () => Buffer.concat(pieces).toString(),
  };
}

/** Processes of a terminal that live. */
const alive = (mark: string): number[] =>
  listProcesses().flatMap(({ pid, isZombie }) =>
    !isZombie && environmentOf(pid, terminalVariable) === mark ? [pid] : [],
  );

describe("a pseudoterminal", () => {
  it(`hands over every byte of a program that prints 100 kB and exits, in each of ${runs} runs`, async () => {
    for (let count = 0; count < runs; count += 1) {
      const one = run("head -c 100000 /dev/zero | tr '\\0' x; exit 3");
      expect(await one.exitCode).toBe(3);
      expect(one.bytes()).toBe(100_000);
    }
  }, 300_000);

  it("hands over all of it to a reader that waits until the program has long ended", async () => {
    const one = run("head -c 3000 /dev/zero | tr '\\0' x");
    one.pty.pause();
    await vi.waitFor(() => expect(() => process.kill(one.pty.pid, 0)).toThrow("ESRCH"), 30_000);
    expect(one.bytes()).toBeLessThanOrEqual(3000);
    one.pty.resume();
    await one.exitCode;
    expect(one.bytes()).toBe(3000);
  });

  it("that can't be held open leaves neither a program nor a file, and nothing is heard of it", async () => {
    const { openSync } = fs;
    const descriptors = (): number => fs.readdirSync("/proc/self/fd").length;
    const before = descriptors();
    const failing = (path: fs.PathLike, ...more: [string, number?]): number => {
      if (String(path).startsWith("/dev/pts/")) throw Object.assign(new Error("EMFILE"), { code: "EMFILE" });
      return openSync(path, ...more);
    };
    Object.assign(fs, { openSync: failing });
    syncBuiltinESMExports();
    try {
      expect(() => run("exec sleep 1000", "node/unheld")).toThrow("EMFILE");
    } finally {
      Object.assign(fs, { openSync });
      syncBuiltinESMExports();
    }
    const isMarked = (pid: string): boolean => {
      try {
        return fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes("node/unheld");
      } catch {
        return false;
      }
    };
    await vi.waitFor(() => expect(fs.readdirSync("/proc").filter(isMarked)).toEqual([]), 30_000);
    await waitFor(() => expect(descriptors()).toBe(before));
  });

  it("that can't be made leaves no group behind, however often that is tried", () => {
    const made = new Set<string>();
    const recorded = (id: string, of: ProgramScope): ProgramScope => ({
      group: of.group,
      isSure: true,
      start: (spawn) => of.start(spawn),
      members: (all) => of.members(all),
      kill: () => of.kill(),
      letGo: () => of.letGo(),
      remove: () => (of.remove(), void made.delete(id)),
    });
    const plain = new MarkedScopes(null);
    const scopes: ProgramScopes = {
      create: (held) => (made.add(held.id), recorded(held.id, (groups ?? plain).create(held))),
      found: () => (groups ?? plain).found(),
      open: (held) => (groups ?? plain).open(held),
    };
    const open = loadNodePty(scopes);
    const program = {
      file: "/bin/sh",
      args: [],
      environment: {},
      mark: "node/unmade",
      folder: "/",
      rows: 24,
    };
    for (let count = 0; count < 3; count += 1)
      // As where the machine has no pseudoterminals left: its native part throws.
      expect(() =>
        open({ ...program, cols: "none" as never }, { output: () => {}, ended: () => {} }),
      ).toThrow();
    expect([...made]).toEqual([]);
    expect(scopes.found()).toEqual([]);
  });

  it("holds a program up whose output nobody takes", async () => {
    const one = run("while :; do echo yes; done");
    one.pty.pause();
    const before = one.bytes();
    await waitFor(() => expect(process.kill(one.pty.pid, 0)).toBe(true));
    expect(one.bytes()).toBe(before);
    one.pty.kill();
    expect(await one.exitCode).toBe(137);
  });

  it("ends a program that has only just begun, in each of 60 runs", async () => {
    for (let count = 0; count < 60; count += 1) {
      const one = run("exec sleep 1000", "node/young");
      one.pty.kill();
      expect(await one.exitCode).toBe(137);
    }
  });

  it("lets whoever is told that the terminal is gone save what they have, stopped ones too", async () => {
    const folder = temporaryFolder();
    const loop = "while :; do sleep 0.05; done";
    const saving = (name: string): string => `trap 'sleep 0.2; echo kept > ${folder}/${name}; exit 7' HUP`;
    writeFileSync(join(folder, "job.sh"), `${saving("job")}; echo armed-$$-; kill -STOP $$; ${loop}`);
    const one = run(`${saving("shell")}; sh ${folder}/job.sh & echo ready; ${loop}`, "node/saving");
    await waitFor(() => expect(one.text()).toMatch(/armed-\d+-[^]*ready|ready[^]*armed-\d+-/));
    const [, job = ""] = /armed-(\d+)-/.exec(one.text()) ?? [];
    // Told before it has stopped, it would stop afterwards, and nobody would have it go on.
    await waitFor(() => expect(readFileSync(`/proc/${job}/stat`, "latin1")).toMatch(/^\d+ \(.*\) T /));
    one.pty.hangUp();
    one.pty.hangUp();
    expect(await one.exitCode).toBe(7);
    for (const name of ["shell", "job"]) expect(readFileSync(join(folder, name), "utf8")).toBe("kept\n");
  });

  it("ends whoever does not heed it, with what they left behind, and goes at once where all have gone", async () => {
    const deaf = run(
      "trap '' HUP; (setsid sleep 1000 &); echo ready; while :; do sleep 0.05; done",
      "node/deaf",
    );
    await waitFor(() => expect(deaf.text()).toContain("ready"));
    deaf.pty.hangUp();
    expect(await deaf.exitCode).toBe(137);
    const heeding = run("echo ready; exec sleep 1000", "node/heeding");
    await waitFor(() => expect(heeding.text()).toContain("ready"));
    heeding.pty.hangUp();
    expect(await heeding.exitCode).toBe(129);
    // Killed by then: it may not have been let run to its end.
    await waitFor(() => expect(alive("node/deaf")).toEqual([]));
  });

  it("takes nothing that is typed once the terminal is gone", async () => {
    const one = run("trap '' HUP; echo ready; read line; echo got-$line", "node/typing");
    await waitFor(() => expect(one.text()).toContain("ready"));
    one.pty.hangUp();
    await one.pty.write(Buffer.from("late\n"));
    expect(await one.exitCode).toBe(137);
    expect(one.text()).not.toContain("got-");
  });

  it("ends at once who was told that the terminal is gone, where nobody waits any more", async () => {
    const one = run("(trap '' HUP; exec sleep 1000) & echo ready; wait", "node/dropped");
    await waitFor(() => expect(one.text()).toContain("ready"));
    one.pty.hangUp();
    await waitFor(() => expect(processAt(one.pty.pid)).toBeNull());
    one.pty.kill();
    expect(await one.exitCode).toBe(129);
    // Killed by then: it may not have been let run to its end.
    await waitFor(() => expect(alive("node/dropped")).toEqual([]));
  });

  it("says the signal that ended a program as a shell does", async () => {
    expect(await run("kill -TERM $$").exitCode).toBe(143);
  });

  it("ends what left the session and its parents, too", async () => {
    const one = run("(setsid sh -c 'echo pid=$$.; exec sleep 1000' &) ; sleep 1000", "node/detached");
    await vi.waitFor(() => expect(one.text()).toMatch(/pid=\d+\./), 30_000);
    const pid = Number(/pid=(\d+)\./.exec(one.text())?.[1]);
    one.pty.kill();
    await one.exitCode;
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 30_000);
  });

  it.runIf(groups !== null)("ends what threw its mark away as well, where there are groups", async () => {
    const script = "(setsid env -i sh -c 'echo pid=$$.; exec sleep 1000' &) ; sleep 1000";
    const one = run(script, "node/unmarked", loadNodePty(groups));
    await vi.waitFor(() => expect(one.text()).toMatch(/pid=\d+\./), 30_000);
    const pid = Number(/pid=(\d+)\./.exec(one.text())?.[1]);
    one.pty.kill();
    await one.exitCode;
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 30_000);
    await vi.waitFor(() => expect(groups?.found()).toEqual([]), 30_000);
  });

  it("tells the program its size", async () => {
    const one = run("read go; stty size");
    one.pty.resize(132, 50);
    await one.pty.write(Buffer.from("\n"));
    await one.exitCode;
    expect(one.text()).toContain("50 132");
  });

  it("goes on with everything else while a program does not read what is typed", async () => {
    const one = run("stty raw -echo; echo ready; sleep 1000");
    await vi.waitFor(() => expect(one.text()).toContain("ready"), 30_000);
    let isTaken = false;
    const typed = one.pty.write(Buffer.alloc(1_000_000, "x")).then(() => (isTaken = true));
    const begun = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect(isTaken).toBe(false);
    expect(one.pty.unreadBytes).toBeGreaterThan(900_000);
    one.pty.kill();
    expect(await one.exitCode).toBe(137);
    await typed;
    expect(one.pty.unreadBytes).toBe(0);
  });

  it("hands over every byte that is typed to a program that reads late", async () => {
    const one = run("stty raw -echo; echo ready; sleep 0.3; head -c 1000000 | sha256sum");
    await vi.waitFor(() => expect(one.text()).toContain("ready"), 30_000);
    const bytes = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => (index * 7919) % 251));
    await one.pty.write(bytes);
    await one.exitCode;
    expect(one.text()).toContain(createHash("sha256").update(bytes).digest("hex"));
  });
});
