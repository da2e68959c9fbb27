/** What a machine knows of two resources that undo each other's changes, and the orchestrator does not. */
import { describe, expect, test } from "vitest";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const conf = "/etc/conf";
const file = (content: string): JsonObject => ({ id: "f", type: "file", path: conf, content });
const line = (text: string): JsonObject => ({ id: "l", type: "line", path: conf, line: text });

function machine(): StateFixture {
  const state = new StateFixture();
  state.host.files.makeDirectory("/etc", {});
  return state;
}

test.each<RunMode>(["plan", "apply"])("are refused by a %s, and nothing is changed", async (mode) => {
  const state = machine();
  await expect(state.run(mode, declare([file("a\n"), line("b")]))).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
    message:
      "m/f and m/l undo each other's changes of /etc/conf: each apply would make both again. " +
      "One of them says the whole text: put there what the other wants, or leave the text to the other.",
  });
  expect(state.host.files.stat(conf)).toBeNull();
});

test("are refused where a link makes their paths one", async () => {
  const state = machine();
  state.host.files.makeSymlink("/alias", "/etc");
  const desired = declare([file("a\n"), { ...line("b"), path: "/alias/conf" }]);
  await expect(state.run("apply", desired)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  const agreeing = declare([file("a\nb\n"), { ...line("b"), path: "/alias/conf" }]);
  expect((await state.run("apply", agreeing)).status).toBe("succeeded");
});

test("are judged by the values of secrets, which no message tells", async () => {
  const placeholder = `$secret$password@1$text$${"0".repeat(32)}$`;
  const reveal = (spec: JsonObject): JsonObject =>
    JSON.parse(JSON.stringify(spec).replaceAll(placeholder, "hunter2")) as JsonObject;
  const desired = (content: string) =>
    declare([file(content), { ...line(`password ${placeholder}`), sensitive: true }]);
  const refused = machine().run("apply", desired("password x\n"), { reveal });
  await expect(refused).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("hunter2") as string });
  expect((await machine().run("apply", desired("password hunter2\n"), { reveal })).status).toBe("succeeded");
});

test("are refused where the other was applied apart, which stays as it is", async () => {
  const state = machine();
  await state.run("apply", declare([file("a\n")], "base"));
  const scope = ["web"];
  await expect(state.run("apply", declare([line("b")], "web"), { scope })).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
    message: expect.stringContaining("Module base was applied apart from this") as string,
  });
  expect(state.read(conf)).toBe("a\n");
});

test("of a machine where they were applied once are told as drift", async () => {
  const state = machine();
  await state.run("apply", declare([file("a\n")]));
  const check = await state.run("check", declare([file("a\n"), line("b")]));
  expect(outcomes(check)).toEqual(["f unchanged", "l would_change"]);
});

test("may give way to each other, one after the other", async () => {
  const state = machine();
  await state.run("apply", declare([file("a\n")]));
  await state.run("apply", declare([line("b")]));
  expect((await state.run("apply", declare([file("a\n")]))).status).toBe("succeeded");
  expect(state.read(conf)).toBe("a\n");
});

const url = "http://files.example/conf";

/** A machine that can download a file with the lines a and b. */
function downloading(): { state: StateFixture; downloads: JsonObject[] } {
  const host = new MemoryHost({ downloads: { [url]: Buffer.from("a\nb\n") } });
  host.files.makeDirectory("/etc", {});
  const sha256 = host.sha256(Buffer.from("a\nb\n"));
  const downloads = [
    { id: "f", type: "file", path: conf, source: url, sha256 },
    { id: "f", type: "download", path: conf, url, sha256 },
  ];
  return { state: new StateFixture(host), downloads };
}

test.each([0, 1])("about what is downloaded are refused where it stands on the machine", async (which) => {
  const { state, downloads } = downloading();
  const desired = declare([downloads[which]!, line("c")]);
  for (const mode of ["apply", "apply", "plan"] as const) {
    const { results } = await state.run(mode, desired);
    expect(results[1]).toMatchObject({ outcome: "failed", code: "RESOURCE_CONFLICT" });
    expect(results[1]!.message).toContain("m/f and m/l undo each other's changes of /etc/conf");
    expect(results[1]!.message).toContain("One of them says the whole text");
    expect(results[1]!.message).not.toContain("applied apart");
    expect(state.read(conf)).toBe("a\nb\n");
  }
  const agreeing = await state.run("apply", declare([downloads[which]!, line("b")]));
  expect(outcomes(agreeing)).toEqual(["f unchanged", "l unchanged"]);
});

test("about what is downloaded after the line was added are refused from then on", async () => {
  const { state, downloads } = downloading();
  state.write(conf, "theirs\n");
  const desired = declare([line("c"), downloads[0]!]);
  expect(outcomes(await state.run("apply", desired))).toEqual(["l changed", "f changed"]);
  const { results } = await state.run("apply", desired);
  expect(results).toMatchObject([{ code: "RESOURCE_CONFLICT" }, { outcome: "skipped" }]);
  expect(state.read(conf)).toBe("a\nb\n");
});

test("about what another module downloaded are refused, too", async () => {
  const { state, downloads } = downloading();
  await state.run("apply", declare([downloads[1]!], "base"));
  const { results } = await state.run("apply", declare([line("c")], "web"), { scope: ["web"] });
  expect(results[0]).toMatchObject({ outcome: "failed", code: "RESOURCE_CONFLICT" });
  expect(results[0]!.message).toContain("Module base was applied apart from this and stays as it is.");
  expect(state.read(conf)).toBe("a\nb\n");
});

test.each<RunMode>(["plan", "apply"])(
  "a %s refuses what is wanted in a folder that is to be gone",
  async (mode) => {
    const state = machine();
    const folder = { id: "d", type: "directory", path: "/etc/old", ensure: "absent" };
    const desired = declare([folder, { id: "f", type: "file", path: "/etc/old/a", content: "x" }]);
    await expect(state.run(mode, desired)).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "m/d has /etc/old gone, and m/f wants something in it.",
    });
  },
);

const clearing = (path: string, module = "m", type = "directory"): ResolvedResource[] =>
  declare([{ id: "d", type, path, ensure: "absent" }], module);
const within = (path: string, module = "m"): ResolvedResource[] =>
  declare([{ id: "f", type: "file", path, content: "x" }], module);

describe.each<RunMode>(["plan", "apply"])(
  "a %s refuses what is wanted in a folder that is to be gone",
  (mode) => {
    test.each([
      ["a folder to which a link leads", "/etc/real/sub", "/etc/alias/sub/f"],
      ["a folder that is declared through a link", "/etc/alias/sub", "/etc/real/sub/f"],
      ["what a link on the way leads into", "/etc/real/sub", "/etc/alias/sub/deeper/f"],
    ])("by the real paths of both: %s", async (_, gone, wanted) => {
      const state = machine();
      state.host.files.makeDirectory("/etc/real", { mode: 0o755 });
      state.host.files.makeSymlink("/etc/alias", "real");
      await expect(state.run(mode, [...clearing(gone), ...within(wanted)])).rejects.toMatchObject({
        code: "RESOURCE_CONFLICT",
        message: `m/d has /etc/real/sub gone, and m/f wants something in it.`,
      });
    });

    test.each(["directory", "file", "symlink"])(
      "of a module that was applied apart with a %s",
      async (type) => {
        const state = machine();
        await state.run("apply", clearing("/etc/sub", "a", type), { scope: ["a"] });
        await expect(state.run(mode, within("/etc/sub/f", "b"), { scope: ["b"] })).rejects.toMatchObject({
          code: "RESOURCE_CONFLICT",
          message:
            "a/d has /etc/sub gone, and b/f wants something in it. Module a was applied apart from this and stays as it is.",
          details: { module: "a" },
        });
      },
    );

    test("that a module which was applied apart is in", async () => {
      const state = machine();
      state.host.files.makeDirectory("/etc/sub", { mode: 0o755 });
      await state.run("apply", within("/etc/sub/f", "b"), { scope: ["b"] });
      await expect(state.run(mode, clearing("/etc/sub", "a"), { scope: ["a"] })).rejects.toMatchObject({
        code: "RESOURCE_CONFLICT",
        details: { module: "b" },
      });
      // What is wanted no more is no contradiction.
      await expect(state.run(mode, clearing("/etc/sub", "a"))).resolves.toMatchObject({
        status: "succeeded",
      });
    });
  },
);
