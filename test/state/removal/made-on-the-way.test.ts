/** What a resource made on its way stays for the module that declares it by now; a plan tells the same as the apply. */
import { describe, expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { accountPrograms, prepareAccounts } from "../../support/machine/accounts.ts";
import { modelArchive, modelTar } from "../../support/machine/tar.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";

const archive: JsonObject = { type: "archive", path: "/work/tool", source: "/old.tar" };
const user: JsonObject = { id: "u", type: "user", name: "deploy" };
const authorizedKey: JsonObject = { type: "authorized_key", user: "deploy", key };

const dropIns = "/etc/systemd/system/x.service.d";
const dropIn: JsonObject = {
  type: "systemd_unit",
  name: "x.service",
  drop_in: "a.conf",
  content: "[Service]\nNice=5\n",
};

interface Row {
  /** What it is, for the name of the test. */
  name: string;
  /** What the module that goes declared, and made a thing on the way with. */
  made: JsonObject;
  /** What the module that stays declares. */
  stays: JsonObject;
  /** The thing. */
  path: string;
  /** What is as it was before, in both cases. */
  gone: string;
  /** What is applied before. */
  first?: JsonObject[];
}

const rows: Row[] = [
  {
    name: "a folder above a directory",
    made: { type: "directory", path: "/work/app/x", parents: true },
    stays: { type: "directory", path: "/work/app" },
    path: "/work/app",
    gone: "/work/app/x",
  },
  {
    name: "a folder above the one above a directory, with the one between that nobody declares",
    made: { type: "directory", path: "/work/app/x/y/z", parents: true },
    stays: { type: "directory", path: "/work/app/x", mode: "0700" },
    path: "/work/app",
    gone: "/work/app/x/y",
  },
  {
    name: "a folder that is the home of a user",
    made: { type: "directory", path: "/work/home" },
    stays: { type: "user", name: "deploy", home: "/work/home" },
    path: "/work/home",
    gone: "/work/home/none",
  },
  ...[
    { type: "line", path: "/work/f", line: "x", create: true },
    { type: "block", path: "/work/f", content: "x\n", create: true },
  ].map((made) => ({
    name: `a file for a ${made.type}`,
    made,
    stays: { type: "file", path: "/work/f", mode: "0600" },
    path: "/work/f",
    gone: "/work/none",
  })),
  {
    name: "the folder of an archive",
    made: archive,
    stays: { type: "directory", path: "/work/tool", mode: "0700" },
    path: "/work/tool",
    gone: "/work/tool/bin",
  },
  {
    name: "a folder in an archive",
    made: archive,
    stays: { type: "directory", path: "/work/tool/bin" },
    path: "/work/tool/bin",
    gone: "/work/tool/bin/tool",
  },
  {
    name: "a file in an archive",
    made: archive,
    stays: { type: "file", path: "/work/tool/bin/tool", mode: "0600" },
    path: "/work/tool/bin/tool",
    gone: "/work/tool/bin/other",
  },
  {
    name: "the folder of a drop-in",
    made: dropIn,
    stays: { type: "directory", path: dropIns },
    path: dropIns,
    gone: `${dropIns}/a.conf`,
  },
  {
    name: "the .ssh of a key",
    first: [user],
    made: authorizedKey,
    stays: { type: "directory", path: "/home/deploy/.ssh", owner: "deploy", mode: "0700" },
    path: "/home/deploy/.ssh",
    gone: "/home/deploy/.ssh/authorized_keys",
  },
  {
    name: "the file of a key",
    first: [user],
    made: authorizedKey,
    stays: { type: "file", path: "/home/deploy/.ssh/authorized_keys", mode: "0600" },
    path: "/home/deploy/.ssh/authorized_keys",
    gone: "/work/none",
  },
  {
    name: "the home of a user",
    made: { type: "user", name: "deploy", remove_home: true },
    stays: { type: "directory", path: "/home/deploy" },
    path: "/home/deploy",
    gone: "/work/none",
  },
  {
    name: "a file in the home of a user",
    made: { type: "user", name: "deploy", remove_home: true },
    stays: { type: "file", path: "/home/deploy/x", content: "1" },
    path: "/home/deploy/x",
    gone: "/work/none",
  },
];

/** A machine on which that is applied by a module of its own. */
async function machine(first: JsonObject[] = []): Promise<StateFixture> {
  const host: MemoryHost = new MemoryHost({
    programs: {
      ...accountPrograms(() => host),
      tar: (command) => modelTar(command, host.files),
      sync: () => ({}),
      systemctl: () => ({}),
      "/usr/bin/apt-get": () => ({}),
    },
  });
  prepareAccounts(host);
  for (const folder of [
    "/work",
    "/home",
    "/etc/systemd",
    "/etc/systemd/system",
    "/etc/apt",
    "/etc/apt/sources.list.d",
  ])
    host.files.makeDirectory(folder, { mode: 0o755 });
  const entries = ["bin/tool", "bin/other"].map((name) => ({ name, content: "1" }));
  host.files.writeFile("/old.tar", modelArchive([{ name: "bin/" }, ...entries]), {});
  const state = new StateFixture(host);
  await state.run("apply", declare(first, "first"), { scope: ["first"] });
  return state;
}

describe.each(rows)("$name", ({ made, stays, path, gone, first }) => {
  const a = declare([{ id: "a", ...made }], "a");
  const b = declare([{ id: "b", ...stays }], "b");

  test.each([
    ["an apply of its module", { scope: ["a"] }, []],
    ["an apply of everything", {}, [...declare(first ?? [], "first"), ...b]],
  ])("stays where %s takes away what made it", async (_name, scope, desired) => {
    const state = await machine(first);
    await state.run("apply", a, { scope: ["a"] });
    await state.run("apply", b, { scope: ["b"] });
    // What a file held may go.
    const before = { ...state.host.files.stat(path), sizeBytes: expect.any(Number) };
    const plan = await state.run("plan", desired, scope);
    const run = await state.run("apply", desired, scope);
    expect(plan.results.map(({ changes }) => changes)).toEqual(run.results.map(({ changes }) => changes));
    expect(run.status).toBe("succeeded");
    expect(state.host.files.stat(path)).toEqual(before);
    expect(state.host.files.stat(gone)).toBeNull();
    expect(outcomes(await state.run("apply", b, { scope: ["b"] }))).toEqual(["b unchanged"]);
  });

  test("goes where nobody declares it", async () => {
    const state = await machine(first);
    await state.run("apply", a);
    await state.run("apply", []);
    expect(state.host.files.stat(path)).toBeNull();
  });
});

describe("the group of a user who goes", () => {
  const groups = ({ host }: StateFixture): string =>
    Buffer.from(host.files.readFile("/etc/group")).toString();
  const a = declare([user], "a");
  const b = declare([{ id: "g", type: "group", name: "deploy" }], "b");

  test.each([
    ["is declared by another module", { scope: ["a"] }, []],
    ["is declared", {}, b],
  ])("stays with its number where it %s", async (_name, scope, desired) => {
    const state = await machine();
    await state.run("apply", declare([{ id: "x", type: "group", name: "x" }], "x"), { scope: ["x"] });
    await state.run("apply", a, { scope: ["a"] });
    await state.run("apply", b, { scope: ["b"] });
    await state.run("apply", [], { scope: ["x"] });
    const before = groups(state);
    const run = await state.run("apply", desired, scope);
    expect(outcomes(run)[0]).toBe("u changed");
    expect(groups(state)).toBe(before);
  });

  test("keeps its number where the group alone is declared from then on, as a plan says", async () => {
    const state = await machine();
    await state.run("apply", [...declare([{ id: "x", type: "group", name: "x" }], "a"), ...a]);
    const before = groups(state);
    const desired = declare([{ id: "g", type: "group", name: "deploy" }], "a");
    const plan = await state.run("plan", desired);
    const run = await state.run("apply", desired);
    expect(outcomes(plan)).toEqual(["u would_change", "x would_change", "g unchanged"]);
    expect(outcomes(run)).toEqual(["u changed", "x changed", "g unchanged"]);
    expect(before).toContain(
      groups(state)
        .split("\n")
        .find((line) => line.startsWith("deploy:")),
    );
  });
});

const repository: JsonObject = {
  type: "package_repository",
  name: "site",
  uris: ["https://e.org/1"],
  suites: ["stable"],
  components: ["main"],
  key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n-----END PGP PUBLIC KEY BLOCK-----",
};

test.each([
  ["a key", "/home/deploy/.ssh", { owner: "deploy", mode: "0700" }, authorizedKey],
  ["a drop-in", dropIns, {}, dropIn],
  ["a repository", "/etc/apt/keyrings", {}, repository],
  ["the home of a user", "/work/homes", {}, { type: "user", name: "web", home: "/work/homes/web" }],
])("a folder in which another module has %s goes when that is gone", async (_name, path, more, inside) => {
  const first = [user];
  const state = await machine(first);
  await state.run("apply", declare([{ id: "d", type: "directory", path, ...more }], "a"), { scope: ["a"] });
  const b = declare([{ id: "b", ...inside }], "b");
  await state.run("apply", b, { scope: ["b"] });
  await state.run("apply", [], { scope: ["a"] });
  expect(state.host.files.stat(path)).not.toBeNull();
  if (inside["type"] === "user") {
    // Its home stays, and is nobody's then.
    state.host.files.removeDirectory("/work/homes/web");
  }
  await state.run("apply", [], { scope: ["b"] });
  await state.run("apply", declare(first, "first"));
  expect(state.host.files.stat(path)).toBeNull();
});

test("of several folders on the way that another module declares each stays, and what nobody declares goes", async () => {
  const state = await machine([]);
  const made = { id: "d", type: "directory", path: "/work/a/b/c/d", parents: true };
  await state.run("apply", declare([made], "a"), { scope: ["a"] });
  const others = ["/work/a", "/work/a/b"].map((path) => ({
    id: path.length.toString(),
    type: "directory",
    path,
  }));
  await state.run("apply", declare(others, "b"), { scope: ["b"] });
  await state.run("apply", [], { scope: ["a"] });
  const isThere = (path: string): boolean => state.host.files.stat(path) !== null;
  expect(["/work/a", "/work/a/b", "/work/a/b/c"].map(isThere)).toEqual([true, true, false]);
});

test.each<[kind: string, definition: JsonObject]>([
  ["file", { type: "file", content: "x" }],
  ["link", { type: "symlink", target: "/etc" }],
])(
  "a folder on the way makes room for a %s that comes with the apply in which it goes",
  async (kind, definition) => {
    const state = await machine([]);
    const made = { id: "d", type: "directory", path: "/work/a/b", parents: true };
    await state.run("apply", declare([made]));
    const coming = declare([{ id: "c", path: "/work/a", ...definition }]);
    expect(outcomes(await state.run("plan", coming))).toEqual(["d would_change", "c would_change"]);
    expect(outcomes(await state.run("apply", coming))).toEqual(["d changed", "c changed"]);
    expect(state.host.files.stat("/work/a")?.kind).toBe(kind === "link" ? "symlink" : "file");
  },
);

test.each<[what: string, definition: JsonObject, isThere: (state: StateFixture) => boolean]>([
  ["its group", { type: "group", name: "deploy" }, (state) => /^deploy:/m.test(state.read("/etc/group"))],
  [
    "a file in its home",
    { type: "file", path: "/home/deploy/notes", content: "x" },
    ({ host: { files } }) => files.stat("/home/deploy") !== null && files.stat("/home/deploy/notes") !== null,
  ],
])("a user who goes leaves what the same apply lets go of: %s", async (_what, definition, isThere) => {
  for (const removal of ["keep", "restore"]) {
    const state = await machine([]);
    await state.run("apply", declare([user, { id: "r", ...definition, removal }]));
    expect(isThere(state)).toBe(true);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(isThere(state)).toBe(removal === "keep");
    expect(state.read("/etc/passwd")).not.toContain("deploy:");
  }
});
