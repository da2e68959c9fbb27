/** What stands in the way of what: the order in which an apply of a fleet folder gets through. */
import { describe, expect, it } from "vitest";
import type { FolderPlan, FolderStep } from "fleetwright";
import { ApiError, type Client } from "fleetwright/client";
import { applyPlan, type Applied } from "../../../adapters/sync/apply-plan.ts";
import { planFolder } from "../../../adapters/sync/plan-folder.ts";
import { startCommandLine, type CommandLine } from "../../support/command-line.ts";
import {
  clientOf,
  losing,
  makeFolder,
  newPublicKey,
  operatorKey,
  putFile,
  wholeFleet,
  type FolderTexts,
} from "../../support/fleet-folder.ts";

const pruning = { takeOver: false, prune: true, allowEmpty: false };
const keeping = { ...pruning, prune: false };

interface Scene {
  line: CommandLine;
  client: Client;
  folder: string;
  plan(options?: typeof pruning): Promise<FolderPlan>;
  apply(options?: typeof pruning): Promise<Applied>;
}

/** A server as a folder says. */
async function startAs(files: FolderTexts): Promise<Scene> {
  const line = await startCommandLine();
  const client = clientOf(line);
  const folder = makeFolder({ "fleet.yaml": "label: shop\n", ...files });
  const plan = (options = pruning): Promise<FolderPlan> => planFolder(client, folder, options);
  const scene: Scene = {
    line,
    client,
    folder,
    plan,
    apply: async (options = pruning) => {
      const made = await plan(options);
      expect(made.faults).toEqual([]);
      return applyPlan(client, made, { prune: options.prune, onDone: () => {} });
    },
  };
  expect((await scene.apply()).failed).toBeNull();
  return scene;
}

async function expectNoDifference({ plan }: Scene): Promise<void> {
  expect(await plan()).toMatchObject({ steps: [], removals: [], faults: [], unmanaged: [] });
}

const shown = ({ action, kind, name }: FolderStep): string => `${action} ${kind} ${name}`;
const faultsOf = ({ faults }: FolderPlan): string[] =>
  faults.map(
    ({ line, column, code, path, message }) => `${line}:${column} ${code} ${path.join(".")} ${message}`,
  );

function people(keys: Readonly<Record<string, string>>): FolderTexts {
  const entries = Object.entries(keys).map(([name, key]) => `  ${name}: { public_key: ${key} }\n`);
  return { "people.yaml": entries.length === 0 ? "" : `operators:\n${entries.join("")}` };
}

async function keysOf(client: Client): Promise<Record<string, string>> {
  const { items } = await client.operators.list({});
  return Object.fromEntries(
    items.filter((each) => each.managed_by).map((each) => [each.username, each.public_key]),
  );
}

describe("operators whose names and keys change", () => {
  const [one, two, three] = [newPublicKey(), newPublicKey(), newPublicKey()];
  const moves: [string, Record<string, string>, Record<string, string>, string[]][] = [
    ["another name", { ada: one }, { eve: one }, ["replace operators eve"]],
    ["a name that differs in case only", { ada: one }, { Ada: one }, ["replace operators Ada"]],
    [
      "a key that goes on to a new one",
      { ada: one },
      { ada: two, bob: one },
      ["replace operators ada", "create operators bob"],
    ],
    [
      "a key that goes to one who comes first",
      { ada: one, bob: two },
      { ada: two, bob: three },
      ["replace operators bob", "replace operators ada"],
    ],
    [
      "a key that goes to one who comes later",
      { ada: one, bob: two },
      { ada: three, bob: one },
      ["replace operators ada", "replace operators bob"],
    ],
    [
      "keys that are exchanged",
      { ada: one, bob: two },
      { ada: two, bob: one },
      ["replace operators bob", "replace operators ada"],
    ],
    [
      "keys that go round",
      { ada: one, bob: two, eve: three },
      { ada: two, bob: three, eve: one },
      ["replace operators eve", "replace operators bob", "replace operators ada"],
    ],
  ];
  it.each(moves)("are as the folder says with %s", async (_, before, after, steps) => {
    const scene = await startAs(people(before));
    putFile(scene.folder, "people.yaml", people(after)["people.yaml"]!);
    const { failed, done, half } = await scene.apply(keeping);
    expect(failed).toBeNull();
    expect(done.map(shown).toSorted()).toEqual(steps.toSorted());
    expect(half).toEqual([]);
    expect(await keysOf(scene.client)).toEqual(after);
    await expectNoDifference(scene);
  });

  it("show what becomes of them", async () => {
    const scene = await startAs(people({ ada: one }));
    putFile(scene.folder, "people.yaml", people({ eve: one })["people.yaml"]!);
    await scene.line.print("login", "--key", scene.line.key);
    expect((await scene.line.run("sync", "plan", scene.folder)).stdout).toBe(
      '~ operator  eve  replaced, username: "ada" -> "eve"\n1 to replace\n',
    );
  });

  it("are refused where a key stays with somebody whom the folder does not name", async () => {
    const scene = await startAs(people({ ada: one, bob: two }));
    putFile(scene.folder, "people.yaml", people({ ada: two })["people.yaml"]!);
    expect(faultsOf(await scene.plan(keeping))).toEqual([
      "2:22 ALREADY_EXISTS operators.ada.public_key The operator bob of the server has this key. --prune removes that one, which the folder does not have any more.",
    ]);
    const { failed, done } = await scene.apply();
    expect(failed).toBeNull();
    expect(done.map(shown)).toEqual(["remove operators bob", "replace operators ada"]);
    await scene.client.operators.add({ username: "carl", public_key: three });
    putFile(scene.folder, "people.yaml", people({ ada: three })["people.yaml"]!);
    expect(faultsOf(await scene.plan())).toEqual([
      "2:22 ALREADY_EXISTS operators.ada.public_key The operator carl of the server has this key. Have the folder say what becomes of that one.",
    ]);
    expect(await keysOf(scene.client)).toEqual({ ada: two });
  });

  for (const lost of ["request", "answer"] as const)
    for (let at = 1; at <= 4; at += 1)
      it(`have their keys exchanged by the next apply where the ${lost} of call ${at} is lost`, async () => {
        const scene = await startAs(people({ ada: one, bob: two }));
        const after = { ada: two, bob: one };
        putFile(scene.folder, "people.yaml", people(after)["people.yaml"]!);
        const failing = clientOf(scene.line, losing(at, lost));
        const { failed, half, done, left } = await applyPlan(failing, await scene.plan(), {
          prune: true,
          onDone: () => {},
        });
        expect(failed?.error).toBeInstanceOf(ApiError);
        expect([...done, failed!.step, ...left]).toHaveLength(2);
        const there = await keysOf(scene.client);
        // Whoever is gone is told as such.
        for (const name of ["ada", "bob"])
          if (there[name] === undefined && lost === "request")
            expect(half.map((step) => step.name)).toContain(name);
        expect((await scene.apply()).failed).toBeNull();
        expect(await keysOf(scene.client)).toEqual(after);
        await expectNoDifference(scene);
      });
});

const motd = (content: string): string => `  - { type: file, path: /etc/motd, content: ${content} }\n`;
const issue = (content: string): string => `  - { type: file, path: /etc/issue, content: ${content} }\n`;
const module = (name: string, ...resources: string[]): string =>
  `name: ${name}\nresources:${resources.length === 0 ? " []" : ""}\n${resources.join("")}`;
const both = { "assignments.yaml": 'assignments:\n  site: { selector: "*", modules: [a, b] }\n' };

describe("resources that go from one module to another", () => {
  for (const [from, to] of [
    ["a", "b"],
    ["b", "a"],
  ] as const)
    it(`get there from ${from} to ${to}`, async () => {
      const scene = await startAs({
        ...both,
        [`modules/${from}.yaml`]: module(from, motd("old")),
        [`modules/${to}.yaml`]: module(to),
      });
      putFile(scene.folder, `modules/${from}.yaml`, module(from));
      putFile(scene.folder, `modules/${to}.yaml`, module(to, motd("new")));
      const { failed, done } = await scene.apply();
      expect(failed).toBeNull();
      expect(done.map(({ name }) => name)).toEqual([from, to]);
      await expectNoDifference(scene);
    });

  it("get along a chain of modules, whatever their order", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const assigned = `assignments:\n  site: { selector: "*", modules: [${names.join(", ")}] }\n`;
    const texts = (at: number): [string, string][] =>
      names.map((name, index) => [
        `modules/${name}.yaml`,
        module(name, `  - { type: file, path: /etc/${(index + at) % 6}, content: at-${name}-${at} }\n`),
      ]);
    const scene = await startAs({ "assignments.yaml": assigned, ...Object.fromEntries(texts(0)) });
    for (const [path, text] of texts(1)) putFile(scene.folder, path, text);
    const { failed, done } = await scene.apply();
    expect(failed).toBeNull();
    expect(done.map(({ name }) => name)).toEqual(names.toReversed());
    await expectNoDifference(scene);
  });

  it("wait for an assignment that gives a module up, or is removed", async () => {
    const scene = await startAs({
      "modules/a.yaml": module("a"),
      "modules/b.yaml": module("b", motd("old")),
      ...both,
    });
    putFile(scene.folder, "modules/a.yaml", module("a", motd("new")));
    putFile(scene.folder, "assignments.yaml", 'assignments:\n  site: { selector: "*", modules: [a] }\n');
    const { failed, done } = await scene.apply();
    expect(failed).toBeNull();
    expect(done.map(shown)).toEqual(["change assignments site", "change modules a"]);
    await expectNoDifference(scene);
  });

  it("stay where two modules exchange them, which is told, and nothing else is begun", async () => {
    const scene = await startAs({
      ...both,
      "modules/a.yaml": module("a", motd("a")),
      "modules/b.yaml": module("b", issue("b")),
    });
    putFile(scene.folder, "modules/a.yaml", module("a", issue("a")));
    putFile(scene.folder, "modules/b.yaml", module("b", motd("b")));
    putFile(
      scene.folder,
      "window.yaml",
      'windows:\n  w: { reason: r, mode: mute, ends_at: "2999-01-01T00:00:00Z" }\n',
    );
    await scene.line.print("login", "--key", scene.line.key);
    const { code, stdout, stderr } = await scene.line.run("sync", "apply", scene.folder);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("fleetwright: module a: RESOURCE_CONFLICT");
    expect(stderr).toContain(
      "Nothing was done before it. Not begun: 1 to create, 1 to change. Nothing else of the folder makes room for it.",
    );
    expect((await scene.plan()).steps.map(shown)).toEqual([
      "change modules a",
      "change modules b",
      "create windows w",
    ]);
    // Taken from one of them first, they get there.
    putFile(scene.folder, "modules/a.yaml", module("a"));
    expect((await scene.apply()).failed).toBeNull();
    putFile(scene.folder, "modules/a.yaml", module("a", issue("a")));
    expect((await scene.apply()).failed).toBeNull();
    await expectNoDifference(scene);
  });
});

describe("the hundredth threshold", () => {
  const entry = (name: string): string =>
    `  ${name}: { name: T, metric: load.5, condition: above, value: 1 }\n`;
  const texts = (first: number): string =>
    `thresholds:\n${Array.from({ length: 100 }, (_, at) => entry(`t${first + at}`)).join("")}`;

  it("makes room for another one where it is removed in the same apply", async () => {
    const scene = await startAs({ "thresholds.yaml": texts(0) });
    putFile(scene.folder, "thresholds.yaml", texts(1));
    expect(faultsOf(await scene.plan(keeping))).toEqual([
      "101:3 VALIDATION_FAILED thresholds.t100 there are 100 thresholds, which is the most",
    ]);
    const { failed, done } = await scene.apply();
    expect(failed).toBeNull();
    expect(done.map(shown)).toEqual(["remove thresholds t0", "create thresholds t100"]);
    await expectNoDifference(scene);
  });
});

it("two who apply one folder at the same time make each thing once, and the next apply finds nothing to do", async () => {
  const line = await startCommandLine();
  const folder = makeFolder(wholeFleet);
  const clients = [clientOf(line), clientOf(line)];
  for (let round = 0; round < 3; round += 1) {
    const plans = await Promise.all(clients.map((client) => planFolder(client, folder, pruning)));
    expect(plans[0]!.steps.length).toBeGreaterThan(0);
    const applied = await Promise.all(
      plans.map((plan, at) => applyPlan(clients[at]!, plan, { prune: true, onDone: () => {} })),
    );
    // Each step is made by one of them; the other is refused, or had nothing to say any more.
    const done = applied.flatMap((each) => each.done.map(shown));
    expect(new Set(done).size).toBe(done.length);
    for (const { failed } of applied)
      if (failed)
        expect((failed.error as ApiError).code).toMatch(/^(ALREADY_EXISTS|PRECONDITION_FAILED|NOT_FOUND)$/);
    const client = clients[0]!;
    const rest = await planFolder(client, folder, pruning);
    expect((await applyPlan(client, rest, { prune: true, onDone: () => {} })).failed).toBeNull();
    expect(await planFolder(client, folder, pruning)).toMatchObject({ steps: [], removals: [], faults: [] });
    expect((await client.maintenanceWindows.list({})).items).toHaveLength(1);
    expect((await client.channels.list({})).items).toHaveLength(1);
    putFile(folder, "modules/web.yaml", wholeFleet["modules/web.yaml"].replace("hello", `hello ${round}`));
    putFile(folder, "rest.yaml", wholeFleet["rest.yaml"].replace(operatorKey, newPublicKey()));
  }
});
