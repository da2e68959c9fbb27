/** A folder that is purged or given to somebody keeps as it is what an apply leaves for another one to take away. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { repositoryUrl, wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const folder = declare([{ id: "d", type: "directory", path: "/work/d", purge: true }]);

function machine(): StateFixture {
  const state = new StateFixture(wholeMachine());
  state.host.files.makeDirectory("/work/d", { mode: 0o755 });
  return state;
}

const unattended = { holdRemovals: true };

/** What stands below the folder, and what makes it. */
const things: [string, JsonObject, string][] = [
  ["file", { type: "file", content: "1" }, "/work/d/x"],
  ["line", { type: "line", line: "1", create: true }, "/work/d/x"],
  ["block", { type: "block", content: "1", create: true }, "/work/d/x"],
  ["symlink", { type: "symlink", target: "/etc/hosts" }, "/work/d/x"],
  ["directory", { type: "directory", parents: true }, "/work/d/sub/x"],
  ["git", { type: "git", repository: repositoryUrl }, "/work/d/x"],
];

describe.each(things)("a %s in a folder that is purged", (_type, definition, path) => {
  const thing = (more: JsonObject = {}, module = "m"): ReturnType<typeof declare> =>
    declare([{ ...definition, id: "x", path, ...more }], module);

  test.each(["m", "other"])("stays in an unattended apply, of module %s", async (module) => {
    const state = machine();
    await state.run("apply", [...folder, ...thing({}, module)]);
    for (const mode of ["plan", "apply", "apply"] as const) {
      const { results } = await state.run(mode, folder, unattended);
      expect(results).toMatchObject([
        { resource_id: "x", outcome: "skipped", skipped_because: "unattended" },
        { resource_id: "d", outcome: "unchanged" },
      ]);
    }
    expect(state.host.files.stat(path)).not.toBeNull();
    expect(outcomes(await state.run("check", folder))).toEqual(["d unchanged"]);
    expect((await state.run("apply", folder)).status).toBe("succeeded");
    expect(state.host.files.stat(path)).toBeNull();
  });

  test("stays in the apply that lets go of it", async () => {
    const state = machine();
    await state.run("apply", [...folder, ...thing({ removal: "keep" })]);
    expect(outcomes(await state.run("plan", folder))).toEqual(["x unchanged", "d unchanged"]);
    expect(outcomes(await state.run("apply", folder))).toEqual(["x unchanged", "d unchanged"]);
    expect(state.host.files.stat(path)).not.toBeNull();
  });
});

test("what comes back there when a file goes is purged in the same apply", async () => {
  const state = machine();
  state.write("/work/d/x", "theirs");
  const file = declare([{ id: "x", type: "file", path: "/work/d/x", content: "1" }]);
  await state.run("apply", [...folder, ...file]);
  const run = await state.run("apply", folder);
  expect(outcomes(run)).toEqual(["x changed", "d changed"]);
  expect(state.host.files.list("/work/d")).toEqual([]);
});

test("a clone that somebody works in stays where its removal is refused, and goes once it may", async () => {
  const state = machine();
  const clone = declare([{ id: "g", type: "git", path: "/work/d/g", repository: repositoryUrl }]);
  state.write("/work/d/stray", "");
  await state.run("apply", [...folder, ...clone]);
  const before = state.read("/work/d/g/page");
  state.write("/work/d/g/page", "work of somebody");
  state.write("/work/d/stray", "");
  expect(outcomes(await state.run("plan", folder))).toEqual(["g failed", "d would_change"]);
  expect(outcomes(await state.run("apply", folder))).toEqual(["g failed", "d changed"]);
  expect(state.read("/work/d/g/page")).toBe("work of somebody");
  expect(state.host.files.list("/work/d")).toEqual(["g"]);
  expect(outcomes(await state.run("check", folder))).toEqual(["d unchanged"]);
  state.write("/work/d/g/page", before);
  await state.run("apply", folder);
  expect(state.host.files.list("/work/d")).toEqual([]);
});

test("a file that waits for its removal keeps its mode where the folder gives all files another", async () => {
  const state = machine();
  const given = declare([{ id: "d", type: "directory", path: "/work/d", recurse: true, file_mode: "0644" }]);
  const file = declare([{ id: "x", type: "file", path: "/work/d/x", content: "1", mode: "0600" }]);
  await state.run("apply", [...given, ...file]);
  await state.run("apply", given, unattended);
  expect(state.host.files.stat("/work/d/x")?.mode).toBe(0o600);
});
