/** Removals beside what others declare, hold or were left, where the first mend of each took too much or too little. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { addKept } from "../../../lib/state/resources/directory/content.ts";
import { accountPrograms, prepareAccounts } from "../../support/machine/accounts.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const uid = 54_321;

function machine(): StateFixture {
  const host: MemoryHost = new MemoryHost({ programs: accountPrograms(() => host) });
  prepareAccounts(host);
  for (const folder of ["/work", "/home", "/srv"]) host.files.makeDirectory(folder, { mode: 0o755 });
  return new StateFixture(host);
}

test("nothing that was noted of a folder gives way to what comes later", () => {
  const entry = (path: string) => ({ path, kind: "file" as const, mode: "0644" });
  const inside = [entry("/d/y"), entry("/d/z")];
  const coming = ["/d/a", "/d/b", "/d/z"].map(entry);
  expect(addKept(inside, coming, 3).map(({ path }) => path)).toEqual(["/d/a", "/d/y", "/d/z"]);
  expect(addKept(inside, coming, 2).map(({ path }) => path)).toEqual(["/d/y", "/d/z"]);
});

test("a line that went by hand is nobody's after its removal, although another module has a line of the same file", async () => {
  const state = machine();
  state.write("/work/f", "theirs\n");
  const line = (module: string) =>
    declare([{ id: "l", type: "line", path: "/work/f", line: module }], module);
  await state.run("apply", line("a"), { scope: ["a"] });
  await state.run("apply", line("b"), { scope: ["b"] });
  state.write("/work/f", "theirs\nb\n");
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["l unchanged"]);
  expect(state.applied.map(({ resource }) => resource.module)).toEqual(["b"]);
  state.write("/work/f", "theirs\nb\na\n");
  await state.run("apply", line("b"));
  expect(state.read("/work/f")).toBe("theirs\nb\na\n");
});

test("a home that a user leaves in vain stays, beside the one that is declared", async () => {
  const state = machine();
  const { host } = state;
  host.files.makeDirectory("/work/homes", { mode: 0o755 });
  host.files.makeDirectory("/work/homes/old", { mode: 0o755 });
  state.write("/work/homes/old/thesis", "years of work");
  state.write("/work/homes/stray", "");
  await host.run({ argv: ["useradd", "-M", "-d", "/work/homes/old", "ada"] }, new AbortController().signal);
  const run = host.run.bind(host);
  host.run = (command, signal) =>
    command.argv[0] === "usermod" ? Promise.reject(new Error("used by a process")) : run(command, signal);
  const moved = { id: "u", type: "user", name: "ada", home: "/work/homes/new", on_failure: "continue" };
  const purge = declare([{ id: "d", type: "directory", path: "/work/homes", purge: true }], "a");
  await state.run("apply", [...declare([moved], "b"), ...purge]);
  expect(state.read("/work/homes/old/thesis")).toBe("years of work");
  expect(host.files.stat("/work/homes/stray")).toBeNull();
});

test.each([
  ["root", null, true],
  ["whoever owns the folder around it", uid, false],
])("a home that is a link of %s", async (_, owner, isFollowed) => {
  const state = machine();
  const { files } = state.host;
  files.makeDirectory("/srv/tenant", { mode: 0o755, ...(owner !== null && { uid: owner }) });
  files.makeSymlink("/srv/tenant/home", "/work/d/there");
  for (const folder of ["/work/d", "/work/d/there"]) files.makeDirectory(folder, { mode: 0o755 });
  state.write("/work/d/there/x", "x");
  const user = { id: "u", type: "user", name: "ada", home: "/srv/tenant/home", create_home: false };
  await state.run("apply", declare([user], "b"), { scope: ["b"] });
  const purge = declare([{ id: "d", type: "directory", path: "/work/d", purge: true }], "a");
  await state.run("apply", purge, { scope: ["a"] });
  expect(files.stat("/work/d/there/x") !== null).toBe(isFollowed);
});

test("a home goes with its user, and stays where something in it is declared from now on", async () => {
  for (const isDeclared of [false, true]) {
    const state = machine();
    await state.run("apply", declare([{ id: "u", type: "user", name: "deploy", remove_home: true }]));
    const folder = { id: "d", type: "directory", path: "/home/deploy" };
    const plan = await state.run("plan", isDeclared ? declare([folder]) : []);
    await state.run("apply", isDeclared ? declare([folder]) : []);
    expect(state.host.files.stat("/home/deploy") !== null).toBe(isDeclared);
    expect(outcomes(plan).filter((each) => each.startsWith("d "))).toEqual(isDeclared ? ["d unchanged"] : []);
  }
});

test("a folder that became another module's home stays, whatever stood there before it", async () => {
  const state = machine();
  const { files } = state.host;
  files.makeSymlink("/work/home", "/nowhere");
  const a = { scope: ["a"] };
  await state.run(
    "apply",
    declare([{ id: "d", type: "symlink", path: "/work/home", target: "/other" }], "a"),
    a,
  );
  files.removeFile("/work/home");
  await state.run("apply", declare([{ id: "d", type: "directory", path: "/work/home" }], "a"), a);
  const user = { id: "u", type: "user", name: "web", home: "/work/home", create_home: false };
  await state.run("apply", declare([user], "b"), { scope: ["b"] });
  await state.run("apply", [], a);
  expect(files.stat("/work/home")?.kind).toBe("directory");
});

test("what a version that declared less left alone is not ours after a removal that found nothing to do", async () => {
  const state = machine();
  const signal = new AbortController().signal;
  const run = (...argv: [string, ...string[]]) => state.host.run({ argv }, signal);
  await run("useradd", "-c", "theirs", "-s", "/bin/sh", "ada");
  const user = (more: object) => declare([{ id: "u", type: "user", name: "ada", ...more }]);
  // Whose removal fails, so that what is unchanged beside it is in doubt.
  const stuck = { id: "s", type: "file", path: "/work/s" };
  await state.run("apply", user({ shell: "/bin/bash", comment: "ours" }));
  await state.run("apply", [...user({ shell: "/bin/bash" }), ...declare([stuck], "other")]);
  state.host.files.removeFile("/work/s");
  for (const path of ["/work/s", "/work/s/theirs"]) state.host.files.makeDirectory(path, {});
  await run("usermod", "-c", "theirs", "-s", "/bin/sh", "ada");
  expect(outcomes(await state.run("apply", []))).toEqual(["s failed", "u unchanged"]);
  expect(state.applied.filter(({ resource }) => resource.type === "user")).toEqual([]);
});
