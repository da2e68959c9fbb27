/** Lists of packages that are not the same and share some: what one resource lets go of stays for as long as another names it. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { AptMachine, type AptOptions } from "../support/machine/apt.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const archive = { nginx: ["1.21", "1.22"], curl: ["8.0"], jq: ["1.6"], libweb: ["1"], apache: ["2"] };

function start(options: Partial<AptOptions> = {}): {
  machine: AptMachine;
  state: StateFixture;
  apply: (module: string, ...definitions: JsonObject[]) => ReturnType<StateFixture["run"]>;
} {
  const machine = new AptMachine({ archive, ...options });
  const state = new StateFixture(machine.host);
  const apply = (module: string, ...definitions: JsonObject[]): ReturnType<StateFixture["run"]> =>
    state.run("apply", pkg(module, ...definitions), { scope: [module] });
  return { machine, state, apply };
}

const pkg = (module: string, ...definitions: JsonObject[]): ResolvedResource[] =>
  declare(
    definitions.map((definition, at) => ({ id: `p${at}`, type: "package", ...definition })),
    module,
  );

describe("a package that two modules name in different lists", () => {
  test.each<[string, string[], string[]]>([
    ["the one that installed it goes first", ["a", "b"], ["nginx 1.22"]],
    ["the one that found it goes first", ["b", "a"], ["curl 8.0", "nginx 1.22"]],
  ])("stays for the other, and goes with it: %s", async (_when, [first = "", second = ""], left) => {
    const { machine, state, apply } = start();
    await apply("a", { name: ["nginx", "curl"] });
    await apply("b", { name: "nginx" });
    const plan = await state.run("plan", [], { scope: [first] });
    const run = await apply(first);
    expect(run.status).toBe("succeeded");
    expect(run.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
    expect(machine.list()).toEqual(left);
    expect((await apply(second)).status).toBe("succeeded");
    expect(machine.list()).toEqual([]);
    expect(state.applied).toEqual([]);
  });

  test("takes what came along with it when the last of them goes", async () => {
    const { machine, apply } = start({ depends: { nginx: ["libweb"] } });
    await apply("b", { name: "nginx" });
    await apply("a", { name: ["nginx", "curl"] });
    await apply("b");
    expect(machine.list()).toEqual(["curl 8.0", "libweb 1 auto", "nginx 1.22"]);
    await apply("a");
    expect(machine.list()).toEqual([]);
  });

  test("stays for good where it was there before both", async () => {
    const { machine, apply } = start();
    machine.install("nginx", "1.21");
    await apply("a", { name: ["nginx", "curl"] });
    await apply("b", { name: "nginx" });
    await apply("a");
    await apply("b");
    expect(machine.list()).toEqual(["nginx 1.21"]);
  });

  test("is not put back for one while another wants it away, and is when neither does", async () => {
    const { machine, apply } = start();
    machine.install("nginx", "1.22");
    machine.install("curl", "8.0");
    await apply("a", { name: ["nginx", "curl"], ensure: "absent" });
    await apply("b", { name: "nginx", ensure: "absent" });
    await apply("a");
    expect(machine.list()).toEqual(["curl 8.0"]);
    await apply("b");
    expect(machine.list()).toEqual(["curl 8.0", "nginx 1.22"]);
  });

  test("is let go by the hold of the one that held it when the last of them goes", async () => {
    const { machine, apply } = start();
    machine.install("nginx", "1.22");
    await apply("b", { name: ["nginx", "jq"] });
    await apply("a", { name: "nginx", hold: true });
    await apply("a");
    expect(machine.list()).toEqual(["jq 1.6", "nginx 1.22 held"]);
    await apply("b");
    expect(machine.list()).toEqual(["nginx 1.22"]);
  });

  test("goes with the one that installed it, also where the other held it and goes first", async () => {
    const { machine, state, apply } = start();
    await apply("a", { name: ["nginx", "curl"] });
    await apply("b", { name: "nginx", hold: true });
    await apply("b");
    await apply("a");
    expect([machine.list(), state.applied]).toEqual([[], []]);
  });

  test("is again what it was before each of them: there for others, and not held", async () => {
    const { machine, apply } = start();
    machine.install("nginx", "1.21", { auto: true });
    await apply("a", { name: "nginx", version: "1.22" });
    await apply("b", { name: ["nginx", "jq"], hold: true });
    await apply("b");
    await apply("a");
    expect(machine.list()).toEqual(["nginx 1.22 auto"]);
  });

  test("stays through a removal that fails, and is the other's once that succeeds", async () => {
    const { machine, apply } = start({ dependents: { curl: ["site"] } });
    await apply("a", { name: ["nginx", "curl"] });
    await apply("b", { name: "nginx" });
    machine.install("site", "1");
    expect((await apply("a")).status).toBe("failed");
    expect(machine.list()).toEqual(["curl 8.0", "nginx 1.22", "site 1"]);
    machine.installed.delete("site");
    await apply("a");
    expect(machine.list()).toEqual(["nginx 1.22"]);
    await apply("b");
    expect(machine.list()).toEqual([]);
  });
});

test("a package is the other's also where the agent was killed right after the removal", async () => {
  const { machine, state, apply } = start();
  await apply("a", { name: ["nginx", "curl"] });
  await apply("b", { name: "nginx" });
  const noted = state.applied;
  await apply("a");
  state.applied = noted;
  await apply("a");
  expect(machine.list()).toEqual(["nginx 1.22"]);
  await apply("b");
  expect(machine.list()).toEqual([]);
});

describe("what contradicts a package of another module", () => {
  test.each<[string, JsonObject]>([
    ["wants it away", { name: ["nginx", "curl"], ensure: "absent" }],
    ["wants it away with its configuration", { name: ["nginx", "curl"], ensure: "purged" }],
    ["does not hold it", { name: ["nginx", "curl"], hold: false }],
    ["wants the newest", { name: ["nginx", "curl"], ensure: "latest" }],
  ])("is refused, with both named: what %s", async (_what, definition) => {
    const { machine, state, apply } = start();
    await apply("b", { name: "nginx", version: "1.21", hold: true });
    for (const mode of ["plan", "apply"] satisfies RunMode[])
      await expect(state.run(mode, pkg("a", definition), { scope: ["a"] })).rejects.toMatchObject({
        code: "RESOURCE_CONFLICT",
        message:
          "b/p0 and a/p0 describe package:nginx differently. Module b was applied apart from this and stays as it is.",
      });
    expect(machine.list()).toEqual(["nginx 1.21 held"]);
  });

  test("is refused in one apply of both", async () => {
    const { machine, state } = start();
    const both = [...pkg("a", { name: ["nginx", "curl"], ensure: "absent" }), ...pkg("b", { name: "nginx" })];
    await expect(state.run("apply", both)).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "a/p0 and b/p0 describe package:nginx differently.",
    });
    expect(machine.commands).toEqual([]);
  });

  test("is no contradiction where its condition does not hold", async () => {
    const { state } = start();
    const [skipped] = pkg("a", { name: ["nginx", "curl"], ensure: "absent" });
    const run = state.run("apply", [{ ...skipped!, skip: "condition" }, ...pkg("b", { name: "nginx" })]);
    expect(outcomes(await run)).toEqual(["p0 skipped", "p0 changed"]);
  });

  test.each<[string, Partial<AptOptions>, JsonObject]>([
    ["its dependency is to go", { depends: { nginx: ["libweb"] } }, { name: "libweb", ensure: "absent" }],
    ["another can't stand beside it", { conflicts: { apache: ["nginx"] } }, { name: "apache" }],
  ])("fails before anything is done where %s", async (_when, options, definition) => {
    const { machine, state, apply } = start(options);
    await apply("b", { name: "nginx" });
    const before = machine.list();
    const plan = await state.run("plan", pkg("a", definition), { scope: ["a"] });
    const run = await apply("a", definition);
    for (const { results } of [plan, run])
      expect(results).toMatchObject([
        {
          outcome: "failed",
          code: "RESOURCE_CONFLICT",
          message: expect.stringContaining("b/p0 wants it there"),
        },
      ]);
    expect(machine.list()).toEqual(before);
  });

  test("fails also where only a fresh index tells of it", async () => {
    const { machine, apply } = start({ fresh: false, conflicts: { apache: ["nginx"] } });
    await apply("b", { name: "nginx" });
    machine.index = {};
    machine.fresh = false;
    expect((await apply("a", { name: "apache" })).results).toMatchObject([{ code: "RESOURCE_CONFLICT" }]);
    expect(machine.list()).toEqual(["nginx 1.22"]);
  });
});

describe("what came along with a package", () => {
  test.each<[string, string[] | undefined]>([
    ["apart", ["a"]],
    ["with all", undefined],
  ])("stays where another module names it: removed %s", async (_how, scope) => {
    const { machine, state, apply } = start({ depends: { nginx: ["libweb"] } });
    const keeps = pkg("b", { name: "libweb" });
    await apply("a", { name: "nginx" });
    await apply("b", { name: "libweb" });
    machine.commands.length = 0;
    const run = await state.run("apply", scope ? [] : keeps, scope ? { scope } : {});
    expect(run.status).toBe("succeeded");
    expect(machine.list()).toEqual(["libweb 1 auto"]);
    expect(machine.commands).toEqual(["remove nginx"]);
  });

  test("stays where it was there for others before, and another module names it by now", async () => {
    const { machine, apply } = start();
    machine.install("libweb", "1", { auto: true });
    await apply("a", { name: ["libweb", "curl"] });
    machine.installed.get("libweb")!.auto = false;
    await apply("b", { name: "libweb" });
    await apply("a");
    expect(machine.list()).toEqual(["libweb 1"]);
    await apply("b");
    expect(machine.list()).toEqual(["libweb 1 auto"]);
  });
});

describe("an apply of everything", () => {
  test("moves packages from list to list without taking them away, and knows them for ours", async () => {
    const { machine, state } = start();
    machine.install("jq", "1.6");
    await state.run("apply", pkg("a", { name: ["nginx", "curl", "jq"] }));
    machine.commands.length = 0;
    const split = [{ name: "nginx" }, { name: ["jq", "curl"] }];
    expect(outcomes(await state.run("apply", pkg("a", ...split)))).toEqual([
      "p0 unchanged",
      "p0 unchanged",
      "p1 unchanged",
    ]);
    expect(machine.commands).toEqual([]);
    await state.run("apply", []);
    expect(machine.list()).toEqual(["jq 1.6"]);
  });

  test("takes away only what no list names any more", async () => {
    const { machine, state } = start();
    await state.run("apply", pkg("a", { name: ["nginx", "curl"] }));
    machine.commands.length = 0;
    await state.run("apply", pkg("a", { name: ["nginx", "jq"] }));
    expect(machine.commands).toEqual(["remove curl", "install jq"]);
    await state.run("apply", []);
    expect(machine.list()).toEqual([]);
  });
});
