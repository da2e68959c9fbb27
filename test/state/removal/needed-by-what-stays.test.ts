import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import type { StateRunResult } from "../../../lib/state/run/engine.ts";
import { modelArchive } from "../../support/machine/tar.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { createMachine, declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

/** A machine on which `undo` fails for as long as it is told to, and notes which of these files it found. */
function createState(paths: readonly string[]) {
  const undo = { fails: true, found: [] as string[][] };
  const host = createMachine({
    undo: () => {
      undo.found.push(paths.filter((path) => host.files.stat(path) !== null));
      if (undo.fails) return { exitCode: 1 };
      host.files.removeFile("/done");
      return { exitCode: 0 };
    },
    work: () => (host.files.writeFile("/done", Buffer.alloc(0), { mode: 0o600 }), {}),
  });
  return { state: new StateFixture(host), undo };
}

const script = { id: "script", type: "script", run: ["work"], creates: "/done", undo: ["undo"] };
const file = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "file",
  path: `/${id}`,
  content: id,
  ...more,
});

function there(state: StateFixture, paths: readonly string[]): string[] {
  return paths.filter((path) => state.host.files.stat(path) !== null);
}

function reasonsOf({ results }: StateRunResult): (string | undefined)[] {
  return results.flatMap(({ outcome, skipped_because, message }) =>
    outcome === "skipped" ? `${skipped_because}: ${message}` : [],
  );
}

/** Each way to need something: what is declared, and what of it an undo that fails keeps. */
const ways: Record<string, { declared: ResolvedResource[]; kept: string[] }> = {
  "by requires": {
    declared: declare([file("tool"), file("other"), { ...script, requires: ["tool"] }]),
    kept: ["/tool"],
  },
  "through others": {
    declared: declare([
      file("base"),
      file("tool", { requires: ["base"] }),
      file("other", { requires: ["base"] }),
      { ...script, requires: ["tool"] },
    ]),
    kept: ["/base", "/tool"],
  },
  "as a module": {
    declared: [
      ...declare([file("base")], "below"),
      ...declare([file("tool")], "tools").map((resource) => ({ ...resource, requires_modules: ["below"] })),
      ...declare([file("other")], "others"),
      ...declare([script], "scripts").map((resource) => ({ ...resource, requires_modules: ["tools"] })),
    ],
    kept: ["/base", "/tool"],
  },
  "that lies in a folder": {
    declared: declare([
      { id: "folder", type: "directory", path: "/d" },
      file("tool", { path: "/d/tool" }),
      file("other", { path: "/d/other" }),
      { ...script, requires: ["tool"] },
    ]),
    kept: ["/d", "/d/tool"],
  },
  "that was another thing's before": {
    declared: declare([file("other"), { ...script, requires: ["tool"] }, file("tool")]),
    kept: ["/tool"],
  },
};
const all = ["/base", "/tool", "/other", "/d", "/d/tool", "/d/other"];

test.each(Object.entries(ways))(
  "what an undo that failed needs stays for the next try: %s",
  async (_, { declared, kept }) => {
    const { state, undo } = createState(all);
    await state.run("apply", declared);
    const before = there(state, all);
    for (const status of ["partial", "succeeded"]) {
      const run = await state.run("apply", []);
      // A removal that failed before is told, and fails no later run.
      expect([run.status, outcomes(run)]).toEqual([status, expect.arrayContaining(["script failed"])]);
      expect(there(state, all)).toEqual(kept);
      expect(reasonsOf(run)).not.toEqual([]);
      for (const reason of reasonsOf(run))
        expect(reason).toMatch(
          /^dependency: It stays for now: \S+ (needs it|is in it), and is still there\.( `state forget` lets go of that\.)?$/,
        );
    }
    undo.fails = false;
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(there(state, all)).toEqual([]);
    expect(state.applied).toEqual([]);
    expect(undo.found).toEqual([before, kept, kept]);
  },
);

test("a plan and a run that may remove nothing tell the same of it", async () => {
  const { state, undo } = createState(["/tool"]);
  const declared = ways["by requires"]!.declared;
  await state.run("apply", declared);
  expect(outcomes(await state.run("plan", []))).toEqual([
    "script would_change",
    "other would_change",
    "tool would_change",
  ]);
  await state.run("apply", []);
  const held = await state.run("apply", [], { holdRemovals: true });
  expect(held.results.map(({ skipped_because }) => skipped_because)).toEqual(["unattended", "unattended"]);
  expect(undo.found).toEqual([["/tool"]]);
  expect(state.applied.map(({ resource }) => resource.resource_id)).toEqual(["tool", "script"]);
});

test("a folder that an undo needs stays for it, also where something is to be in it from now on", async () => {
  const { state, undo } = createState(["/d", "/d/new"]);
  const folder = { id: "folder", type: "directory", path: "/d" };
  await state.run("apply", declare([folder, { ...script, requires: ["folder"] }]));
  const wanted = declare([file("new", { path: "/d/new" })]);
  await state.run("apply", wanted);
  expect(there(state, ["/d", "/d/new"])).toEqual(["/d", "/d/new"]);
  await state.run("apply", []);
  expect(undo.found).toEqual([["/d"], ["/d"]]);
  undo.fails = false;
  await state.run("apply", []);
  expect([there(state, ["/d", "/d/new"]), state.applied]).toEqual([[], []]);
});

test("nobody else takes away what stays for an undo", async () => {
  const { state, undo } = createState(["/d/tool"]);
  const folder = { id: "folder", type: "directory", path: "/d", purge: true };
  const tool = file("tool", { path: "/d/tool" });
  await state.run("apply", declare([folder, tool, { ...script, requires: ["tool"] }]));
  const run = await state.run("apply", declare([folder]));
  expect(outcomes(run)).toEqual(["script failed", "tool skipped", "folder unchanged"]);
  expect(state.read("/d/tool")).toBe("tool");
  undo.fails = false;
  expect(outcomes(await state.run("apply", declare([folder])))).toEqual([
    "script changed",
    "tool changed",
    "folder unchanged",
  ]);
  expect(undo.found).toEqual([["/d/tool"], ["/d/tool"]]);
});

test("what is wanted, let go or as before all the same holds up nothing", async () => {
  const { state } = createState([]);
  const kept = file("kept", { removal: "keep" });
  await state.run(
    "apply",
    declare([file("base"), { ...kept, requires: ["base"] }, { ...script, requires: ["kept"] }]),
  );
  // It is let go, and what it needs is free of it.
  expect(outcomes(await state.run("apply", []))).toEqual(["script failed", "kept unchanged", "base changed"]);
  expect(state.applied.map(({ resource }) => resource.resource_id)).toEqual(["script"]);
});

test("a removal that failed and is as before all the same holds up nothing", async () => {
  const { state } = createState([]);
  await state.run("apply", declare([file("tool"), file("taken", { requires: ["tool"] })]));
  const { removeFile } = state.host.files;
  const failing = (path: string): void => {
    removeFile.call(state.host.files, path);
    if (path === "/taken") throw new Error("It fails behind the removal.");
  };
  state.host.files.removeFile = failing;
  const run = await state.run("apply", []);
  expect(outcomes(run)).toEqual(["taken failed", "tool changed"]);
  expect(state.applied).toEqual([]);
});

test("what a run is not about holds up nothing of it, nor is it held up", async () => {
  const { state } = createState([]);
  const shared = { path: "/shared", content: "x" };
  const [one, two] = [
    declare([file("tool"), file("both", shared)], "one"),
    declare([{ ...script, requires: ["own"] }, file("own"), file("again", shared)], "two"),
  ];
  await state.run("apply", [...one, ...two.map((resource) => ({ ...resource, requires_modules: ["one"] }))]);
  const run = await state.run("apply", [], { scope: ["two"] });
  expect(outcomes(run)).toEqual(["script failed", "own skipped", "again unchanged"]);
  expect(outcomes(await state.run("apply", [], { scope: ["one"] }))).toEqual([
    "both changed",
    "tool changed",
  ]);
});

const line = { id: "tool", type: "line", path: "/conf", line: "tool" };
const block = { id: "tool", type: "block", path: "/conf", content: "tool" };

test.each<[string, JsonObject, JsonObject]>([
  ["a file in place of a line", line, file("conf", { content: "whole" })],
  ["a file in place of a block", block, file("conf", { content: "whole" })],
  ["no file in place of a block", block, { id: "conf", type: "file", path: "/conf", ensure: "absent" }],
  ["another line", line, { id: "other", type: "line", path: "/conf", line: "other" }],
])("what makes way for something desired is not kept for an undo: %s", async (_what, before, after) => {
  const { state, undo } = createState([]);
  state.write("/conf", "a\n");
  await state.run("apply", declare([before, { ...script, requires: ["tool"] }]));
  const run = await state.run("apply", declare([after]));
  expect(outcomes(run).slice(0, 2)).toEqual(["script failed", "tool changed"]);
  undo.fails = false;
  await state.run("apply", declare([after]));
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.read("/conf")).toBe("a\n");
  expect(state.applied).toEqual([]);
});

test("a folder in place of a file is made, though an undo needs the file", async () => {
  const { state } = createState([]);
  await state.run("apply", declare([file("tool", { path: "/d" }), { ...script, requires: ["tool"] }]));
  const run = await state.run(
    "apply",
    declare([{ id: "below", type: "directory", path: "/d/e", parents: true }]),
  );
  expect(outcomes(run)).toEqual(["script failed", "tool changed", "below changed"]);
});

test("an archive in place of a file is extracted, though an undo needs the file", async () => {
  const state = new StateFixture(wholeMachine());
  state.write("/srv/t.tar", modelArchive([{ name: "tool", content: "archived" }]).toString());
  const archive = { id: "archive", type: "archive", path: "/srv/d", source: "/srv/t.tar" };
  const job = { id: "script", type: "script", run: "touch done", creates: "/done", undo: "rm done" };
  state.host.files.makeDirectory("/srv/d", {});
  await state.run("apply", declare([file("tool", { path: "/srv/d/tool" }), { ...job, requires: ["tool"] }]));
  state.host.files.removeFile("/done");
  state.host.files.makeDirectory("/done", {});
  const run = await state.run("apply", declare([archive]));
  expect(outcomes(run)).toEqual(["script failed", "tool changed", "archive changed"]);
  expect(state.read("/srv/d/tool")).toBe("archived");
});

test("a user whose home goes with him waits for what stays in it", async () => {
  const state = new StateFixture(wholeMachine());
  const { files } = state.host;
  const user = { id: "user", type: "user", name: "deploy", home: "/home/deploy", remove_home: true };
  const job = { id: "script", type: "script", run: "touch done", creates: "/done", undo: "rm done" };
  const tool = file("tool", { path: "/home/deploy/tool" });
  const applied = await state.run("apply", declare([user, tool, { ...job, requires: ["tool"] }]));
  expect(applied.status).toBe("succeeded");
  files.removeFile("/done");
  files.makeDirectory("/done", {});
  expect(outcomes(await state.run("apply", []))).toEqual(["script failed", "tool skipped", "user skipped"]);
  expect(there(state, ["/home/deploy/tool"])).toEqual(["/home/deploy/tool"]);
});

test("an archive waits for what stays in its folder", async () => {
  const state = new StateFixture(wholeMachine());
  const { files } = state.host;
  state.write("/srv/t.tar", modelArchive([{ name: "own", content: "own" }]).toString());
  const archive = { id: "archive", type: "archive", path: "/srv/tool", source: "/srv/t.tar" };
  const job = { id: "script", type: "script", run: "touch done", creates: "/done", undo: "rm done" };
  const tool = file("tool", { path: "/srv/tool/extra" });
  await state.run("apply", declare([archive, tool, { ...job, requires: ["tool"] }]));
  files.removeFile("/done");
  files.makeDirectory("/done", {});
  expect(outcomes(await state.run("apply", []))).toEqual([
    "script failed",
    "tool skipped",
    "archive skipped",
  ]);
  expect(there(state, ["/srv/tool/own", "/srv/tool/extra"])).toEqual(["/srv/tool/own", "/srv/tool/extra"]);
  files.removeDirectory("/done");
  state.write("/done", "");
  expect(outcomes(await state.run("apply", []))).toEqual([
    "script changed",
    "tool changed",
    "archive changed",
  ]);
  expect(there(state, ["/srv/tool"])).toEqual([]);
});

test("a thousand things that stay are looked at as often as one that does", async () => {
  const looksFor = async (count: number): Promise<number> => {
    const { state } = createState([]);
    const folder = { id: "folder", type: "directory", path: "/d", purge: true };
    const tools = Array.from({ length: count }, (_, at) => file(`t${at}`, { path: `/d/t${at}` }));
    await state.run(
      "apply",
      declare([folder, ...tools, { ...script, requires: tools.map(({ id }) => String(id)) }]),
    );
    let looks = 0;
    const { files } = state.host;
    const list = files.list.bind(files);
    files.list = (path) => ((looks += 1), list(path));
    const run = await state.run("apply", declare([folder]));
    expect(run.results.filter(({ outcome }) => outcome === "skipped")).toHaveLength(count);
    return looks;
  };
  expect(await looksFor(1_000)).toBe(await looksFor(1));
});
