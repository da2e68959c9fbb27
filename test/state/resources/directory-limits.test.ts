/** What a folder with `purge` or `recurse` leaves alone: what is mounted in it, what it must not be, what nobody can name. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { addKept, type KeptEntry } from "../../../lib/state/resources/directory/content.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";
import { temporaryFolderOnDisk } from "../../support/temporary-folder.ts";

/** A machine where "/srv/link" leads to "/data", in which something is mounted on "/data/site/disk". */
function machine(): StateFixture {
  const host = new MemoryHost({ users: { root: 0, web: 33 } });
  for (const folder of ["/proc", "/proc/self", "/srv", "/data", "/data/site", "/data/site/disk", "/etc"])
    host.files.makeDirectory(folder, { mode: 0o755 });
  host.files.makeSymlink("/srv/link", "/data");
  host.files.makeSymlink("/srv/all", "/");
  const state = new StateFixture(host);
  state.write("/proc/self/mountinfo", "30 22 0:40 / /data/site/disk rw - ext4 /dev/sdb1 rw\n");
  for (const path of ["/data/site/stray", "/data/site/disk/precious", "/etc/passwords"])
    state.write(path, "x");
  return state;
}

test.each(["plan", "apply"] as const)(
  "a purge (%s) crosses no mount point on the way through a link",
  async (mode) => {
    const state = machine();
    const desired = declare([{ id: "d", type: "directory", path: "/srv/link/site", purge: true }]);
    const { results } = await state.run(mode, desired);
    expect(results[0]?.changes).toEqual([{ property: "purge", before: ["stray"], after: [] }]);
    expect(state.read("/data/site/disk/precious")).toBe("x");
  },
);

test("no owner is given to what is mounted in a folder behind a link", async () => {
  const state = machine();
  const desired = declare([
    { id: "d", type: "directory", path: "/srv/link/site", recurse: true, owner: "web" },
  ]);
  await state.run("apply", desired);
  expect(state.host.files.stat("/data/site/stray")?.uid).toBe(33);
  expect(state.host.files.stat("/data/site/disk/precious")?.uid).toBe(0);
});

test.each(["plan", "apply"] as const)(
  "a link to a folder of the system is no way around the refusal (%s)",
  async (mode) => {
    const state = machine();
    const desired = declare([{ id: "d", type: "directory", path: "/srv/all/etc", purge: true }]);
    const { results } = await state.run(mode, desired);
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(results[0]?.message).toContain("/etc, a folder of the system");
    expect(state.read("/etc/passwords")).toBe("x");
  },
);

test("a name that is no UTF-8 is left, with the folders that lead to it, and all else goes", async () => {
  const folder = temporaryFolderOnDisk();
  const path = join(folder, "purged");
  mkdirSync(join(path, "sub/empty"), { recursive: true });
  for (const name of ["stray", "sub/stray"]) writeFileSync(join(path, name), "x");
  writeFileSync(Buffer.concat([Buffer.from(`${path}/sub/caf`), Buffer.from([0xe9])]), "x");
  const { status, results } = await runState({
    mode: "apply",
    desired: declare([{ id: "d", type: "directory", path, purge: true }]),
    applied: [],
    host: new LocalHost({ stateFolder: join(folder, "state") }),
    clock: systemClock,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
  expect([status, results[0]?.message]).toEqual(["succeeded", undefined]);
  expect([readdirSync(path), readdirSync(join(path, "sub")).length]).toEqual([["sub"], 1]);
});

const part = (path: string, more: Partial<KeptEntry> = {}): KeptEntry => {
  return { path, kind: "file", only_if_there: true, ...more };
};

test.each([
  [2, ["/d/1", "/d/2"]],
  [3, ["/d/0", "/d/1", "/d/2"]],
  [4, ["/d/0", "/d/1", "/d/2", "/d/3"]],
  [5, ["/d/0", "/d/1", "/d/2", "/d/3"]],
])(
  "of what comes later no more is noted than brings all to %i, and nothing gives way to it",
  (most, paths) => {
    const found = ["/d/0", "/d/2", "/d/3"].map((path) => part(path, { mode: "0644" }));
    const kept = addKept([part("/d/1", { owner: "ada" }), part("/d/2", { owner: "ada" })], found, most);
    expect(kept.map(({ path }) => path)).toEqual(paths);
    expect(kept.filter(({ owner }) => owner === "ada")).toHaveLength(2);
    // What was noted in part is noted further, also where there is room for nothing else.
    expect(kept.find(({ path }) => path === "/d/2")).toEqual(part("/d/2", { owner: "ada", mode: "0644" }));
  },
);

test("what another kind of thing at a path had is nothing of what stands there now", () => {
  const kept = addKept(
    [part("/d/1", { mode: "0600" })],
    [part("/d/1", { kind: "directory", owner: "ada" })],
    9,
  );
  expect(kept).toEqual([{ path: "/d/1", kind: "directory", owner: "ada", only_if_there: true }]);
});

test.each<[string, (state: StateFixture) => void]>([
  ["a file", (state) => state.write("/made/on", "mine")],
  ["a link to nowhere", ({ host }) => host.files.makeSymlink("/made/on", "/nowhere")],
  ["a link to a folder", ({ host }) => host.files.makeSymlink("/made/on", "/data")],
])(
  "%s in the place of a folder that was made on the way stays, with the folder that it is in",
  async (_, put) => {
    const state = machine();
    await state.run("apply", declare([{ type: "directory", path: "/made/on/the/way", parents: true }]));
    for (const gone of ["/made/on/the/way", "/made/on/the", "/made/on"])
      state.host.files.removeDirectory(gone);
    put(state);
    const { results } = await state.run("apply", []);
    expect(results.map(({ outcome }) => outcome)).not.toContain("failed");
    expect(state.host.files.list("/made")).toEqual(["on"]);
    expect(state.applied).toEqual([]);
  },
);
