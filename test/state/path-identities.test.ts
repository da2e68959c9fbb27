/** Two paths that lead to one thing through a link were two resources that undid each other's work for ever. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** /etc/real, and /etc/alias that leads there. */
function machine(target = "/etc/real"): StateFixture {
  const state = new StateFixture();
  for (const folder of ["/etc", "/etc/real"]) state.host.files.makeDirectory(folder, { mode: 0o755 });
  state.host.files.makeSymlink("/etc/alias", target);
  return state;
}

const two = (first: JsonObject, second: JsonObject) => [
  ...declare([{ id: "r", ...first }], "one"),
  ...declare([{ id: "r", ...second }], "two"),
];
const file = (path: string, content = "x"): JsonObject => ({ type: "file", path, content });

test.each([0, 5])("what stands behind a declared link of user %i is made once", async (uid) => {
  const state = machine();
  state.host.files.makeSymlink("/etc/alias", "/etc/real", { uid, gid: uid });
  const desired = declare([
    { type: "symlink", path: "/etc/alias", target: "/etc/real" },
    file("/etc/alias/x"),
  ]);
  for (const expected of ["changed", "unchanged", "unchanged"]) {
    const run = await state.run("apply", desired);
    expect(outcomes(run)).toEqual(["symlink:/etc/alias unchanged", `file:/etc/alias/x ${expected}`]);
  }
  await state.run("apply", []);
  expect(state.host.files.list("/etc/real")).toEqual([]);
});

describe("what is declared twice through a link", () => {
  test.each(["/etc/real", "real", "../etc/./real", "/etc/alias2"])(
    "by the link %s is one thing",
    async (target) => {
      const state = machine(target);
      state.host.files.makeSymlink("/etc/alias2", "real");
      const desired = two(file("/etc/alias/x"), file("/etc/real/x"));
      for (const expected of ["changed", "unchanged", "unchanged"]) {
        const { results } = await state.run("apply", desired);
        expect(results.map(({ outcome }) => outcome)).toEqual([expected, expected]);
        expect(results[1]?.message).toBe("one/r says the same; it was done there.");
      }
      expect(state.applied).toHaveLength(1);
      expect(outcomes(await state.run("apply", []))).toEqual(["r changed"]);
      expect(state.host.files.list("/etc/real")).toEqual([]);
    },
  );

  const specs: Record<string, [JsonObject, JsonObject]> = {
    file: [{ content: "a" }, { content: "b" }],
    directory: [{ mode: "0700" }, { mode: "0755" }],
    symlink: [{ target: "a" }, { target: "b" }],
    download: [
      { url: "https://a.example/a", sha256: "0".repeat(64) },
      { url: "https://a.example/a", sha256: "1".repeat(64) },
    ],
    line: [
      { line: "a", match: "m*", create: true },
      { line: "b", match: "m*", create: true },
    ],
    block: [
      { content: "a", create: true },
      { content: "b", create: true },
    ],
    archive: [{ source: "/a.tar" }, { source: "/b.tar" }],
    git: [{ repository: "https://a.example/a" }, { repository: "https://a.example/b" }],
  };
  for (const [type, [first, second]] of Object.entries(specs)) {
    test.each<RunMode>(["plan", "apply"])(`as a ${type} in two ways is refused by a %s`, async (mode) => {
      const state = machine();
      const desired = two({ type, path: "/etc/alias/x", ...first }, { type, path: "/etc/real/x", ...second });
      state.host.writes.length = 0;
      await expect(state.run(mode, desired)).rejects.toMatchObject({
        code: "RESOURCE_CONFLICT",
        message: expect.stringContaining("/etc/real/x"),
      });
      expect(state.host.writes).toEqual([]);
    });
  }

  test("in folders that do not exist yet is one thing too", async () => {
    const desired = two(file("/etc/alias/sub/x", "a"), file("/etc/real/sub/x", "b"));
    await expect(machine().run("plan", desired)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  });

  test.each<RunMode>(["plan", "apply"])("by a link that the run makes is refused by a %s", async (mode) => {
    const state = machine();
    const link = declare([{ id: "l", type: "symlink", path: "/etc/new", target: "/etc/alias" }]);
    const desired = [...link, ...two(file("/etc/new/x", "a"), file("/etc/real/x", "b"))];
    await expect(state.run(mode, desired)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
    expect(state.host.files.stat("/etc/new")).toBeNull();
  });

  test("by links in a circle is what it says", async () => {
    const state = machine("/etc/alias");
    const { results } = await state.run("plan", two(file("/etc/alias/x"), file("/etc/real/x", "b")));
    expect(results.map(({ outcome }) => outcome)).toEqual(["failed", "would_change"]);
  });
});

test("a path that is spelled otherwise is neither removed nor made anew, and what stood comes back without the link", async () => {
  const state = machine();
  state.write("/etc/real/x", "theirs");
  await state.run("apply", declare([{ id: "r", ...file("/etc/alias/x") }]));
  const desired = declare([{ id: "other", ...file("/etc/real/x") }]);
  expect(outcomes(await state.run("plan", desired))).toEqual(["other unchanged"]);
  expect(outcomes(await state.run("apply", desired))).toEqual(["other unchanged"]);
  state.host.files.removeFile("/etc/alias");
  expect(outcomes(await state.run("apply", []))).toEqual(["other changed"]);
  expect(state.read("/etc/real/x")).toBe("theirs");
});

test("of what was applied by two paths, what stood before the first comes back", async () => {
  const state = machine();
  state.write("/etc/real/x", "theirs");
  const [first] = declare([{ id: "a", ...file("/etc/alias/x", "a") }]);
  await state.run("apply", [first!]);
  // As an agent left it that did not know better.
  const { applied } = state;
  state.applied = [];
  const [second] = declare([{ id: "b", ...file("/etc/real/x", "b") }]);
  await state.run("apply", [second!]);
  state.applied = [...applied, ...state.applied];
  await state.run("apply", [second!]);
  expect(state.applied).toHaveLength(1);
  await state.run("apply", []);
  expect(state.read("/etc/real/x")).toBe("theirs");
});

test.each([
  ["changed without a copy", { content: "a", backup: false }, "b"],
  ["found as it is to be", { content: "theirs" }, "theirs"],
])("where the first of two paths was %s, that is what counts", async (_how, first, left) => {
  const state = machine();
  state.write("/etc/real/x", "theirs");
  await state.run("apply", declare([{ id: "a", type: "file", path: "/etc/alias/x", ...first }]));
  // As an agent left it that did not know better.
  const { applied } = state;
  state.applied = [];
  const second = declare([{ id: "b", ...file("/etc/real/x", "b") }]);
  await state.run("apply", second);
  state.applied = [...applied, ...state.applied];
  await state.run("apply", second);
  await state.run("apply", []);
  expect([state.read("/etc/real/x"), state.applied]).toEqual([left, []]);
});

test("a unit whose folder is a link is the file behind it", async () => {
  const state = machine();
  state.host.files.makeDirectory("/etc/systemd", { mode: 0o755 });
  state.host.files.makeSymlink("/etc/systemd/system", "/etc/real");
  const unit = { type: "systemd_unit", name: "a.service", content: "[Unit]\n" };
  await expect(state.run("plan", two(unit, file("/etc/real/a.service")))).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
    message: "one/r and two/r describe path:/etc/real/a.service differently.",
  });
});

/** What two modules may say of one place by its two ways, and of two places in one folder. */
const inHis: Record<string, [one: JsonObject, other: JsonObject]> = {
  "two files": [file("/home/web/cur/x", "a"), file("/home/web/data/x", "b")],
  "two blocks": [
    { type: "block", path: "/home/web/cur/x", content: "a", create: true },
    { type: "block", path: "/home/web/data/x", content: "b", create: true },
  ],
};

test.each(Object.entries(inHis))(
  "%s are one thing where the link is the owner's of what it leads to",
  async (_what, [one, other]) => {
    const state = machine();
    const web = { uid: 33, gid: 33 };
    state.host.files.makeDirectory("/home", { mode: 0o755 });
    for (const folder of ["/home/web", "/home/web/data"])
      state.host.files.makeDirectory(folder, { mode: 0o755, ...web });
    state.host.files.makeSymlink("/home/web/cur", "data", web);
    await expect(state.run("plan", two(one, other))).rejects.toMatchObject({
      message: expect.stringMatching(
        /^one\/r and two\/r describe .*\/home\/web\/data\/x.* differently\.$/,
      ) as string,
    });
    const elsewhere = { ...other, path: "/home/web/data/y" };
    expect((await state.run("plan", two(one, elsewhere))).status).not.toBe("partial");
  },
);

test("a purge knows what is declared through a link", async () => {
  const state = machine();
  const desired = declare([
    { id: "d", type: "directory", path: "/etc/real/sub", purge: true },
    { id: "f", ...file("/etc/alias/sub/x") },
    { id: "g", type: "directory", path: "/etc/alias/other", purge: true },
    { id: "h", ...file("/etc/real/other/x") },
  ]);
  expect((await state.run("apply", desired)).status).toBe("succeeded");
  expect(outcomes(await state.run("apply", desired))).toEqual(
    ["d", "f", "g", "h"].map((id) => `${id} unchanged`),
  );
});

test("a purge takes what is declared by a resource that is skipped", async () => {
  const state = machine();
  state.host.files.makeDirectory("/etc/real/sub", {});
  const names = ["kept", "skipped"];
  for (const name of names) state.write(`/etc/real/sub/${name}`, "x");
  const [folder, kept, skipped] = declare([
    { id: "d", type: "directory", path: "/etc/real/sub", purge: true },
    ...names.map((name) => ({ id: name, ...file(`/etc/real/sub/${name}`) })),
  ]);
  await state.run("apply", [folder!, kept!, { ...skipped!, skip: "condition" }]);
  expect(state.host.files.list("/etc/real/sub")).toEqual(["kept"]);
});

test("what a sensitive resource put there is not shown by another path", async () => {
  const state = machine();
  const hidden = {
    id: "s",
    type: "line",
    path: "/etc/real/x",
    line: "hunter2",
    create: true,
    sensitive: true,
  };
  await state.run("apply", declare([hidden]));
  const line = declare([{ id: "l", type: "line", path: "/etc/alias/x", line: "more" }]);
  const { results } = await state.run("plan", [...declare([hidden]), ...line]);
  expect(results[1]?.outcome).toBe("would_change");
  expect(JSON.stringify(results)).not.toContain("hunter2");
});

test("below a root folder a relative link is followed, and none that leads out of it", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "root/etc/real"), { recursive: true });
  symlinkSync("real", join(folder, "root/etc/alias"));
  symlinkSync("/etc", join(folder, "root/etc/out"));
  writeFileSync(join(folder, "root/etc/real/x"), "theirs");
  const host = new LocalHost({ root: join(folder, "root"), stateFolder: join(folder, "state") });
  const state = new StateFixture(host as never);
  const conflict = two(file("/etc/alias/x", "a"), file("/etc/real/x", "b"));
  await expect(state.run("apply", conflict)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  const out = two(file("/etc/out/x", "a"), file("/etc/x", "b"));
  expect((await state.run("apply", out)).results).toMatchObject([
    { outcome: "failed", code: "PATH_OUTSIDE_ROOT" },
    { outcome: "changed" },
  ]);
  expect(readFileSync(join(folder, "root/etc/real/x"), "utf8")).toBe("theirs");
});
