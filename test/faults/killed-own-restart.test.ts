/**
 * An agent that is killed, or loses its power, before and after each write while it restarts itself: the operation ends, the
 * restart is never forgotten, and none is told that did not come.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EngineCommand } from "../../lib/agent/run-context.ts";
import { apply, resource, uuid } from "../support/agent-commands.ts";
import { deferred } from "../support/deferred.ts";
import { type Life, OwnRestartScene } from "../support/own-restart-scene.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type FolderContent, WatchedDisk } from "../support/watched-disk.ts";

const inits = ["systemd", "sysvinit", "openrc"] as const;
const conf = (content: string): ReturnType<typeof resource> =>
  resource({ id: "conf", type: "file", path: "/work/conf", content });
const service = resource({
  id: "agent",
  type: "service",
  name: "agent",
  running: true,
  restart_on: ["conf"],
});
const later = resource({ id: "later", type: "file", path: "/work/later", content: "x", requires: ["agent"] });
const to = (number: number, content: string): EngineCommand =>
  apply(number, { resources: [conf(content), service, later] });

/** A moment in which everything may end. */
interface Moment {
  call: string;
  written: FolderContent;
  certain: FolderContent;
  /** The configuration, as it is and as far as it is certain. */
  conf: string;
  certainConf: string;
  /** How often the service was restarted. */
  restarts: number;
}

/** How it goes on: whether the service was started anew, and the machine with it. */
const endings = {
  "killed, and started by the init system": { isLost: false, isStarted: true },
  "killed, and there again in the same run of the service": { isLost: false, isStarted: false },
  "gone with the power of the machine": { isLost: true, isStarted: true },
} as const;

describe.each(inits)("an agent that restarts itself, with %s", (init) => {
  test(
    "tells no restart that did not come, and forgets none, wherever it ends",
    { timeout: 120_000 },
    async () => {
      const moments = await momentsOf(init);
      expect(moments.filter(({ call }) => call === "fsyncSync").length).toBeGreaterThan(10);
      const seen: Record<string, number> = {};
      for (const moment of moments) {
        for (const [name, ending] of Object.entries(endings)) {
          const found = await goOn(init, moment, ending).catch((cause: unknown) => {
            throw new Error(`${name}, at ${moment.call}: ${String(cause)}`, { cause });
          });
          seen[`${name}: ${found}`] = (seen[`${name}: ${found}`] ?? 0) + 1;
        }
      }
      console.log(`${moments.length} moments with ${init}: ${JSON.stringify(seen)}`);
      // Each of these has to be met, or the moments are not those that matter.
      for (const [name, { isStarted }] of Object.entries(endings)) {
        for (const found of ["never taken on", "interrupted, nothing owed", "interrupted, owed"])
          expect(seen[`${name}: ${found}`], `${name}: ${found}`).toBeGreaterThan(0);
        if (isStarted) expect(seen[`${name}: succeeded`], name).toBeGreaterThan(0);
      }
    },
  );
});

/** Every moment of an apply that restarts the agent, up to the start behind it. */
async function momentsOf(init: (typeof inits)[number]): Promise<Moment[]> {
  const scene = new OwnRestartScene(init);
  const life = await toItsEnd(scene, await scene.live(), to(1, "1"));
  life.journal.acknowledge(uuid(1));
  const { host } = scene.machine;
  const moments: Moment[] = [];
  let certainConf = "1";
  let restarts = 0;
  const note = (call: string): void => {
    const [written, certain] = [disk.written(), disk.certain()];
    moments.push({ call, written, certain, conf: confIn(scene), certainConf, restarts });
  };
  const [barrier, run] = [host.barrier.bind(host), host.run.bind(host)];
  host.barrier = async () => {
    await barrier();
    certainConf = confIn(scene);
  };
  host.run = async (command, signal) => {
    const isRestart = command.argv.includes("restart");
    if (isRestart) note("restart");
    const result = await run(command, signal);
    if (isRestart) restarts += 1;
    if (isRestart) note("restart");
    return result;
  };
  const writeFile = host.files.writeFile.bind(host.files);
  host.files.writeFile = (...given) => {
    note("writeFile");
    writeFile(...given);
    note("writeFile");
  };
  using disk = new WatchedDisk(scene.stateDir, note);
  const last = await toItsEnd(scene, life, to(2, "2"));
  expect(last.journal.resultOf(uuid(2))?.status).toBe("succeeded");
  return moments;
}

/** What the next life makes of it. */
async function goOn(
  init: (typeof inits)[number],
  moment: Moment,
  { isLost, isStarted }: { isLost: boolean; isStarted: boolean },
): Promise<string> {
  const stateDir = temporaryFolder();
  for (const [path, content] of isLost ? moment.certain : moment.written) {
    mkdirSync(join(stateDir, dirname(path)), { recursive: true });
    writeFileSync(join(stateDir, path), content);
  }
  const scene = new OwnRestartScene(init, stateDir);
  scene.machine.host.files.writeFile("/work/conf", Buffer.from(isLost ? moment.certainConf : moment.conf), {
    mode: 0o644,
  });
  // The first life was begun by a restart.
  for (let starts = 0; starts < 1 + moment.restarts + (isStarted ? 1 : 0); starts += 1)
    scene.machine.start("agent");
  scene.machine.enter("agent");
  if (isLost) scene.boot = "second";
  const before = confIn(scene);

  const life = await scene.live();
  const result = life.journal.resultOf(uuid(2));
  const isOwed = life.applied.owed.some(({ resource_id }) => resource_id === "agent");
  scene.machine.commands.length = 0;
  const next = await toItsEnd(scene, life, to(3, "2"));
  const restarts = scene.machine.commands.filter((verb) => verb === "restart agent").length;
  expect(next.journal.resultOf(uuid(3))?.status).toBe("succeeded");
  expect(next.applied.owed).toEqual([]);
  expect(confIn(scene)).toBe("2");
  const again = await toItsEnd(scene, next, to(4, "2"));
  expect(again.journal.resultOf(uuid(4))?.results.every(({ outcome }) => outcome === "unchanged")).toBe(true);

  if (!life.journal.knows(uuid(2))) {
    expect([before, isOwed, restarts]).toEqual(["1", false, 1]);
    return "never taken on";
  }
  // What came is told, whatever became of the machine since.
  if (moment.restarts > 0) expect(result?.status).toBe("succeeded");
  if (result?.status === "succeeded") {
    // It came, with the new configuration there to be read, and is not done again.
    expect([isStarted || moment.restarts > 0, before, isOwed, restarts]).toEqual([true, "2", false, 0]);
    expect(result.results.map(({ resource_id }) => resource_id)).toEqual(["conf", "later", "agent"]);
    return "succeeded";
  }
  expect(result?.status).toBe("interrupted");
  expect(result?.results.some(({ resource_id }) => resource_id === "agent")).toBe(false);
  expect(restarts).toBe(1);
  // Where the new configuration is there, somebody has to remember.
  if (before === "2") expect(isOwed).toBe(true);
  return isOwed ? "interrupted, owed" : "interrupted, nothing owed";
}

/** Applies, and is restarted where that asks for it; gives the life in which it has ended. */
async function toItsEnd(scene: OwnRestartScene, life: Life, command: EngineCommand): Promise<Life> {
  const ordered = deferred<"ordered">();
  scene.machine.acted = (verb) => {
    if (verb === "restart agent") ordered.resolve("ordered");
  };
  const ended = life.run(command);
  const end = await Promise.race([ended, ordered.promise]);
  scene.machine.acted = () => {};
  if (end !== "ordered") return life;
  await life.runner.stop();
  scene.machine.enter("agent");
  return scene.live();
}

function confIn({ machine }: OwnRestartScene): string {
  return Buffer.from(machine.host.files.readFile("/work/conf")).toString();
}
