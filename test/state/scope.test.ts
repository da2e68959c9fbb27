/**
 * A run is about some modules and leaves what others brought as it was applied: it neither changes nor removes it, refuses to
 * contradict it, and keeps what both want for as long as one of them does.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const file = (name: string, content: string, more: JsonObject = {}): JsonObject => ({
  id: name,
  type: "file",
  path: `/${name}`,
  content,
  ...more,
});

let state: StateFixture;
let loads: string[];
beforeEach(() => {
  loads = [];
  const host = createMachine({
    load: ({ argv }) => {
      loads.push(argv[1] ?? "");
      return {};
    },
    fail: () => ({ exitCode: 1 }),
  });
  state = new StateFixture(host);
});

const web = (...definitions: JsonObject[]): ResolvedResource[] => declare(definitions, "web");
const base = (...definitions: JsonObject[]): ResolvedResource[] => declare(definitions, "base");
const about = (
  mode: RunMode,
  scope: string[],
  desired: ResolvedResource[],
): ReturnType<StateFixture["run"]> => state.run(mode, desired, { scope });
const paths = (): string[] => state.applied.map(({ resource }) => resource.identity);

describe("a run about some modules", () => {
  test("removes what they brought, and nothing else", async () => {
    await state.run("apply", [...web(file("a", "1"), file("b", "1")), ...base(file("c", "1"))]);
    const desired = web(file("a", "2"));
    const plan = await about("plan", ["web"], desired);
    expect(outcomes(plan)).toEqual(["b would_change", "a would_change"]);
    const run = await about("apply", ["web"], desired);
    expect(outcomes(run)).toEqual(["b changed", "a changed"]);
    expect(state.read("/a")).toBe("2");
    expect(state.read("/c")).toBe("1");
    expect(paths()).toEqual(["/a", "/c"]);
  });

  test("of nothing removes all that they brought", async () => {
    await state.run("apply", [...web(file("a", "1")), ...base(file("c", "1"))]);
    const run = await about("apply", ["web"], []);
    expect(outcomes(run)).toEqual(["a changed"]);
    expect(paths()).toEqual(["/c"]);
  });

  test("does not put right what others let drift", async () => {
    await state.run("apply", [...web(file("a", "1")), ...base(file("c", "1"))]);
    state.write("/c", "somebody else's");
    expect(outcomes(await about("apply", ["web"], web(file("a", "1"))))).toEqual(["a unchanged"]);
    expect(state.read("/c")).toBe("somebody else's");
  });

  test.each<RunMode>(["plan", "apply"])("refuses in a %s what contradicts another module", async (mode) => {
    await state.run("apply", base(file("c", "1")));
    const run = about(mode, ["web"], web(file("a", "1"), file("c", "2")));
    await expect(run).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message:
        "base/c and web/c describe path:/c differently. Module base was applied apart from this and stays as it is.",
    });
    expect(state.host.files.stat("/a")).toBeNull();
    expect(state.read("/c")).toBe("1");
  });

  test("leaves a folder of its own that others fill, and empties none of theirs", async () => {
    await state.run("apply", web({ id: "d", type: "directory", path: "/d", purge: true }));
    const inside = base({ id: "in", type: "file", path: "/d/in", content: "1" });
    await about("apply", ["base"], inside);
    state.write("/d/stray", "");
    const again = web({ id: "d", type: "directory", path: "/d", purge: true });
    await about("apply", ["web"], again);
    expect(state.host.files.stat("/d/stray")).toBeNull();
    expect(state.read("/d/in")).toBe("1");
  });
});

test("a folder that others fill goes with the first apply about it after they went", async () => {
  await about("apply", ["web"], web({ id: "d", type: "directory", path: "/d" }));
  await about("apply", ["base"], base({ id: "in", type: "file", path: "/d/in", content: "1" }));
  await about("apply", ["web"], []);
  await about("apply", ["base"], []);
  expect(state.host.files.stat("/d")).not.toBeNull();
  await state.run("apply", []);
  expect(state.host.files.stat("/d")).toBeNull();
  expect(state.applied).toEqual([]);
});

describe("a thing that two modules want", () => {
  const both = (): ResolvedResource[] => [...web(file("x", "1")), ...base(file("x", "1"))];
  const orders: [string, () => Promise<unknown>][] = [
    ["applied together", () => state.run("apply", both())],
    [
      "applied apart",
      async () => {
        await about("apply", ["web"], web(file("x", "1")));
        await about("apply", ["base"], base(file("x", "1")));
      },
    ],
    [
      "applied together and once more apart",
      async () => {
        await state.run("apply", both());
        await about("apply", ["base"], base(file("x", "1")));
      },
    ],
  ];
  describe.each(orders)("%s", (_name, make) => {
    test.each([
      ["web", "base"],
      ["base", "web"],
    ])("stays when only %s goes, and goes with %s", async (first, second) => {
      state.write("/x", "before us");
      await make();
      const run = await about("apply", [first], []);
      expect(run.results).toMatchObject([
        { module: first, outcome: "unchanged", message: `It is left as it is: ${second}/x says the same.` },
      ]);
      expect(state.read("/x")).toBe("1");
      expect(outcomes(await about("apply", [second], []))).toEqual(["x changed"]);
      expect(state.read("/x")).toBe("before us");
      expect(state.applied).toEqual([]);
    });
  });

  test("is told by a plan as an apply does it, and held back by nobody", async () => {
    await state.run("apply", both());
    const plan = await about("plan", ["web"], []);
    const held = await state.run("apply", [], { scope: ["web"], holdRemovals: true });
    expect(held.results.map(({ outcome }) => outcome)).toEqual(["unchanged"]);
    expect(plan.results.map(({ message }) => message)).toEqual(held.results.map(({ message }) => message));
  });

  test("is wanted by those alone that the newest apply of everything had", async () => {
    await state.run("apply", both());
    await state.run("apply", web(file("x", "1")));
    expect(outcomes(await about("apply", ["web"], []))).toEqual(["x changed"]);
    expect(state.applied).toEqual([]);
  });

  const failing: JsonObject = { id: "fails", type: "script", run: ["fail"], creates: "/never" };
  const kept = file("x", "1", { requires: ["fails"] });

  test("stays for another module whose claim it was before, also where the first to say so is held up", async () => {
    await about("apply", ["base"], base(file("x", "1")));
    const held = [...declare([failing, kept], "one"), ...declare([file("x", "1")], "two")];
    expect(outcomes(await about("apply", ["one", "two"], held))).toEqual([
      "fails failed",
      "x skipped",
      "x unchanged",
    ]);
    await about("apply", ["one", "two"], []);
    expect(state.read("/x")).toBe("1");
    await about("apply", ["base"], []);
    expect(state.host.files.stat("/x")).toBeNull();
  });

  test.each([
    ["is held up", [failing, kept], {}],
    ["does not want it where it is now", [file("x", "1")], { skip: "condition" as const }],
  ])("stays for a module that %s this time", async (_name, now, more) => {
    await state.run("apply", [...web(file("x", "1")), ...base(file("x", "1"))]);
    const later = web(...now).map((each) => (each.resource_id === "x" ? { ...each, ...more } : each));
    await state.run("apply", [...later, ...base(file("x", "1"))]);
    await about("apply", ["base"], []);
    expect(state.read("/x")).toBe("1");
    await about("apply", ["web"], []);
    expect(state.host.files.stat("/x")).toBeNull();
  });

  test("stays secret where either keeps it so", async () => {
    await about("apply", ["base"], base(file("x", "secret", { sensitive: true })));
    await about("apply", ["web"], web(file("x", "secret")));
    state.write("/x", "changed");
    const plan = await about("plan", ["web"], web(file("x", "secret")));
    expect(JSON.stringify(plan.results)).not.toContain("secret");
  });
});

describe("triggers", () => {
  const conf = file("conf", "1");
  const load = { id: "load", type: "script", run: ["load", "base"], run_on: ["conf"] };
  const failing = { ...load, run: ["fail"] };

  test("that another module owes stay owed", async () => {
    await about("apply", ["base"], base(conf, failing));
    expect(state.owed).toMatchObject([{ module: "base", resource_id: "load" }]);
    await about("apply", ["web"], web(file("a", "1")));
    expect(state.owed).toMatchObject([{ module: "base", resource_id: "load" }]);
    await about("apply", ["base"], base(conf, load));
    expect(loads).toEqual(["base"]);
    expect(state.owed).toEqual([]);
  });

  test("of another module come to be owed where what both want is changed", async () => {
    await about("apply", ["base"], base(conf, load));
    await about("apply", ["web"], web(conf));
    state.write("/conf", "somebody else's");
    await about("apply", ["web"], web(conf));
    expect(loads).toEqual(["base"]);
    expect(state.owed).toMatchObject([{ module: "base", resource_id: "load", trigger: "run" }]);
    expect(outcomes(await state.run("check", base(conf, load)))).toEqual([
      "conf unchanged",
      "load would_change",
    ]);
    await about("apply", ["base"], base(conf, load));
    expect(loads).toEqual(["base", "base"]);
    expect(state.owed).toEqual([]);
  });

  test("that nobody wants any more are dropped with their module alone", async () => {
    await about("apply", ["base"], base(conf, failing));
    await about("apply", ["web"], []);
    expect(state.owed).toHaveLength(1);
    const run = await about("apply", ["base"], []);
    expect(state.owed).toEqual([]);
    expect(JSON.stringify(run.results)).toContain("dropped");
  });
});

test("whatever modules are applied, together or apart, each has what it was applied with last", async () => {
  const modules = ["a", "b", "c"] as const;
  const names = ["p", "q", "r"];
  const step = fc.record({
    scope: fc.subarray([...modules], { minLength: 1 }),
    isAll: fc.boolean(),
    // What two modules share they say alike: the content follows from the name.
    wants: fc.array(fc.subarray(names), { minLength: 3, maxLength: 3 }),
    isDrifting: fc.boolean(),
    failing: fc.constantFrom(...modules, null),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const machine = new StateFixture();
      machine.write("/p", "before us");
      const claims = new Map<string, Set<string>>(names.map((name) => [name, new Set()]));
      for (const { scope, isAll, wants, isDrifting, failing } of steps) {
        const asked = isAll ? [...modules] : scope;
        const desired = asked.flatMap((module) => {
          const own = wants[modules.indexOf(module)]!;
          const isHeldUp = module === failing;
          const files = own.map((name) => file(name, `${name} ours`, isHeldUp ? { requires: ["no"] } : {}));
          const no = { id: "no", type: "script", run: ["/no/such/program"], creates: "/never" };
          return declare(isHeldUp ? [no, ...files] : files, module);
        });
        if (isDrifting && machine.applied.length > 0)
          machine.write(machine.applied[0]!.resource.identity, "drift");
        const options = isAll ? {} : { scope };
        const plan = await machine.run("plan", desired, options);
        const run = await machine.run("apply", desired, options);
        expect(["succeeded", "partial", "failed"]).toContain(run.status);
        expect(run.results.map(({ module, resource_id }) => `${module}/${resource_id}`)).toEqual(
          plan.results.map(({ module, resource_id }) => `${module}/${resource_id}`),
        );
        for (const name of names) {
          const before = claims.get(name)!;
          const wanting = asked.filter((module) => wants[modules.indexOf(module)]!.includes(name));
          const done = wanting.filter((module) => module !== failing);
          const outside = [...before].filter((module) => !asked.includes(module as "a"));
          const held = wanting.filter((module) => module === failing && before.has(module));
          // Where nobody got to it, it stays as it was.
          if (done.length > 0) claims.set(name, new Set([...done, ...held, ...outside]));
          else if (wanting.length === 0) claims.set(name, new Set(outside));
        }
        const all = new Set(names.filter((name) => claims.get(name)!.size > 0));
        const applied = machine.applied.map(({ resource }) => resource.resource_id);
        expect(applied.toSorted()).toEqual([...all].toSorted());
        for (const name of names) {
          const path = `/${name}`;
          const isThere = machine.host.files.stat(path) !== null;
          expect(isThere).toBe(all.has(name) || name === "p");
        }
      }
      await machine.run("apply", []);
      expect(machine.applied).toEqual([]);
      expect(machine.read("/p")).toBe("before us");
    }),
    { numRuns: 300 },
  );
});
