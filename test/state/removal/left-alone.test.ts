/** What a resource says nothing of stays as somebody made it while the resource was there, whichever way: its removal is not about it. */
import { expect, test } from "vitest";
import type { FileAttributes } from "../../../lib/host/host.ts";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { ServiceMachine } from "../../support/machine/services.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const { signal } = new AbortController();

const web = (more: JsonObject) => declare([{ id: "s", type: "service", name: "web", ...more }]);
const stopped = { running: false, enabled: false };

test.each<[definition: JsonObject, before: JsonObject, meanwhile: JsonObject]>([
  [{ running: true }, {}, { enabled: true }],
  [{ running: true }, { enabled: true }, { enabled: false }],
  [{ running: false }, { running: true }, { enabled: true }],
  [{ enabled: true }, {}, { running: true }],
  [{ enabled: true }, { running: true }, { running: false }],
  [{ enabled: false }, { enabled: true }, { running: true }],
])("a service with %j, which was %j and became %j", async (definition, before, meanwhile) => {
  for (const init of ["systemd", "openrc", "sysvinit"] as const) {
    const machine = new ServiceMachine(init);
    machine.add("web");
    const [ours, somebody] = [new StateFixture(machine.host), new StateFixture(machine.host)];
    await somebody.run("apply", web({ ...stopped, ...before }));
    expect(outcomes(await ours.run("apply", web(definition)))).toEqual(["s changed"]);
    await somebody.run("apply", web(meanwhile));
    expect(outcomes(await ours.run("apply", []))).toEqual(["s changed"]);
    const check = await somebody.run("check", web({ ...stopped, ...before, ...meanwhile }));
    expect(outcomes(check)).toEqual(["s unchanged"]);
  }
});

const mounted = ({ files }: MemoryHost): boolean =>
  Buffer.from(files.readFile("/proc/self/mountinfo")).toString().includes(" /work/cache ");
const mount = ["mount", "-t", "tmpfs", "tmpfs", "/work/cache"] as const;
const umount = ["umount", "/work/cache"] as const;

test.each([true, false])("a mount that is in the table alone: it was mounted: %j", async (was) => {
  const state = new StateFixture(memoryMachine());
  state.host.files.makeDirectory("/work/cache", {});
  if (was) await state.host.run({ argv: mount }, signal);
  const fstab = state.read("/etc/fstab");
  const definition = {
    type: "mount",
    path: "/work/cache",
    device: "tmpfs",
    fstype: "tmpfs",
    ensure: "present",
  };
  expect(outcomes(await state.run("apply", declare([{ id: "m", ...definition }])))).toEqual(["m changed"]);
  await state.host.run({ argv: was ? umount : mount }, signal);
  expect(outcomes(await state.run("apply", []))).toEqual(["m changed"]);
  expect(mounted(state.host)).toBe(!was);
  expect(state.read("/etc/fstab")).toBe(fstab);
});

const path = "/work/app.conf";
const file = (more: JsonObject, module = "m") => declare([{ id: "f", type: "file", path, ...more }], module);

/** A machine with a file that nobody declared. */
function machineWithFile(attributes: FileAttributes = {}): StateFixture {
  const state = new StateFixture(memoryMachine());
  state.host.files.writeFile(path, Buffer.from("of January\n"), {
    mode: 0o644,
    uid: 5,
    gid: 5,
    ...attributes,
  });
  return state;
}

/** What stands at the path of the file. */
function lookAt({ host: { files } }: StateFixture): unknown {
  const stat = files.stat(path);
  if (stat?.kind === "symlink") return { target: files.readLink(path) };
  if (!stat) return null;
  return {
    mode: stat.mode.toString(8),
    uid: stat.uid,
    gid: stat.gid,
    content: stat.kind === "file" && textAt(files),
  };
}

const textAt = (files: MemoryHost["files"]): string => Buffer.from(files.readFile(path)).toString();

test.each<[declared: JsonObject, meanwhile: FileAttributes, after: JsonObject]>([
  [{ mode: "0600" }, { uid: 9, gid: 9 }, { mode: "644", uid: 9, gid: 9 }],
  [{ owner: "root" }, { mode: 0o640, gid: 9 }, { mode: "640", uid: 5, gid: 9 }],
  [{ group: "root" }, { mode: 0o640, uid: 9 }, { mode: "640", uid: 9, gid: 5 }],
  [{ mode: "0600", group: "root" }, { uid: 9 }, { mode: "644", uid: 9, gid: 5 }],
])("a file with %j keeps the content that somebody wrote, and %j", async (declared, meanwhile, after) => {
  const state = machineWithFile();
  expect(outcomes(await state.run("apply", file(declared)))).toEqual(["f changed"]);
  state.host.files.writeFile(path, Buffer.from("of December\n"), meanwhile);
  expect(outcomes(await state.run("apply", file(declared)))).toEqual(["f unchanged"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
  expect(lookAt(state)).toEqual({ ...after, content: "of December\n" });
});

test("the mode of a file that one module declares goes without the lines that another has in it", async () => {
  const state = machineWithFile();
  await state.run("apply", file({ mode: "0600" }, "a"), { scope: ["a"] });
  const inside = [
    { id: "l", type: "line", path, line: "port=80" },
    { id: "b", type: "block", path, content: "host=x\n" },
  ];
  await state.run("apply", declare(inside, "b"), { scope: ["b"] });
  const content = textAt(state.host.files);
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["f changed"]);
  expect(lookAt(state)).toEqual({ mode: "644", uid: 5, gid: 5, content });
});

const unit = "/etc/systemd/system/app.service";

test.each<[JsonObject]>([
  [{ type: "file", path, content: "ours\n" }],
  [{ type: "file", path, ensure: "absent" }],
  [{ type: "symlink", path, target: "/work/other", force: true }],
  [{ type: "systemd_unit", name: "app.service", content: "[Unit]\n" }],
])(
  "a version that takes the content of a file too brings back what stood right before it: %j",
  async (later) => {
    const at = later["type"] === "systemd_unit" ? unit : path;
    const state = new StateFixture(memoryMachine());
    if (at === unit) for (const folder of ["/etc/systemd", "/etc/systemd/system"]) makeFolder(state, folder);
    state.host.files.writeFile(at, Buffer.from("of January\n"), { mode: 0o644, uid: 5, gid: 5 });
    await state.run("apply", declare([{ id: "f", type: "file", path: at, mode: "0600" }]));
    state.host.files.writeFile(at, Buffer.from("of December\n"), { uid: 9 });
    expect(outcomes(await state.run("apply", declare([{ id: "f", ...later }])))).toEqual(["f changed"]);
    expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
    const { mode, uid, gid } = state.host.files.stat(at)!;
    expect({ mode, uid, gid, content: state.read(at) }).toEqual({
      mode: 0o644,
      uid: 9,
      gid: 5,
      content: "of December\n",
    });
  },
);

function makeFolder({ host: { files } }: StateFixture, folder: string): void {
  if (!files.stat(folder)) files.makeDirectory(folder, {});
}

test("a version without content brings back what stood before the one with it", async () => {
  const state = machineWithFile();
  await state.run("apply", file({ content: "ours\n", mode: "0600" }));
  await state.run("apply", file({ mode: "0640" }));
  await state.run("apply", []);
  expect(lookAt(state)).toEqual({ mode: "644", uid: 5, gid: 5, content: "of January\n" });
});

test("a file with a mode that somebody removed does not come back, nor what stands there in its place", async () => {
  const state = machineWithFile();
  await state.run("apply", file({ mode: "0600" }));
  state.host.files.removeFile(path);
  expect(outcomes(await state.run("apply", []))).toEqual(["f unchanged"]);
  expect(lookAt(state)).toBeNull();
  for (const put of ["link", "folder"] as const) {
    const other = machineWithFile();
    await other.run("apply", file({ mode: "0600" }));
    other.host.files.removeFile(path);
    if (put === "link") other.host.files.makeSymlink(path, "/work/else");
    else other.host.files.makeDirectory(path, { mode: 0o711 });
    const stands = lookAt(other);
    expect(outcomes(await other.run("apply", []))).toEqual(["f unchanged"]);
    expect(lookAt(other)).toEqual(stands);
  }
});

test.each<[JsonObject]>([[{ mode: "0600" }], [{ mode: "0600", content: "ours\n" }]])(
  "a file with a mode that somebody removed, and that we made anew with %j, goes",
  async (later) => {
    const state = machineWithFile();
    await state.run("apply", file({ mode: "0600" }));
    state.host.files.removeFile(path);
    await state.run("apply", file(later));
    expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
    expect(lookAt(state)).toBeNull();
  },
);

test("a link that somebody put in the place of a file with a mode, and that we replaced, comes back", async () => {
  const state = machineWithFile();
  await state.run("apply", file({ mode: "0600" }));
  state.host.files.removeFile(path);
  state.host.files.makeSymlink(path, "/work/else");
  await state.run("apply", file({ mode: "0600", force: true }));
  expect(outcomes(await state.run("apply", []))).toEqual(["f changed"]);
  expect(lookAt(state)).toEqual({ target: "/work/else" });
});

test("the set-id bits that a program lost with its owner come back with him", async () => {
  for (const declared of [{ owner: "root" }, { group: "root" }]) {
    const state = machineWithFile({ mode: 0o6755 });
    await state.run("apply", file(declared));
    expect(lookAt(state)).toMatchObject({ mode: "755" });
    await state.run("apply", []);
    expect(lookAt(state)).toEqual({ mode: "6755", uid: 5, gid: 5, content: "of January\n" });
  }
});

test.each<[declared: JsonObject, comesBack: boolean]>([
  [{ owner: "root" }, true],
  [{ mode: "4755", force: true }, true],
  [{ mode: "2755", force: true }, true],
  [{ mode: "6755", force: true }, true],
  [{ mode: "1755", force: true }, false],
  [{ mode: "0600", force: true }, false],
  [{ mode: "0600" }, false],
])("a file with %j: attributes that somebody gave it are taken back: %j", async (declared, comesBack) => {
  const before = { attributes: { "user.note": "b25l" } };
  const now = { attributes: { "user.note": "dHdv" } };
  const state = machineWithFile({ extras: before });
  await state.run("apply", file(declared));
  await state.host.files.setAttributes(path, { extras: now });
  await state.run("apply", []);
  expect(state.host.files.extras(path)).toEqual(comesBack ? before : now);
});
