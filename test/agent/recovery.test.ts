import {
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Host, HostFiles } from "../../lib/host/host.ts";
import type { RunCommand } from "../../lib/agent/run-operation.ts";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { silentLogger } from "../../lib/logger.ts";
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

const scenarios: [name: string, before: RunCommand[], cut: RunCommand][] = [
  ["the first apply", [], apply(1, { resources: [theirs, folder, inside, link] })],
  [
    "an apply that makes, changes and removes",
    [apply(1, { resources: [theirs, kept] })],
    apply(2, { resources: [keptLater, folder, inside, link] }),
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
    await run(machine, cut, () => crashes.push(copyOf(machine)));
    // Two moments for each change to the machine: it is about to happen, and it has just happened.
    expect(crashes.length).toBeGreaterThanOrEqual(6);
    for (const crashed of crashes) {
      const result = await run(crashed, apply(9, { resources: [], allow_empty: true }));
      expect(result.status).toBe("succeeded");
      expect(treeOf(crashed.root)).toEqual(initial);
      expect(new AppliedSet(crashed.stateDir, resourceTypes).resources).toEqual([]);
    }
  });

  it.each(scenarios)("the same apply can be finished: %s", async (_name, before, cut) => {
    const machine = makeMachine();
    const crashes: Machine[] = [];
    for (const command of before) await run(machine, command);
    await run(machine, cut, () => crashes.push(copyOf(machine)));
    const finished = treeOf(machine.root);
    for (const crashed of crashes) {
      await run(crashed, { ...cut, operation_id: uuid(9) });
      expect(treeOf(crashed.root)).toEqual(finished);
    }
  });
});

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

/** Starts on a state folder as an agent does, runs one operation to its end, and acknowledges nothing. */
async function run(
  machine: Machine,
  command: RunCommand,
  atChange: () => void = () => {},
): Promise<{ status: string }> {
  const clock = new FakeClock();
  const journal = new OperationJournal({ stateDir: machine.stateDir, clock, logger: silentLogger });
  const applied = new AppliedSet(machine.stateDir, resourceTypes);
  recoverCutOff(journal, applied);
  const ended = deferred<{ status: string }>();
  const runner = new OperationRunner({
    journal,
    applied,
    host: observed(new LocalHost({ stateFolder: machine.stateDir, root: machine.root }), atChange),
    clock,
    logger: silentLogger,
    types: resourceTypes,
    orchestratorNow: () => clock.now(),
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
    files: watch(host.files, changing),
    users: host.users,
    backups: watch(host.backups, new Set(["restore"])),
    sha256: (content) => host.sha256(content),
    run: (command, signal) => host.run(command, signal),
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
