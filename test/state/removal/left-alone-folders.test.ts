/** What the definition of a folder leaves alone stays as somebody made it meanwhile, the folder itself and what is in it. */
import { expect, test } from "vitest";
import type { FileAttributes } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { snapshot } from "../../../lib/testing/snapshot.ts";
import { gitPrograms } from "../../support/machine/git.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const path = "/work/d";
const folder = (more: JsonObject) => declare([{ id: "d", type: "directory", path, ...more }]);

/** A machine with a folder, with a file, a link and a folder in it, that nobody declared. */
function machine(): StateFixture {
  const host: MemoryHost = new MemoryHost({ programs: gitPrograms(() => host.files, {}) });
  const state = new StateFixture(host);
  const { files } = host;
  files.makeDirectory("/work", { mode: 0o755 });
  const whose = { uid: 5, gid: 5 };
  files.makeDirectory(path, { mode: 0o755, ...whose });
  files.writeFile(`${path}/file`, Buffer.from("theirs"), { mode: 0o644, ...whose });
  files.makeSymlink(`${path}/link`, "file", whose);
  files.makeDirectory(`${path}/sub`, { mode: 0o755, ...whose });
  return state;
}

function emptyFolder({ host: { files } }: StateFixture): void {
  for (const at of ["/file", "/link"]) files.removeFile(path + at);
  files.removeDirectory(`${path}/sub`);
}

/** Mode and owner of what stands, by its path below the folder; those of a link are its owner alone. */
function lookAt({ host }: StateFixture): JsonObject {
  const all = Object.entries(snapshot(host, "/work")).map(([at, entry]) => {
    const { mode, uid, gid } = entry as { mode: number; uid: number; gid: number };
    const isLink = host.files.stat(at)?.kind === "symlink";
    return [at.slice(path.length + 1), `${isLink ? "" : `${mode.toString(8)} `}${uid}:${gid}`] as const;
  });
  return Object.fromEntries(all.filter(([at]) => at !== "" || host.files.stat(path)));
}

const before = { "": "755 5:5", file: "644 5:5", link: "5:5", sub: "755 5:5" };

test.each<[declared: JsonObject, meanwhile: FileAttributes, after: string]>([
  [{ mode: "0700" }, { uid: 9, gid: 9 }, "755 9:9"],
  [{ owner: "root" }, { mode: 0o711, gid: 9 }, "711 5:9"],
  [{ group: "root" }, { mode: 0o711, uid: 9 }, "711 9:5"],
])("a folder with %j, of which somebody changes %j meanwhile", async (declared, meanwhile, after) => {
  const state = machine();
  expect(lookAt(state)).toEqual(before);
  expect(outcomes(await state.run("apply", folder(declared)))).toEqual(["d changed"]);
  await state.host.files.setAttributes(path, meanwhile);
  expect(outcomes(await state.run("apply", folder(declared)))).toEqual(["d unchanged"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
  expect(lookAt(state)).toEqual({ ...before, "": after });
});

test.each<[declared: JsonObject, meanwhile: FileAttributes, after: JsonObject]>([
  [
    { group: "root" },
    { mode: 0o700, uid: 9 },
    { "": "700 9:5", file: "700 9:5", link: "5:5", sub: "700 9:5" },
  ],
  [{ mode: "0700" }, { uid: 9, gid: 9 }, { "": "755 9:9", file: "644 9:9", link: "5:5", sub: "755 9:9" }],
  [
    { file_mode: "0600" },
    { uid: 9, gid: 9 },
    { "": "755 9:9", file: "644 9:9", link: "5:5", sub: "755 9:9" },
  ],
])(
  "what is in a folder with recurse and %j, where somebody changes %j meanwhile",
  async (declared, meanwhile, after) => {
    const state = machine();
    const desired = folder({ recurse: true, ...declared });
    expect(outcomes(await state.run("apply", desired))).toEqual(["d changed"]);
    for (const at of ["", "/file", "/sub"]) await state.host.files.setAttributes(path + at, meanwhile);
    await state.run("apply", desired);
    expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
    expect(lookAt(state)).toEqual(after);
  },
);

test("what a later version declares too comes back as it stood right before that version", async () => {
  const state = machine();
  const { files } = state.host;
  await state.run("apply", folder({ recurse: true, owner: "root" }));
  for (const at of ["", "/file", "/sub"]) await files.setAttributes(path + at, { mode: 0o750 });
  const later = { recurse: true, owner: "root", mode: "0700", file_mode: "0600" };
  expect(outcomes(await state.run("apply", folder(later)))).toEqual(["d changed"]);
  await state.run("apply", folder({ recurse: true, owner: "root" }));
  expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
  expect(lookAt(state)).toEqual({ "": "750 5:5", file: "750 5:5", link: "5:5", sub: "750 5:5" });
});

test("what the first purge takes away comes back whole also where an earlier version gave it another owner", async () => {
  const state = machine();
  await state.run("apply", folder({ recurse: true, owner: "root" }));
  state.host.files.writeFile(`${path}/sub/late`, Buffer.from("theirs"), { mode: 0o600, uid: 7, gid: 7 });
  expect(outcomes(await state.run("apply", folder({ purge: true })))).toEqual(["d changed"]);
  expect(lookAt(state)).toEqual({ "": "755 0:5" });
  state.write(`${path}/later`, "put there later");
  await state.run("apply", folder({ purge: true }));
  expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
  expect(lookAt(state)).toEqual({ ...before, "sub/late": "600 7:7" });
  expect([state.read(`${path}/file`), state.read(`${path}/sub/late`)]).toEqual(["theirs", "theirs"]);
});

test.each([["directory"], ["git"]])(
  "a folder that a later version, a %s, took away comes back whole",
  async (type) => {
    const state = machine();
    const { files } = state.host;
    await state.run("apply", folder({ mode: "0700" }));
    emptyFolder(state);
    await files.setAttributes(path, { uid: 0 });
    const absent = declare([{ id: "d", type, path, ensure: "absent" }]);
    expect(outcomes(await state.run("apply", absent))).toEqual(["d changed"]);
    expect(files.stat(path)).toBeNull();
    expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
    expect(lookAt(state)).toEqual({ "": "755 0:5" });
  },
);

test("a folder that somebody removed does not come back, and goes where the resource made it anew", async () => {
  for (const makesAnew of [false, true]) {
    const state = machine();
    emptyFolder(state);
    await state.run("apply", folder({ mode: "0700" }));
    state.host.files.removeDirectory(path);
    if (makesAnew) await state.run("apply", folder({ mode: "0700" }));
    expect(outcomes(await state.run("apply", []))).toEqual([makesAnew ? "d changed" : "d unchanged"]);
    expect(state.host.files.stat(path)).toBeNull();
  }
});

test("what somebody removed from a folder with recurse does not come back", async () => {
  const state = machine();
  await state.run("apply", folder({ recurse: true, owner: "root" }));
  state.host.files.removeDirectory(`${path}/sub`);
  state.host.files.removeFile(`${path}/link`);
  expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
  expect(lookAt(state)).toEqual({ "": "755 5:5", file: "644 5:5" });
});
