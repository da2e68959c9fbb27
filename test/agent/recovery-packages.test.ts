/** Lists that share a package, of two modules or of two versions of one, and an agent that is killed at any moment in between. */
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import type { EngineCommand } from "../../lib/agent/run-context.ts";
import { silentLogger } from "../../lib/logger.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { apply } from "../support/agent-commands.ts";
import { deferred } from "../support/deferred.ts";
import { AptMachine } from "../support/machine/apt.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Machine {
  stateDir: string;
  apt: AptMachine;
}

function makeMachine(): Machine {
  const stateDir = join(temporaryFolder(), "state");
  mkdirSync(stateDir);
  return { stateDir, apt: new AptMachine({ archive: { nginx: ["1"], curl: ["8"] } }) };
}

function copyOf({ stateDir, apt }: Machine): Machine {
  const copy = makeMachine();
  cpSync(stateDir, copy.stateDir, { recursive: true });
  for (const [name, found] of apt.installed) copy.apt.installed.set(name, { ...found });
  return copy;
}

/** Starts as an agent does, and runs one operation to its end. */
async function run(
  machine: Machine,
  command: EngineCommand,
  atProgram: () => void = () => {},
): Promise<OperationResult> {
  const { stateDir, apt } = machine;
  const clock = new FakeClock();
  const journal = new OperationJournal({ stateDir, clock, logger: silentLogger, boot: "one" });
  const applied = new AppliedSet(stateDir);
  const { host } = apt;
  const base = { journal, applied, clock, logger: silentLogger, types: resourceTypes };
  await recoverCutOff({ ...base, host });
  const ended = deferred<OperationResult>();
  const watched = new Proxy(host, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...parameters: unknown[]): unknown => {
        if (name === "run" || name === "barrier") atProgram();
        return Reflect.apply(member, target, parameters);
      };
    },
  });
  const runner = new OperationRunner({
    ...base,
    host: watched,
    orchestratorNow: () => clock.now(),
    runsCommands: true,
    progress: () => {},
    ended: ({ result }) => ended.resolve(result),
  });
  runner.submit(command);
  return ended.promise;
}

const list = declare([{ id: "p", type: "package", name: ["nginx", "curl"] }], "a");
const one = declare([{ id: "p", type: "package", name: "nginx" }], "b");
const removal = (id: number, module: string): EngineCommand =>
  apply(id, { resources: [], scope: [module], allow_empty: true });

test("what was left for the other module goes with it", async () => {
  const machine = makeMachine();
  await run(machine, apply(1, { resources: list, scope: ["a"] }));
  await run(machine, apply(2, { resources: one, scope: ["b"] }));
  const crashes: Machine[] = [];
  await run(machine, removal(3, "a"), () => crashes.push(copyOf(machine)));
  // The removal itself, and looks before and after it.
  expect(new Set(crashes.map(({ apt }) => apt.list().join()))).toEqual(
    new Set(["curl 8,nginx 1", "nginx 1"]),
  );
  for (const crashed of [...crashes, machine]) {
    await run(crashed, removal(4, "a"));
    expect(crashed.apt.list()).toEqual(["nginx 1"]);
    await run(crashed, removal(5, "b"));
    expect(crashed.apt.list()).toEqual([]);
    expect(new AppliedSet(crashed.stateDir).resources).toEqual([]);
  }
});

const versions = [["nginx"], ["nginx", "curl"]].map((name) => declare([{ id: "p", type: "package", name }]));
test.each([
  ["longer", versions],
  ["shorter", versions.toReversed()],
])("what a list brought goes with it, although it became %s meanwhile", async (_how, [first, second]) => {
  const machine = makeMachine();
  const scope = ["m"];
  await run(machine, apply(1, { resources: first!, scope }));
  const crashes: Machine[] = [];
  await run(machine, apply(2, { resources: second!, scope }), () => crashes.push(copyOf(machine)));
  expect(new Set(crashes.map(({ apt }) => apt.list().join())).size).toBe(2);
  for (const crashed of [...crashes, machine]) {
    await run(crashed, apply(3, { resources: second!, scope }));
    await run(crashed, removal(4, "m"));
    expect(crashed.apt.list()).toEqual([]);
    expect(new AppliedSet(crashed.stateDir).resources).toEqual([]);
  }
});
