/** What becomes of what programs start, under each way to know it. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { CgroupScopes } from "../../lib/host/cgroup-scope.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { ScopeKind } from "../../lib/host/local-programs.ts";
import { terminalVariable } from "../../lib/host/marked-scope.ts";
import { bootOf, listProcesses, processAt, signalProcess } from "../../lib/host/process-table.ts";
import { detachments, loggedProcesses, writeSleeper } from "../support/detached.ts";
import { eventually } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const never = new AbortController().signal;
const timeoutMs = 600_000;

/** The time of a program is over when we say so; other waits pass in a part of theirs. */
function hurriedClock(times: number): Clock & { timeIsOver: () => void } {
  let over: () => void = () => {};
  return {
    ...systemClock,
    setTimer(ms, fire) {
      if (ms < timeoutMs) return systemClock.setTimer(ms / times, fire);
      over = fire;
      return { cancel: () => void (over = () => {}) };
    },
    timeIsOver: () => over(),
  };
}

const canGroup = CgroupScopes.open("trial") !== null;
if (!canGroup)
  console.warn("Skipped: programs in cgroups: this process may make none, or is not root on Linux.");
if (!isMainThread)
  console.warn("Skipped: programs that leave no zombie: a thread does not hear of orphans that have ended.");
const kinds: ScopeKind[] = canGroup ? ["cgroup", "subreaper"] : ["subreaper"];

describe.runIf(process.platform === "linux").each(kinds)("programs that are held by %s", (holdBy) => {
  const create = (times = 20) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "work"));
    const clock = hurriedClock(times);
    const host = new LocalHost({ stateFolder: join(folder, "state"), clock, holdBy });
    onTestFinished(() => {
      for (const living of loggedProcesses(join(folder, "work/log")).living) signalProcess(living, "SIGKILL");
    });
    return { folder, host, clock, log: join(folder, "work/log") };
  };
  const begins = (log: string): Promise<void> =>
    eventually("it is noted", () => loggedProcesses(log).noted === 1);

  const endings = ["aborted", "out of time", "deaf", "a question"] as const;
  const rows = Object.entries(detachments).flatMap(([way, line]) =>
    endings.map((ending) => [way, ending, line] as const),
  );
  test.each(rows)("leave nothing of what runs %s when they are ended: %s", async (_way, ending, line) => {
    const { folder, host, clock, log } = create();
    const sleeper = writeSleeper(join(folder, "work"));
    const deaf = ending === "deaf" ? 'trap "" TERM; ' : "";
    const script = `${deaf}${line}\nwhile :; do sleep 0.1; done`;
    const controller = new AbortController();
    const running = host.run(
      {
        argv: ["/bin/sh", "-c", script, sleeper],
        asks: ending === "a question",
        timeoutMs,
      },
      controller.signal,
    );
    await begins(log);
    if (ending === "aborted") controller.abort();
    else clock.timeIsOver();
    const result = await running;
    expect(result.timedOut).toBe(ending !== "aborted");
    expect(loggedProcesses(log)).toEqual({ noted: 1, living: [] });
    expect(readdirSync(join(folder, "state/running"))).toEqual([]);
  });

  test.each([false, true])(
    "have what they started end in its own time after they were ended, a question: %s",
    async (asks) => {
      // What it saves it has saved before its time is over, as soon as the machine has time for it.
      const { folder, host, log } = create(1);
      const sleeper = writeSleeper(join(folder, "work"));
      const saved = join(folder, "work/saved");
      const saves = `sh -c 'trap "sleep 0.1; echo all > ${saved}; exit" TERM; sh "$0" & while :; do sleep 0.05; done' "$0"`;
      const controller = new AbortController();
      const argv = ["/bin/sh", "-c", `${saves} & wait`, sleeper] as const;
      const running = host.run({ argv, asks, timeoutMs }, controller.signal);
      await begins(log);
      controller.abort();
      // The shell went first.
      expect(await running).toMatchObject({ signal: "SIGTERM" });
      expect(readFileSync(saved, "utf8")).toBe("all\n");
      expect(loggedProcesses(log)).toEqual({ noted: 1, living: [] });
    },
  );

  test.each([false, true])(
    "are asked to end, too, where they were started while the others were asked, a question: %s",
    async (asks) => {
      // All of it ends when it is asked, as soon as the machine has time for it.
      const { folder, host, log } = create(1);
      const sleeper = writeSleeper(join(folder, "work"));
      const told = join(folder, "work/told");
      const late = join(folder, "work/late");
      const loop = "while :; do sleep 0.02; done";
      writeFileSync(late, `trap "echo asked > ${told}; exit" TERM\necho > ${late}-ready\n${loop}\n`);
      // It is without a parent, and asked, once it can hear.
      const start = `sh ${late} & until [ -e ${late}-ready ]; do sleep 0.01; done; exit 0`;
      const script = `trap '${start}' TERM; sh "$0" & ${loop}`;
      const controller = new AbortController();
      const running = host.run(
        { argv: ["/bin/sh", "-c", script, sleeper], asks, timeoutMs },
        controller.signal,
      );
      await begins(log);
      controller.abort();
      await running;
      expect(readFileSync(told, "utf8")).toBe("asked\n");
    },
  );

  test.each([false, true])(
    "let be what they start to put things in order, and wait for, when they are asked to end, a question: %s",
    async (asks) => {
      const { folder, host, log } = create(1);
      const sleeper = writeSleeper(join(folder, "work"));
      const saved = join(folder, "work/saved");
      const helper = join(folder, "work/helper");
      const steps = "for step in 1 2 3 4 5 6 7 8; do sleep 0.05; done";
      writeFileSync(helper, `trap "echo cut > ${saved}; exit" TERM\n${steps}\necho all > ${saved}\n`);
      const worker = `sh -c 'trap "sh ${helper}; exit" TERM; sh "$0" & while :; do sleep 0.05; done' "$0"`;
      const controller = new AbortController();
      const argv = ["/bin/sh", "-c", `${worker} & wait`, sleeper] as const;
      const running = host.run({ argv, asks, timeoutMs }, controller.signal);
      await begins(log);
      controller.abort();
      // The shell goes first: from then on the others are looked at.
      expect(await running).toMatchObject({ signal: "SIGTERM" });
      expect(readFileSync(saved, "utf8")).toBe("all\n");
      expect(loggedProcesses(log)).toEqual({ noted: 1, living: [] });
    },
  );

  test.each(Object.entries(detachments))(
    "live on where they were left on purpose, also when the host begins anew: %s",
    async (_way, line) => {
      const { folder, host, clock, log } = create();
      const sleeper = writeSleeper(join(folder, "work"));
      const script = `${line}\nwhile ! [ -s ${log} ]; do sleep 0.01; done`;
      const { exitCode } = await host.run({ argv: ["/bin/sh", "-c", script, sleeper] }, never);
      expect(exitCode).toBe(0);
      const again = new LocalHost({ stateFolder: join(folder, "state"), holdBy });
      expect(await again.endLeftPrograms()).toEqual([]);
      // Neither is it taken for a part of the next program.
      const next = host.run({ argv: ["/bin/sleep", "300"], timeoutMs }, never);
      clock.timeIsOver();
      expect(await next).toMatchObject({ timedOut: true });
      expect(loggedProcesses(log).living).toHaveLength(1);
    },
  );

  test.runIf(isMainThread)(
    "that end before the host is told leave no note, no group and no zombie",
    async () => {
      const { folder, host } = create();
      for (let run = 0; run < 20; run += 1) {
        const detached = "(setsid sh -c 'sleep 0.01 & exit 0' &); sleep 0.02";
        await host.run({ argv: ["/bin/sh", "-c", detached], asks: run % 2 === 0 }, never);
      }
      expect(readdirSync(join(folder, "state/running"))).toEqual([]);
      const zombies = (): number =>
        listProcesses().filter(({ parent, isZombie }) => isZombie && parent === process.pid).length;
      await expect.poll(zombies, { timeout: 30_000 }).toBe(0);
    },
  );

  test("that can't be started leave no note", async () => {
    const { folder, host } = create();
    const tooLong = ["/bin/true", "x".repeat(300_000)] as const;
    for (const argv of [["/nowhere/program"], [join(folder, "work")], tooLong, ["/bin/true", "\0"]] as const)
      await expect(host.run({ argv }, never)).rejects.toMatchObject({ code: "HOST_ERROR" });
    expect(readdirSync(join(folder, "state/running"))).toEqual([]);
  });

  test("are not taken for another's when the leader of their session has ended, or while they execute", async () => {
    const { folder, host, clock } = create();
    const others = Array.from({ length: 10 }, () => new AbortController());
    const ended = others.map(({ signal }) => host.run({ argv: ["/bin/sleep", "300"], asks: true }, signal));
    // Its environment reads as empty for a moment of each exec, and the leader of its session has ended.
    const restless = join(folder, "work/restless");
    writeFileSync(restless, `[ -s "$0.pid" ] || echo "$$" > "$0.pid"\nexec sh "$0"\n`);
    const line = '(setsid sh -c \'sh "$0" & exit 0\' "$0" &); sleep 300';
    const running = host.run({ argv: ["/bin/sh", "-c", line, restless], asks: true, timeoutMs }, never);
    const pidOf = (): number =>
      Number(existsSync(`${restless}.pid`) && readFileSync(`${restless}.pid`, "utf8"));
    await eventually("it is noted", () => pidOf() > 0);
    const pid = pidOf();
    for (const other of others) {
      other.abort();
      await pause(5);
    }
    await Promise.all(ended);
    expect(processAt(pid)).toMatchObject({ isZombie: false });
    clock.timeIsOver();
    expect(await running).toMatchObject({ timedOut: true });
    await eventually("it has ended", () => processAt(pid)?.isZombie ?? true);
  });

  test("are ended by the next life of the host, which tells what they were", async () => {
    const { folder, host, log } = create();
    const sleeper = writeSleeper(join(folder, "work"));
    const argv = ["/bin/sh", "-c", 'trap "" TERM; sh "$0" & wait; wait; sleep 300', sleeper] as const;
    const running = [false, true].map((asks) => host.run({ argv, asks, timeoutMs }, never));
    await eventually("both are noted", () => loggedProcesses(log).noted === 2);
    const next = new LocalHost({ stateFolder: join(folder, "state"), clock: hurriedClock(20), holdBy });
    const left = await next.endLeftPrograms();
    expect(left).toEqual([
      { program: "/bin/sh", processes: expect.any(Number) },
      { program: "/bin/sh", processes: expect.any(Number) },
    ]);
    for (const { processes } of left) expect(processes).toBeGreaterThanOrEqual(2);
    expect(await Promise.all(running)).toMatchObject([{ signal: "SIGKILL" }, { signal: "SIGKILL" }]);
    expect(loggedProcesses(log).living).toEqual([]);
    expect(readdirSync(join(folder, "state/running"))).toEqual([]);
    expect(await next.endLeftPrograms()).toEqual([]);
  });

  test("are not mistaken for others by their number", async () => {
    const { folder, host } = create();
    const innocent = spawn("/bin/sleep", ["300"], { detached: true });
    onTestFinished(async () => {
      innocent.kill("SIGKILL");
      await once(innocent, "close");
    });
    const notes = join(folder, "state/running");
    mkdirSync(notes, { recursive: true });
    const { begun = 0 } = processAt(innocent.pid ?? 0) ?? {};
    const note = (id: number, boot: string, began: number): void => {
      const name = `00000000-0000-4000-8000-00000000000${id}`;
      const first = { pid: innocent.pid, begun: began };
      const held = { id: name, program: "sleep", boot, first, group: null };
      writeFileSync(join(notes, name), JSON.stringify(held));
    };
    note(1, bootOf(), begun - 1);
    note(2, "another start of the machine", begun);
    writeFileSync(join(notes, "00000000-0000-4000-8000-000000000003"), "{half a no");
    expect(await host.endLeftPrograms()).toEqual([]);
    expect(innocent.exitCode).toBeNull();
    expect(readdirSync(notes)).toEqual([]);
  });

  test("are ended without what somebody has left running from a terminal meanwhile", async () => {
    const { host } = create();
    const controller = new AbortController();
    const running = host.run({ argv: ["/bin/sleep", "300"] }, controller.signal);
    const line = "setsid sleep 300 > /dev/null 2>&1 & echo $!";
    const env = { ...process.env, [terminalVariable]: "node/session" };
    const pid = Number(execFileSync("/bin/sh", ["-c", line], { env, encoding: "utf8" }));
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    await eventually("it has a session of its own", () => processAt(pid)?.session === pid);
    controller.abort();
    await running;
    expect(processAt(pid)).toMatchObject({ isZombie: false, isEnding: false });
  });

  test("are ended without what the rest of this process has started meanwhile", async () => {
    const { host } = create();
    const controller = new AbortController();
    const running = host.run({ argv: ["/bin/sleep", "300"] }, controller.signal);
    const other = spawn("/bin/sleep", ["300"], { detached: true });
    controller.abort();
    await running;
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    other.kill("SIGKILL");
    await once(other, "close");
  });
});
