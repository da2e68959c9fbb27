import {
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import type { EngineCommand } from "../../lib/agent/run-context.ts";
import type { Host, HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { apply, resource, uuid } from "../support/agent-commands.ts";
import { deferred } from "../support/deferred.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const theirs = resource({ type: "file", path: "/theirs", content: "ours now" });
const kept = resource({ type: "file", path: "/kept", content: "one" });
const keptLater = resource({ type: "file", path: "/kept", content: "two" });
const folder = resource({ type: "directory", path: "/folder" });
const inside = resource({ type: "file", path: "/folder/inside", content: "x" });
const link = resource({ type: "symlink", path: "/link", target: "/folder" });

function ofBase(of: ResolvedResource): ResolvedResource {
  return { ...of, module: "base" };
}

const released = (release: string): ResolvedResource[] => [
  resource({ type: "symlink", path: "/current", target: release }),
  resource({ type: "file", path: "/current/f", content: `ours of ${release}` }),
];

const scenarios: [name: string, before: EngineCommand[], cut: EngineCommand][] = [
  ["the first apply", [], apply(1, { resources: [theirs, folder, inside, link] })],
  [
    "an apply that makes, changes and removes",
    [apply(1, { resources: [theirs, kept] })],
    apply(2, { resources: [keptLater, folder, inside, link] }),
  ],
  [
    "an apply of one module beside another, which wants one thing as well",
    [apply(1, { resources: [ofBase(theirs), ofBase(folder), kept] })],
    apply(2, { resources: [theirs, inside, link], scope: ["web"] }),
  ],
  [
    "the removal of one module beside another",
    [apply(1, { resources: [ofBase(folder), theirs, kept, link, inside, ofBase(theirs)] })],
    apply(2, { resources: [], scope: ["web"], allow_empty: true }),
  ],
  [
    "an apply that leads a link elsewhere, with something behind it",
    [apply(1, { resources: released("r1") })],
    apply(2, { resources: released("r2") }),
  ],
  [
    "the removal of everything",
    [apply(1, { resources: [theirs, kept, folder, inside] })],
    apply(2, { resources: [], allow_empty: true }),
  ],
];

describe("after a crash at any moment of an apply", () => {
  it.each(scenarios)("everything can still be taken away: %s", async (_name, before, cut) => {
    const machine = makeMachine();
    const initial = treeOf(machine.root);
    const crashes: Machine[] = [];
    for (const command of before) await run(machine, command);
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    // Two moments for each change to the machine: it is about to happen, and it has just happened.
    expect(crashes.length).toBeGreaterThanOrEqual(6);
    for (const crashed of crashes) {
      const result = await run(crashed, apply(9, { resources: [], allow_empty: true }));
      expect(result.status).toBe("succeeded");
      expect(treeOf(crashed.root)).toEqual(initial);
      expect(new AppliedSet(crashed.stateDir).resources).toEqual([]);
    }
  });

  it.each(scenarios)("the same apply can be finished: %s", async (_name, before, cut) => {
    const machine = makeMachine();
    const crashes: Machine[] = [];
    for (const command of before) await run(machine, command);
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    const finished = treeOf(machine.root);
    for (const crashed of crashes) {
      await run(crashed, { ...cut, operation_id: uuid(9) });
      expect(treeOf(crashed.root)).toEqual(finished);
    }
  });
});

describe.each([
  ["that was started anew", "another"],
  ["of which it isn't known whether it was started anew", null],
])(
  "on a machine %s after a loss of power, which took the notes of changes but not the changes",
  (_, boot) => {
    it.each(scenarios)("everything can still be taken away: %s", async (_name, before, cut) => {
      const machine = makeMachine();
      const initial = treeOf(machine.root);
      const crashes: Machine[] = [];
      const until = boot === null ? null : "one";
      for (const command of before) await run(machine, command, { boot: until });
      await run(machine, cut, { boot: until, atChange: () => crashes.push(copyOf(machine)) });
      expect(crashes).not.toEqual([]);
      let lost = 0;
      for (const crashed of crashes) {
        lost += loseNotes(crashed, cut.operation_id);
        const removal = apply(9, { resources: [], allow_empty: true });
        expect((await run(crashed, removal, { boot })).status).toBe("succeeded");
        expect(treeOf(crashed.root)).toEqual(initial);
      }
      expect(lost).toBeGreaterThan(0);
    });
  },
);

describe("what a trigger owes after a crash at any moment", () => {
  const conf = (content: string): ReturnType<typeof resource> =>
    resource({ id: "conf", type: "file", path: "/conf", content });
  const load = resource({ id: "load", type: "script", run: "cat conf >> loads", run_on: ["conf"] });
  const loadsOf = ({ root }: Machine): string[] => readFileSync(join(root, "loads"), "utf8").split("\n");

  it.each([
    ["the same is applied again", "two\n"],
    ["something else is by then", "three\n"],
    ["what stood before is by then", "one\n"],
  ])("is caught up on by the next apply, and no later one: %s", async (_name, next) => {
    const machine = makeMachine();
    const crashes: Machine[] = [];
    await run(machine, apply(1, { resources: [conf("one\n"), load] }));
    const cut = apply(2, { resources: [conf("two\n"), load] });
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    expect(loadsOf(machine)).toEqual(["one", "two", ""]);
    const seen = new Set<number>();
    for (const crashed of crashes) {
      const before = loadsOf(crashed);
      const wrote = readFileSync(join(crashed.root, "conf"), "utf8");
      await run(crashed, apply(8, { resources: [conf(next), load] }));
      const after = loadsOf(crashed);
      seen.add(after.length - before.length);
      // Where the new text never came to the machine, and never will, nothing has to be read again.
      expect(`${after.at(-2)}\n`, before.join()).toBe(wrote === next && next === "one\n" ? "one\n" : next);
      expect(after.length - before.length).toBeLessThanOrEqual(1);
      await run(crashed, apply(9, { resources: [conf(next), load] }));
      expect(loadsOf(crashed)).toEqual(after);
    }
    expect(seen).toContain(1);
  });

  it("is kept over starts, plans and what others do, until it is caught up on", async () => {
    const machine = makeMachine();
    await run(machine, apply(1, { resources: [conf("one\n"), load] }));
    const crashes: Machine[] = [];
    const cut = apply(2, { resources: [conf("two\n"), load] });
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    const crashed = crashes.find(
      (each) => readFileSync(join(each.root, "conf"), "utf8") === "two\n" && loadsOf(each).length === 2,
    )!;
    for (const number of [3, 4]) {
      const plan = { ...cut, type: "plan" as const, operation_id: uuid(number) };
      expect((await run(crashed, plan)).results).toContainEqual(
        expect.objectContaining({ resource_id: "load", action: "run", owed_since: uuid(2) }),
      );
    }
    const check = { ...cut, type: "check" as const, operation_id: uuid(5) };
    expect((await run(crashed, check)).results).toContainEqual(
      expect.objectContaining({ resource_id: "load", outcome: "would_change", caused_by: ["conf"] }),
    );
    await run(crashed, { ...cut, operation_id: uuid(6) });
    expect(loadsOf(crashed)).toEqual(["one", "two", ""]);
    expect(new AppliedSet(crashed.stateDir).owed).toEqual([]);
  });

  it("is owed by all that was to be changed where the machine itself went down", async () => {
    const machine = makeMachine();
    await run(machine, apply(1, { resources: [conf("one\n"), load] }));
    const crashes: Machine[] = [];
    const cut = apply(2, { resources: [conf("two\n"), load] });
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    for (const crashed of crashes) {
      // Of the journal only what was synced is left: that it was accepted, and who watches what.
      const path = join(crashed.stateDir, "operations", `${uuid(2)}.jsonl`);
      const lines = readFileSync(path, "utf8").split("\n");
      const synced = lines.filter((line) => /"record":"(accepted|captured|watching)"/.test(line));
      if (synced.length < 2) continue;
      writeFileSync(path, synced.map((line) => `${line}\n`).join(""));
      await run(crashed, apply(9, { resources: [conf("two\n"), load] }));
      expect(loadsOf(crashed).at(-2)).toBe("two");
    }
  });
});

const linked = resource({ type: "file", path: "/home/link/f", content: "one" });
const linkedLater = resource({ type: "file", path: "/home/link/f", content: "two" });
const linkedLine = resource({ type: "line", path: "/home/link/lines", line: "ours" });
const linkedBlock = resource({ type: "block", path: "/home/link/lines", content: "ours\n" });

describe("a link that is led elsewhere between the kill and the start", () => {
  it.each<[name: string, before: EngineCommand[], cut: EngineCommand]>([
    ["a file", [], apply(1, { resources: [linked] })],
    ["parts of a file", [], apply(1, { resources: [linkedLine, linkedBlock] })],
    ["a new version", [apply(1, { resources: [linked] })], apply(2, { resources: [linkedLater] })],
    [
      "a removal",
      [apply(1, { resources: [linked, linkedLine] })],
      apply(2, { resources: [], allow_empty: true }),
    ],
  ])("changes nothing of what is ours: %s", async (name, before, cut) => {
    const machine = makeMachine();
    for (const folder of ["a", "b"]) {
      mkdirSync(join(machine.root, "home", folder), { recursive: true });
      writeFileSync(join(machine.root, "home", folder, "f"), `of ${folder}`);
      writeFileSync(join(machine.root, "home", folder, "lines"), `of ${folder}\n`);
    }
    symlinkSync("a", join(machine.root, "home/link"));
    const crashes: Machine[] = [];
    for (const command of before) await run(machine, command);
    await run(machine, cut, { atChange: () => crashes.push(copyOf(machine)) });
    expect(crashes.length).toBeGreaterThanOrEqual(2);
    const told = new Set<string>();
    for (const crashed of crashes) {
      const swapped = copyOf(crashed);
      rmSync(join(swapped.root, "home/link"));
      symlinkSync("b", join(swapped.root, "home/link"));
      const [expected, found] = [await recover(crashed), await recover(swapped)];
      expect(found).toEqual(expected);
      told.add(JSON.stringify(expected));
    }
    // Before the change and after it other things are ours; of a new version as soon as it is begun.
    expect(told.size).toBeGreaterThanOrEqual(name === "a new version" ? 1 : 2);
  });
});

/** What is ours after a start. */
async function recover({ stateDir, root }: Machine): Promise<unknown> {
  const clock = new FakeClock();
  const journal = new OperationJournal({ stateDir, clock, logger: silentLogger });
  const applied = new AppliedSet(stateDir);
  const host = new LocalHost({ stateFolder: stateDir, root });
  await recoverCutOff({ journal, applied, host, types: resourceTypes, clock, logger: silentLogger });
  return new AppliedSet(stateDir).resources;
}

interface Machine {
  stateDir: string;
  root: string;
}

function makeMachine(): Machine {
  const parent = temporaryFolder();
  const machine = { stateDir: join(parent, "state"), root: join(parent, "root") };
  mkdirSync(machine.stateDir);
  mkdirSync(machine.root);
  writeFileSync(join(machine.root, "theirs"), "not ours");
  for (const release of ["r1", "r2"]) {
    mkdirSync(join(machine.root, release));
    writeFileSync(join(machine.root, release, "f"), `theirs of ${release}`);
  }
  return machine;
}

/** What a process that dies now would leave. */
function copyOf(machine: Machine): Machine {
  const parent = temporaryFolder();
  const copy = { stateDir: join(parent, "state"), root: join(parent, "root") };
  cpSync(machine.stateDir, copy.stateDir, { recursive: true });
  cpSync(machine.root, copy.root, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Takes away what a loss of power may: the notes that nothing made durable. Returns how many. */
function loseNotes({ stateDir }: Machine, operationId: string): number {
  const folder = join(stateDir, "operations");
  let lost = 0;
  for (const name of readdirSync(folder).filter((each) => each.includes(operationId))) {
    const lines = readFileSync(join(folder, name), "utf8").split("\n");
    const left = lines.filter((line) => !line.includes('"record":"begun"'));
    writeFileSync(join(folder, name), left.join("\n"));
    lost += lines.length - left.length;
  }
  return lost;
}

/** Starts on a state folder as an agent does, runs one operation to its end, and acknowledges nothing. */
async function run(
  machine: Machine,
  command: EngineCommand,
  { atChange = () => {}, boot }: { atChange?: () => void; boot?: string | null } = {},
): Promise<OperationResult> {
  const clock = new FakeClock();
  const journal = new OperationJournal({
    stateDir: machine.stateDir,
    clock,
    logger: silentLogger,
    ...(boot !== undefined && { boot }),
  });
  const applied = new AppliedSet(machine.stateDir);
  const local = new LocalHost({ stateFolder: machine.stateDir, root: machine.root });
  await recoverCutOff({ journal, applied, host: local, types: resourceTypes, clock, logger: silentLogger });
  const ended = deferred<OperationResult>();
  const runner = new OperationRunner({
    journal,
    applied,
    host: observed(local, atChange),
    clock,
    logger: silentLogger,
    types: resourceTypes,
    orchestratorNow: () => clock.now(),
    runsCommands: true,
    progress: () => {},
    ended: ({ result }) => ended.resolve(result),
  });
  runner.submit(command);
  return ended.promise;
}

const changing: ReadonlySet<keyof HostFiles> = new Set<keyof HostFiles>([
  "writeFile",
  "makeDirectory",
  "makeSymlink",
  "setAttributes",
  "removeFile",
  "removeDirectory",
]);

/** The host, with a call before and after each change of a file. */
function observed(host: LocalHost, atChange: () => void): Host {
  const watch = <T extends object>(object: T, names: ReadonlySet<PropertyKey>): T =>
    new Proxy(object, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...parameters: unknown[]): unknown => {
          if (names.has(name)) atChange();
          const value: unknown = Reflect.apply(member, target, parameters);
          if (names.has(name)) atChange();
          return value;
        };
      },
    });
  return {
    platform: host.platform,
    isConfined: host.isConfined,
    mark: host.mark,
    ...(host.workFolder && { workFolder: host.workFolder }),
    ...(host.ownProcess && { ownProcess: host.ownProcess.bind(host) }),
    files: watch(host.files, changing),
    users: host.users,
    backups: watch(host.backups, new Set(["restore"])),
    sha256: (content) => host.sha256(content),
    run: async (command, signal) => {
      atChange();
      const result = await host.run(command, signal);
      atChange();
      return result;
    },
    download: (request, signal) => host.download(request, signal),
    barrier: () => host.barrier(),
  };
}

/** Every path below a folder with what is there. */
function treeOf(path: string, prefix = ""): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const name of readdirSync(path)) {
    const full = join(path, name);
    const stat = lstatSync(full);
    const key = `${prefix}/${name}`;
    if (stat.isDirectory()) Object.assign(tree, { [key]: "folder" }, treeOf(full, key));
    else tree[key] = stat.isSymbolicLink() ? `-> ${readlinkSync(full)}` : readFileSync(full, "utf8");
  }
  return tree;
}
