/** A link on the way to a thing that is led elsewhere: the thing behind it is another one, and the one before is ours as it was. */
import { describe, expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { modelArchive } from "../support/machine/tar.ts";
import { repositoryUrl, wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

/** Two releases, and a link to the first of them. */
function machine(): StateFixture {
  const state = new StateFixture(wholeMachine());
  for (const folder of ["/w", "/w/r1", "/w/r2"]) state.host.files.makeDirectory(folder, { mode: 0o755 });
  state.host.files.makeSymlink("/w/cur", "r1");
  return state;
}

/** Leads the link elsewhere, as somebody does. */
function flip({ host: { files } }: StateFixture, target: string): void {
  files.removeFile("/w/cur");
  files.makeSymlink("/w/cur", target);
}

/** All that is in a folder: what files hold, where links lead and which modes folders have. */
function treeOf({ host: { files } }: StateFixture, folder = "/w"): Record<string, string> {
  const tree: Record<string, string> = {};
  for (const name of files.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = files.stat(path)!;
    if (stat.kind === "symlink") tree[path] = `-> ${files.readLink(path)}`;
    else if (stat.kind === "file") tree[path] = Buffer.from(files.readFile(path)).toString();
    else
      Object.assign(
        tree,
        { [path]: stat.mode.toString(8) },
        treeOf({ host: { files } } as StateFixture, path),
      );
  }
  return tree;
}

const link = (release: number): JsonObject => ({
  id: "l",
  type: "symlink",
  path: "/w/cur",
  target: `r${release}`,
});

/** By type: a resource behind the link, and what somebody has there in each release. */
const things: Record<
  string,
  {
    resource: JsonObject;
    put?: (state: StateFixture, at: string) => void;
    /** It is about more than the path, and one thing wherever that leads. */
    isOne?: boolean;
  }
> = {
  file: {
    resource: { type: "file", path: "/w/cur/x", content: "ours" },
    put: (state, at) => state.write(`${at}/x`, `theirs of ${at}`),
  },
  "file with a mode alone": {
    resource: { type: "file", path: "/w/cur/x", mode: "0600" },
    put: (state, at) => state.write(`${at}/x`, `theirs of ${at}`),
  },
  "file that is to go": {
    resource: { type: "file", path: "/w/cur/x", ensure: "absent" },
    put: (state, at) => state.write(`${at}/x`, `theirs of ${at}`),
  },
  "file that nobody had": { resource: { type: "file", path: "/w/cur/x", content: "ours" } },
  line: {
    resource: { type: "line", path: "/w/cur/x", line: "k=ours", match: "k=*" },
    put: (state, at) => state.write(`${at}/x`, `a\nk=${at}\nb\n`),
  },
  "sensitive line": {
    resource: { type: "line", path: "/w/cur/x", line: "k=ours", sensitive: true },
    put: (state, at) => state.write(`${at}/x`, at === "/w/r2" ? "a\nk=ours\nb\n" : "a\nb\n"),
  },
  block: {
    resource: { type: "block", path: "/w/cur/x", content: "ours" },
    put: (state, at) => state.write(`${at}/x`, `of ${at}\n`),
  },
  symlink: {
    resource: { type: "symlink", path: "/w/cur/x", target: "ours", force: true },
    put: (state, at) => state.host.files.makeSymlink(`${at}/x`, `theirs${at}`),
  },
  directory: {
    resource: { type: "directory", path: "/w/cur/x", mode: "0700" },
    put: (state, at) => state.host.files.makeDirectory(`${at}/x`, { mode: at === "/w/r1" ? 0o755 : 0o711 }),
  },
  "directory with folders above it": {
    resource: { type: "directory", path: "/w/cur/x/y/z", parents: true },
  },
  "directory that is purged": {
    resource: { type: "directory", path: "/w/cur/x", purge: true },
    put(state, at) {
      state.host.files.makeDirectory(`${at}/x`, { mode: 0o755 });
      state.write(`${at}/x/of-${at.slice(-2)}`, at);
    },
  },
  archive: { resource: { type: "archive", path: "/w/cur/x", source: "/a.tar" } },
  git: { resource: { type: "git", path: "/w/cur/x", repository: repositoryUrl } },
  sysctl: {
    resource: { type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path: "/w/cur/x" },
    put: (state, at) => state.write(`${at}/x`, `# ${at}\nnet.ipv4.ip_forward = 0\n`),
    isOne: true,
  },
};

function prepared(name: string): { state: StateFixture; before: Record<string, string> } {
  const state = machine();
  state.host.files.writeFile("/a.tar", modelArchive([{ name: "f", content: "ours" }]), { mode: 0o644 });
  for (const release of ["/w/r1", "/w/r2"]) things[name]?.put?.(state, release);
  return { state, before: treeOf(state) };
}

async function succeed(state: StateFixture, desired: ResolvedResource[], scope?: string[]): Promise<void> {
  const plan = await state.run("plan", desired, scope && { scope });
  const { status, results } = await state.run("apply", desired, scope && { scope });
  expect({ status, results }).toMatchObject({ status: "succeeded" });
  const named = (all: typeof results): string[] =>
    all.map(({ resource_id, identity, action }) => `${resource_id} ${identity} ${action}`);
  expect(named(plan.results)).toEqual(named(results));
  const again = await state.run("plan", desired, scope && { scope });
  expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
}

/** As an agent of an earlier version noted it: with the path that was declared. */
function asBefore(
  applied: readonly AppliedResource[],
  desired: readonly ResolvedResource[],
): AppliedResource[] {
  return applied.map((entry) => {
    const { resource_id } = entry.resource;
    const resource = desired.find((each) => each.resource_id === resource_id)!;
    const prior = JSON.parse(
      JSON.stringify(entry.prior).replaceAll("/w/r1/", "/w/cur/"),
    ) as AppliedResource["prior"];
    return { ...entry, resource, prior };
  });
}

describe.each(Object.keys(things))("%s", (name) => {
  const thing = declare([{ id: "x", ...things[name]!.resource }]);
  const version = (release: number): ResolvedResource[] => [...declare([link(release)]), ...thing];

  test("behind a link that the run leads elsewhere is another one, and each comes back", async () => {
    const { state, before } = prepared(name);
    await succeed(state, version(1));
    const first = treeOf(state);
    await succeed(state, version(2));
    if (!things[name]!.isOne) expect(below("/w/r1", treeOf(state))).toEqual(below("/w/r1", before));
    await succeed(state, version(1));
    if (!things[name]!.isOne) expect(treeOf(state)).toEqual(first);
    await succeed(state, version(2));
    await succeed(state, []);
    expect(treeOf(state)).toEqual(before);
  });

  test("that an earlier agent noted is as well", async () => {
    const { state, before } = prepared(name);
    await succeed(state, version(1));
    state.applied = asBefore(state.applied, version(1));
    await succeed(state, version(2));
    await succeed(state, []);
    expect(treeOf(state)).toEqual(before);
  });

  test("behind a link that somebody leads elsewhere stays ours where it is", async () => {
    const { state, before } = prepared(name);
    await succeed(state, thing);
    flip(state, "r2");
    await succeed(state, []);
    flip(state, "r1");
    expect(treeOf(state)).toEqual(before);
    await succeed(state, thing);
    flip(state, "r2");
    await succeed(state, thing);
    await succeed(state, []);
    flip(state, "r1");
    expect(treeOf(state)).toEqual(before);
  });

  test("behind a link of a module that flips it apart goes with its own", async () => {
    const { state, before } = prepared(name);
    const flipped = (release: number): ResolvedResource[] => declare([link(release)], "links");
    await succeed(state, [...flipped(1), ...thing]);
    await succeed(state, flipped(2), ["links"]);
    await succeed(state, [], ["m"]);
    await succeed(state, flipped(1), ["links"]);
    expect(treeOf(state)).toEqual(before);
  });

  test("behind a link that a script flips before it is another one", async () => {
    const { state, before } = prepared(name);
    await succeed(state, thing);
    const script = declare([{ id: "s", type: "script", run: "flip", creates: "/w/never" }]);
    const host = state.host;
    const run = host.run.bind(host);
    Object.defineProperty(host, "run", {
      value: (...call: Parameters<typeof run>) => {
        if (!JSON.stringify(call[0]).includes("flip")) return run(...call);
        flip(state, "r2");
        state.write("/w/never", "");
        return Promise.resolve({ exitCode: 0, signal: null, stdout: "", stderr: "" });
      },
    });
    const { status } = await state.run("apply", [...script, ...thing]);
    expect(status).toBe("succeeded");
    await state.run("apply", []);
    flip(state, "r1");
    state.host.files.removeFile("/w/never");
    expect(treeOf(state)).toEqual(before);
  });
});

function below(folder: string, tree: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).filter(([path]) => path.startsWith(folder)));
}

test("two entries that a flip leads to one path both come back", async () => {
  const state = machine();
  flip(state, "r2");
  state.write("/w/r2/x", "theirs");
  const before = treeOf(state);
  const one = declare([{ id: "x", type: "file", path: "/w/r1/x", content: "one" }], "one");
  const two = declare([{ id: "x", type: "file", path: "/w/cur/x", content: "two" }], "two");
  await succeed(state, one, ["one"]);
  await succeed(state, two, ["two"]);
  flip(state, "r1");
  await expect(state.run("plan", two, { scope: ["two"] })).rejects.toMatchObject({
    code: "RESOURCE_CONFLICT",
  });
  await succeed(state, [], ["two"]);
  expect(state.read("/w/r1/x")).toBe("one");
  await succeed(state, []);
  flip(state, "r2");
  expect(treeOf(state)).toEqual(before);
});

test("where the link can't be led elsewhere, what is written is noted where it stands", async () => {
  const state = machine();
  for (const release of ["r1", "r2"]) state.write(`/w/${release}/x`, `theirs of ${release}`);
  const before = treeOf(state);
  const thing = declare([{ id: "x", type: "file", path: "/w/cur/x", content: "ours" }], "b");
  await succeed(state, [...declare([link(1)], "a"), ...thing]);
  const { files } = state.host;
  const makeSymlink = files.makeSymlink.bind(files);
  files.makeSymlink = (path) => {
    throw hostError(path, "EROFS");
  };
  const { results } = await state.run("apply", [...declare([link(2)], "a"), ...thing]);
  expect(results.map(({ outcome }) => outcome)).toEqual(["changed", "failed", "changed"]);
  expect(state.read("/w/r1/x")).toBe("ours");
  files.makeSymlink = makeSymlink;
  await succeed(state, []);
  expect(treeOf(state)).toEqual(before);
});

test("a removal that is held back leaves the thing before ours", async () => {
  const state = machine();
  for (const release of ["r1", "r2"]) state.write(`/w/${release}/x`, `theirs of ${release}`);
  const before = treeOf(state);
  const version = (release: number): ResolvedResource[] =>
    declare([link(release), { id: "x", type: "file", path: "/w/cur/x", content: "ours" }]);
  await succeed(state, version(1));
  await state.run("apply", version(2), { holdRemovals: true });
  expect([state.read("/w/r1/x"), state.read("/w/r2/x")]).toEqual(["ours", "ours"]);
  await succeed(state, []);
  expect(treeOf(state)).toEqual(before);
});

test("what two modules share by two ways, in one apply, is of both as it stands", async () => {
  const state = new StateFixture(wholeMachine());
  const { files } = state.host;
  for (const folder of ["/w", "/w/r1", "/w/r2"]) files.makeDirectory(folder, { mode: 0o755 });
  files.makeSymlink("/w/cur", "r1");
  for (const release of ["r1", "r2"]) state.write(`/w/${release}/x`, `theirs of ${release}`);
  const a = declare([{ id: "a", type: "file", path: "/w/r1/x", content: "ours" }], "a");
  const b = declare([{ id: "b", type: "file", path: "/w/cur/x", content: "ours" }], "b");
  await state.run("apply", [...a, ...b]);
  files.removeFile("/w/cur");
  files.makeSymlink("/w/cur", "r2");
  await state.run("apply", [], { scope: ["a"] });
  await state.run("apply", b, { scope: ["b"] });
  await state.run("apply", []);
  expect([state.read("/w/r1/x"), state.read("/w/r2/x")]).toEqual(["theirs of r1", "theirs of r2"]);
});
