import { describe, expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { backupsOf } from "../../../lib/state/resources/file/prior.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

/** A folder with a file, a link, and a folder with a file. */
function fill(host: Host): void {
  host.files.makeDirectory("/work/folder", { mode: 0o700 });
  host.files.writeFile("/work/folder/theirs", text("theirs"), { mode: 0o600 });
  host.files.makeSymlink("/work/folder/link", "/work");
  host.files.makeDirectory("/work/folder/sub", { mode: 0o700 });
  host.files.writeFile("/work/folder/sub/deep", text("deep"), { mode: 0o640 });
}

describeLaws({
  "a new folder": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
  "a new folder with the folders above it": {
    definition: { type: "directory", path: "/work/a/b/folder", mode: "0750", parents: true },
    breakIt: (host) => host.files.setAttributes("/work/a/b/folder", { mode: 0o777 }),
  },
  "a new folder whose parents are there in part, by a link": {
    definition: { type: "directory", path: "/work/link/a/folder", parents: true },
    prepare: (host) => {
      host.files.makeDirectory("/work/real", { mode: 0o700 });
      host.files.makeSymlink("/work/link", "real");
    },
    breakIt: (host) => host.files.removeDirectory("/work/real/a/folder"),
  },
  "a folder with another mode": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    prepare: (host) => host.files.makeDirectory("/work/folder", { mode: 0o700 }),
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
  "a folder whose content has other modes": {
    definition: { type: "directory", path: "/work/folder", mode: "0755", recurse: true, file_mode: "0644" },
    prepare: fill,
    breakIt: (host) => host.files.setAttributes("/work/folder/sub/deep", { mode: 0o777 }),
  },
  "a folder that holds what nobody declares": {
    definition: { type: "directory", path: "/work/folder", purge: true },
    prepare: fill,
    breakIt: (host) => host.files.writeFile("/work/folder/new", text("new"), {}),
  },
});

const path = "/work/folder";
const folder = (more: object = {}) => declare([{ id: "d", type: "directory", path, ...more }]);
const file = (name: string) =>
  declare([{ id: name, type: "file", path: `${path}/${name}`, content: name, mode: "0600" }]);

function fixture(): StateFixture {
  const state = new StateFixture(memoryMachine());
  fill(state.host);
  return state;
}

describe("a purge", () => {
  test("takes away what no resource of the run is about, and says so in its plan", async () => {
    const state = fixture();
    const desired = [...folder({ purge: true }), ...file("theirs"), ...file("made")];
    const plan = await state.run("plan", desired);
    expect(plan.results[0]?.changes).toEqual([
      { property: "purge", before: ["link", "sub/deep", "sub"], after: [] },
    ]);
    const apply = await state.run("apply", desired);
    expect(apply.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
    expect(state.host.files.list(path)).toEqual(["made", "theirs"]);
    expect(outcomes(await state.run("apply", desired))).toEqual([
      "d unchanged",
      "theirs unchanged",
      "made unchanged",
    ]);
  });

  test("leaves the way to what is declared, and all that is below a declared folder", async () => {
    const state = fixture();
    state.write(`${path}/sub/other`, "x");
    state.host.files.makeDirectory(`${path}/own`, {});
    state.write(`${path}/own/inner`, "x");
    const desired = [
      ...folder({ purge: true }),
      ...declare([
        { type: "line", path: `${path}/sub/deep`, line: "ours" },
        { type: "directory", path: `${path}/own` },
        { id: "s", type: "script", run: ["true"], creates: `${path}/theirs` },
      ]),
    ];
    await state.run("apply", desired);
    const left = ["", "/sub", "/own"].map((name) => state.host.files.list(path + name));
    expect(left).toEqual([["own", "sub", "theirs"], ["deep"], ["inner"]]);
  });

  test("leaves files of resources that are not named after a path", async () => {
    const units = "/etc/systemd/system";
    const state = new StateFixture(memoryMachine());
    for (const made of ["/etc/systemd", units]) state.host.files.makeDirectory(made, {});
    const desired = declare([
      { type: "directory", path: units, purge: true },
      { type: "systemd_unit", name: "site.service", content: "[Service]\nExecStart=/bin/true\n" },
    ]);
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    expect(outcomes(await state.run("apply", desired)).map((line) => line.split(" ").at(-1))).toEqual([
      "unchanged",
      "unchanged",
    ]);
    expect(state.host.files.list(units)).toEqual(["site.service"]);
  });

  test("does not list what a removal of the same run takes away", async () => {
    const state = new StateFixture(memoryMachine());
    state.host.files.makeDirectory(path, {});
    await state.run("apply", [...folder({ purge: true }), ...file("made")]);
    const plan = await state.run("plan", folder({ purge: true }));
    expect(outcomes(plan)).toEqual(["made would_change", "d unchanged"]);
    expect(outcomes(await state.run("apply", folder({ purge: true })))).toEqual([
      "made changed",
      "d unchanged",
    ]);
  });

  test("never leaves the folder through a link", async () => {
    const state = fixture();
    state.write("/work/outside", "x");
    await state.run("apply", folder({ purge: true }));
    expect(state.read("/work/outside")).toBe("x");
    expect(state.host.files.list(path)).toEqual([]);
  });

  test("leaves a mount point and the folders above it", async () => {
    const state = fixture();
    state.host.files.makeDirectory(`${path}/sub/disk`, {});
    const { signal } = new AbortController();
    const argv = ["mount", "-t", "ext4", "-o", "rw", "/dev/sdb1", `${path}/sub/disk`] as const;
    await state.host.run({ argv }, signal);
    state.write(`${path}/sub/disk/data`, "x");
    await state.run("apply", folder({ purge: true, recurse: true, file_mode: "0600" }));
    expect(state.host.files.list(path)).toEqual(["sub"]);
    expect(state.host.files.list(`${path}/sub`)).toEqual(["disk"]);
    expect(state.host.files.stat(`${path}/sub/disk/data`)?.mode).toBe(0o644);
  });

  test("that comes later than the folder brings everything back too, and its copies are kept", async () => {
    const state = fixture();
    await state.run("apply", folder({ mode: "0755" }));
    await state.run("apply", folder({ mode: "0755", purge: true }));
    expect(state.host.files.list(path)).toEqual([]);
    state.host.backups.prune(backupsOf(state.applied));
    await state.run("apply", []);
    expect(state.read(`${path}/sub/deep`)).toBe("deep");
    expect(state.host.files.readLink(`${path}/link`)).toBe("/work");
    expect(state.host.files.stat(path)?.mode).toBe(0o700);
  });

  test("brings back what the first of them took away, not what came and went since", async () => {
    const state = fixture();
    await state.run("apply", folder({ purge: true }));
    const copies = backupsOf(state.applied);
    state.write(`${path}/late`, "late");
    await state.run("apply", folder({ purge: true }));
    expect(backupsOf(state.applied)).toEqual(copies);
    await state.run("apply", []);
    expect([state.host.files.stat(`${path}/late`), state.read(`${path}/sub/deep`)]).toEqual([null, "deep"]);
  });

  test("leaves what somebody has put in the place of what it took away as that is", async () => {
    const state = fixture();
    await state.run("apply", folder({ purge: true }));
    expect(state.host.files.list(path)).toEqual([]);
    state.host.files.writeFile(`${path}/theirs`, text("new"), { mode: 0o604 });
    await state.run("apply", []);
    expect([state.read(`${path}/theirs`), state.host.files.stat(`${path}/theirs`)?.mode]).toEqual([
      "new",
      0o604,
    ]);
    expect(state.host.files.stat(`${path}/sub/deep`)?.kind).toBe("file");
  });

  test("without backup keeps no copies, and brings nothing back", async () => {
    const state = fixture();
    await state.run("apply", folder({ purge: true, backup: false }));
    expect(backupsOf(state.applied)).toEqual(new Set());
    await state.run("apply", []);
    expect(state.host.files.list(path)).toEqual([]);
  });

  test("of more than a thousand paths is refused", async () => {
    const state = fixture();
    for (let index = 0; index < 1001; index += 1) state.write(`${path}/${index}`, "");
    const run = await state.run("apply", folder({ purge: true }));
    expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(run.results[0]?.message).toContain("More than 1000 paths in /work/folder");
    expect(state.host.files.list(path)).toHaveLength(1004);
  });

  test("finds what came from outside as drift", async () => {
    const state = fixture();
    const desired = [...folder({ purge: true }), ...file("made")];
    await state.run("apply", desired);
    expect(outcomes(await state.run("check", desired))).toEqual(["d unchanged", "made unchanged"]);
    state.write(`${path}/stranger`, "x");
    expect(outcomes(await state.run("check", desired))).toEqual(["d would_change", "made unchanged"]);
  });
});

describe("recurse", () => {
  test("leaves what another resource declares to it", async () => {
    const state = fixture();
    const desired = [...folder({ recurse: true, file_mode: "0644", owner: "root" }), ...file("theirs")];
    await state.run("apply", desired);
    expect(state.host.files.stat(`${path}/theirs`)?.mode).toBe(0o600);
    expect(state.host.files.stat(`${path}/sub/deep`)?.mode).toBe(0o644);
    expect(outcomes(await state.run("apply", desired))).toEqual(["d unchanged", "theirs unchanged"]);
  });

  test("brings back the modes that stood before the first version, whatever later ones gave", async () => {
    const state = fixture();
    const modes = (): unknown[] =>
      ["", "/theirs", "/sub", "/sub/deep"].map((name) => state.host.files.stat(path + name)?.mode);
    const before = modes();
    for (const [mode, file_mode] of [
      ["0711", "0604"],
      ["0710", "0640"],
    ]) {
      await state.run("apply", folder({ recurse: true, mode, file_mode }));
      const [ofFolder, ofFile] = [mode, file_mode].map((each) => Number.parseInt(each!, 8));
      expect(modes()).toEqual([ofFolder, ofFile, ofFolder, ofFile]);
    }
    await state.run("apply", []);
    expect(modes()).toEqual(before);
  });

  test("gives everything to a user of the same run", async () => {
    const state = fixture();
    const desired = [
      ...declare([{ id: "u", type: "user", name: "web" }]),
      ...folder({ recurse: true, owner: "web" }),
    ];
    expect(outcomes(await state.run("plan", desired))).toEqual(["u would_change", "d would_change"]);
    await state.run("apply", desired);
    const owners = ["", "/theirs", "/sub", "/sub/deep"].map(
      (name) => state.host.files.stat(path + name)?.uid,
    );
    expect(owners).toEqual([1000, 1000, 1000, 1000]);
  });
});

test.each([
  { path: "/", purge: true },
  { path: "/etc", purge: true },
  { path: "/usr/lib", recurse: true },
  { path: "/proc/1", purge: true },
  { file_mode: "0644" },
  { ensure: "absent", purge: true },
])("%j is a fault", (more) => {
  expect(() => folder(more)).toThrow();
});

describe("parents", () => {
  const deep = (more: object = {}) =>
    declare([{ id: "d", type: "directory", path: "/work/a/b/c", parents: true, ...more }]);
  const machine = (): StateFixture => new StateFixture(memoryMachine());
  const modeOf = (state: StateFixture, at: string): number | undefined => state.host.files.stat(at)?.mode;
  const withoutTimes = ({ results }: { results: object[] }) =>
    results.map((each) => ({ ...each, outcome: "", duration_ms: 0, attempts: 0 }));

  test("are made as mkdir -p makes them, whatever the folder gets itself, and a plan says so", async () => {
    const state = machine();
    const desired = deep({ mode: "0700", owner: "33" });
    const plan = await state.run("plan", desired);
    expect(plan.results[0]?.changes.slice(0, 2)).toEqual([
      { property: "ensure", before: "absent", after: "present" },
      { property: "parents", before: [], after: ["/work/a", "/work/a/b"] },
    ]);
    expect(withoutTimes(await state.run("apply", desired))).toEqual(withoutTimes(plan));
    expect(["/work/a", "/work/a/b", "/work/a/b/c"].map((at) => modeOf(state, at))).toEqual([
      0o755, 0o755, 0o700,
    ]);
    expect(state.host.files.stat("/work/a/b")?.uid).not.toBe(33);
    expect(state.host.files.stat("/work/a/b/c")?.uid).toBe(33);
    expect(outcomes(await state.run("check", desired))).toEqual(["d unchanged"]);
  });

  test("go with the folder, as far as we made them and nothing else is in them, as the plan says", async () => {
    const state = machine();
    await state.run("apply", deep());
    state.write("/work/a/theirs", "x");
    const plan = await state.run("plan", []);
    expect(plan.results[0]).toMatchObject({
      action: "remove",
      changes: [
        { property: "ensure", before: "present", after: "absent" },
        { property: "parents", before: ["/work/a/b"], after: [] },
      ],
    });
    expect(withoutTimes(await state.run("apply", []))).toEqual(withoutTimes(plan));
    expect(state.host.files.list("/work/a")).toEqual(["theirs"]);
    expect(state.applied).toEqual([]);
  });

  test("stay where the folder holds something, and go where only they are left", async () => {
    const state = machine();
    await state.run("apply", deep());
    state.write("/work/a/b/c/theirs", "x");
    expect((await state.run("apply", [])).results).toMatchObject([{ outcome: "unchanged" }]);
    expect(state.read("/work/a/b/c/theirs")).toBe("x");

    const other = machine();
    await other.run("apply", deep());
    other.host.files.removeDirectory("/work/a/b/c");
    expect((await other.run("apply", [])).results).toMatchObject([{ outcome: "changed", action: "remove" }]);
    expect(other.host.files.stat("/work/a")).toBeNull();
  });

  test("that stood before, or that another resource made, stay or go with that", async () => {
    const state = machine();
    state.host.files.makeDirectory("/work/a", {});
    const parent = declare([{ id: "b", type: "directory", path: "/work/a/b" }]);
    await state.run("apply", [...parent, ...deep()]);
    await state.run("apply", parent);
    expect(state.host.files.list("/work/a/b")).toEqual([]);
    await state.run("apply", []);
    expect(state.host.files.list("/work/a")).toEqual([]);
  });

  test("that went meanwhile are made again, and go in the end", async () => {
    const state = machine();
    state.host.files.makeDirectory("/work/a", {});
    await state.run("apply", deep());
    for (const gone of ["/work/a/b/c", "/work/a/b", "/work/a"]) state.host.files.removeDirectory(gone);
    expect(outcomes(await state.run("apply", deep()))).toEqual(["d changed"]);
    await state.run("apply", []);
    expect(state.host.files.stat("/work/a")).toBeNull();
  });

  test("that can't be made fail the plan as the apply, with what is in the way", async () => {
    const state = machine();
    state.write("/work/a", "x");
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, deep());
      expect(results).toMatchObject([
        { outcome: "failed", message: "/work/a is a file, which is left alone." },
      ]);
    }
    expect(state.read("/work/a")).toBe("x");
  });

  test("of a folder that is to be absent are a fault", () => {
    expect(() => deep({ ensure: "absent" })).toThrow("can't be absent with parents, recurse or purge");
  });
});
