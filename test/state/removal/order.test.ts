/** What goes goes in no way of what needs it, and a folder goes after what is in it, whatever versions came before. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { orderRemovals } from "../../../lib/state/graph.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

async function versions(...all: ResolvedResource[][]): Promise<StateFixture> {
  const state = new StateFixture();
  for (const version of all) expect((await state.run("apply", version)).status).toBe("succeeded");
  return state;
}

async function removed(state: StateFixture): Promise<string[]> {
  const plan = await state.run("plan", []);
  const { status, results } = await state.run("apply", []);
  expect({ status, applied: state.applied }).toEqual({ status: "succeeded", applied: [] });
  const ids = results.map(({ resource_id }) => resource_id);
  expect(plan.results.map(({ resource_id }) => resource_id)).toEqual(ids);
  return ids;
}

const file = (id: string, path: string, more: JsonObject = {}): JsonObject => {
  return { id, type: "file", path, content: id, ...more };
};
const folder = (id: string, path: string, more: JsonObject = {}): JsonObject => {
  return { id, type: "directory", path, ...more };
};

test.each([
  ["requires", file("user", "/user")],
  ["run_on", { id: "user", type: "script", run: "touch user" }],
])("what %s names goes after who needed it, though it is younger", async (edge, user) => {
  const desired = (path: string) =>
    declare([file("tool", path), { ...user, [edge]: ["tool"] }, file("last", "/last")]);
  const state = await versions(desired("/tool1"), desired("/tool2"));
  expect(await removed(state)).toEqual(["last", "user", "tool"]);
});

test("a folder goes after what needs something younger that is in it", async () => {
  const desired = (tool: string) =>
    declare([file("tool", tool), { ...file("user", "/user"), requires: ["tool"] }, folder("f", "/f")]);
  const state = new StateFixture();
  await state.run("apply", desired("/tool"));
  const moved = declare([
    folder("f", "/f"),
    file("tool", "/f/tool"),
    { ...file("user", "/user"), requires: ["tool"] },
  ]);
  expect((await state.run("apply", moved)).status).toBe("succeeded");
  expect(await removed(state)).toEqual(["user", "tool", "f"]);
  expect(state.host.files.list("/")).not.toContain("f");
});

test("a folder that was made again goes after what was in it before", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/a", {});
  await state.run("apply", declare([file("x", "/a/x")]));
  state.host.files.removeFile("/a/x");
  state.host.files.removeDirectory("/a");
  await state.run("apply", declare([folder("a", "/a"), file("x", "/a/x")]));
  expect(await removed(state)).toEqual(["x", "a"]);
  expect(state.host.files.list("/")).not.toContain("a");
});

test("folders that a resource made above its own go after what was in them before", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/a", {});
  await state.run("apply", declare([file("x", "/a/x")]));
  state.host.files.removeFile("/a/x");
  state.host.files.removeDirectory("/a");
  await state.run("apply", declare([folder("c", "/a/b/c", { parents: true }), file("x", "/a/x")]));
  expect(await removed(state)).toEqual(["x", "c"]);
  expect(state.host.files.list("/")).not.toContain("a");
});

test("folders that one made go with the last in them, also where it lies in the folder of another", async () => {
  const [above, own] = [{ parents: true }, { parents: false }];
  const state = new StateFixture();
  for (const [outer, more] of [
    [[folder("b", "/a/b", above)], above],
    [[folder("a", "/a", own)], own],
  ] as const)
    await state.run("apply", declare([...outer, folder("c", "/a/b/c", more), file("x", "/a/b/c/x")]));
  await removeAll(state, "/a");
  const all = [
    folder("a", "/a"),
    folder("b", "/a/b"),
    folder("c", "/a/b/c"),
    file("x", "/a/b/x"),
    file("y", "/a/y"),
  ];
  expect((await state.run("apply", declare(all))).status).toBe("succeeded");
  const ids = await removed(state);
  expect(ids.indexOf("b")).toBeGreaterThan(Math.max(ids.indexOf("c"), ids.indexOf("y")));
  expect(treeOf(state)).toEqual([]);
});

test("a folder that comes back does before what comes back in it", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/a", {});
  const gone = folder("a", "/a", { ensure: "absent" });
  await state.run("apply", declare([gone]));
  state.host.files.makeDirectory("/a", {});
  state.write("/a/x", "theirs");
  await state.run(
    "apply",
    declare([file("x", "/a/x", { ensure: "absent", content: undefined as never }), gone]),
  );
  expect(await removed(state)).toEqual(["a", "x"]);
  expect(state.read("/a/x")).toBe("theirs");
});

test("what a module needs goes after it, though it is younger", async () => {
  const desired = (path: string) => [
    ...declare([file("tool", path)], "base"),
    ...declare([file("user", "/user")], "top").map((each) => ({ ...each, requires_modules: ["base"] })),
  ];
  expect(await removed(await versions(desired("/tool1"), desired("/tool2")))).toEqual(["user", "tool"]);
});

test("versions that needed each other in turn go all the same, and what is in a folder before it", () => {
  const node = (name: string, needs: string[], paths: string[] = [], takes: string[] = []) => {
    return { names: [name], needs, paths, takes, brings: [] };
  };
  expect(orderRemovals([node("a", ["b"]), node("b", ["a"])])).toEqual([1, 0]);
  expect(orderRemovals([node("x", [], ["/f/x"]), node("f", ["x"], ["/f"], ["/f"])])).toEqual([0, 1]);
});

test("thousands that wait for each other have an order", () => {
  const count = 20_000;
  const waiting = Array.from({ length: count }, (_, at) => ({
    names: [`${at}`],
    needs: at === 0 ? [] : ["0", "all"],
    paths: [`/f/${at}`],
    takes: [],
    brings: [],
  }));
  const all = { names: ["all"], needs: [], paths: ["/f"], takes: ["/f"], brings: [] };
  const order = orderRemovals([...waiting, all]);
  expect([order.length, order[0], order.at(-2), order.at(-1)]).toEqual([count + 1, count - 1, 0, count]);
});

const ids = ["r0", "r1", "r2", "r3"];
const moved = fc.record({
  id: fc.constantFrom(...ids),
  place: fc.constantFrom("/a", "/a/b", "/a/b/c", "/e"),
  needs: fc.subarray(ids),
});
const version = fc
  .tuple(fc.uniqueArray(moved, { minLength: 2, maxLength: 4, selector: ({ id }) => id }), fc.boolean())
  .map(([all, parents]) => {
    const folders = [...new Set(all.map(({ place }) => place))].toSorted();
    const made = folders.map((path) => folder(path.replaceAll("/", "_"), path, { parents }));
    const files = all.map(({ id, place, needs }, at) => {
      const requires = needs.filter((name) => all.slice(0, at).some((other) => other.id === name));
      return { ...file(id, `${place}/${id}`), requires };
    });
    return [...made, ...files];
  });
const gone = fc.option(fc.constantFrom("/a", "/a/b", "/e"));
const steps = fc.array(fc.record({ version, gone }), { minLength: 2, maxLength: 5 });

function treeOf(state: StateFixture, path = "/"): string[] {
  const { files } = state.host;
  return files.list(path).flatMap((name) => {
    const below = `${path === "/" ? "" : path}/${name}`;
    return files.stat(below)?.kind === "directory" ? [below, ...treeOf(state, below)] : [below];
  });
}

test(
  "whatever versions were applied, nothing of ours stays and nothing fails",
  { timeout: 120_000 },
  async () => {
    let applied = 0;
    let younger = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const state = new StateFixture();
        for (const { version: wanted, gone: path } of all) {
          if (path !== null) await removeAll(state, path);
          const run = await state.run("apply", declare(wanted)).catch(() => null);
          applied += run?.status === "succeeded" ? 1 : 0;
        }
        const made = state.applied.flatMap(({ prior }) => {
          const { ensure, path, made_parents: above = [] } = prior?.spec ?? {};
          return ensure === "absent" ? [path, ...(above as string[])] : [];
        });
        const ages = state.applied.map(({ resource: { resource_id } }) => resource_id).toReversed();
        const { status, results } = await state.run("apply", []);
        younger += results.some(({ resource_id }, at) => resource_id !== ages[at]) ? 1 : 0;
        // What an earlier version gave up while something wanted stood in it is nobody's, and so is what it stands in.
        const tree = treeOf(state);
        const others = tree.filter((path) => !made.includes(path));
        const stays = tree.filter((path) => !others.some((other) => `${other}/`.startsWith(`${path}/`)));
        expect({ status, stays, applied: state.applied }).toEqual({
          status: "succeeded",
          stays: [],
          applied: [],
        });
      }),
      { numRuns: 400 },
    );
    expect(Math.min(applied, younger)).toBeGreaterThan(20);
  },
);

/** What somebody takes away by hand. */
async function removeAll({ host: { files } }: StateFixture, path: string): Promise<void> {
  const stat = files.stat(path);
  if (!stat) return;
  if (stat.kind !== "directory") return files.removeFile(path);
  for (const name of files.list(path))
    await removeAll({ host: { files } } as StateFixture, `${path}/${name}`);
  files.removeDirectory(path);
}
