/** A purge leaves what accounts have: their homes with all that is in them, and the keys that sign in. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { memoryMachine } from "../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const thesis = "thesis";

function machine(...folders: string[]): StateFixture {
  const state = new StateFixture(memoryMachine());
  for (const path of folders) state.host.files.makeDirectory(path, { mode: 0o755 });
  return state;
}

const user = (more: JsonObject = {}): JsonObject => ({ id: "u", type: "user", name: "deploy", ...more });
const purged = (path: string, more: JsonObject = {}): JsonObject => ({
  id: "d",
  type: "directory",
  path,
  purge: true,
  ...more,
});

/** Where the home stands, what declares it, and the folder that is purged. */
const homes: [
  string,
  { home: string; top: string; declared: JsonObject; prepare?: (state: StateFixture) => void },
][] = [
  [
    "that is declared",
    { home: "/work/homes/deploy", top: "/work/homes", declared: { home: "/work/homes/deploy" } },
  ],
  [
    "to which a link leads",
    {
      home: "/work/homes/deploy",
      top: "/work/homes",
      declared: { home: "/work/link" },
      prepare: ({ host }) => host.files.makeSymlink("/work/link", "/work/homes/deploy"),
    },
  ],
  [
    "of its user to which a link of root's leads",
    {
      home: "/work/homes/deploy",
      top: "/work/homes",
      declared: { home: "/work/link" },
      prepare({ host: { files } }) {
        files.makeSymlink("/work/link", "/work/homes/deploy");
        void files.setAttributes("/work/homes/deploy", { uid: 1000, gid: 1000 });
      },
    },
  ],
  [
    "that is spelled through a link",
    {
      home: "/work/homes/deploy",
      top: "/work/homes",
      declared: { home: "/work/link/deploy" },
      prepare: ({ host }) => host.files.makeSymlink("/work/link", "/work/homes"),
    },
  ],
];

describe.each(homes)("a home %s", (_name, { home, top, declared, prepare }) => {
  test.each([
    ["before the user is made", (u: JsonObject, d: JsonObject) => [d, u]],
    ["after the user is made", (u: JsonObject, d: JsonObject) => [u, d]],
  ])("stays with all that is in it where the folder above is purged %s", async (_order, inOrder) => {
    const state = machine("/work/homes", home);
    prepare?.(state);
    state.write(`${home}/${thesis}`, "years of work");
    state.write(`${top}/stray`, "x");
    const desired = declare(inOrder(user(declared), purged(top)));
    const plan = await state.run("plan", desired);
    const run = await state.run("apply", desired);
    for (const { results } of [plan, run])
      expect(results.find(({ resource_id }) => resource_id === "d")?.changes).toEqual([
        { property: "purge", before: ["stray"], after: [] },
      ]);
    expect(state.read(`${home}/${thesis}`)).toBe("years of work");
    expect(outcomes(await state.run("apply", desired))).not.toContain("d changed");
  });

  test("stays where another module purges the folder above", async () => {
    const state = machine("/work/homes", home);
    prepare?.(state);
    await state.run("apply", declare([user(declared)], "b"), { scope: ["b"] });
    state.write(`${home}/${thesis}`, "years of work");
    await state.run("apply", declare([purged(top)], "a"), { scope: ["a"] });
    expect(state.read(`${home}/${thesis}`)).toBe("years of work");
  });
});

test("a home of a user whom somebody took away by hand stays, as long as a module declares the user", async () => {
  const state = machine("/work/homes");
  await state.run("apply", declare([user({ home: "/work/homes/deploy" })], "b"), { scope: ["b"] });
  state.write("/work/homes/deploy/thesis", "years of work");
  await state.host.run({ argv: ["userdel", "deploy"] }, new AbortController().signal);
  await state.run("apply", declare([purged("/work/homes")], "a"), { scope: ["a"] });
  expect(state.read("/work/homes/deploy/thesis")).toBe("years of work");
});

test("the home that a new user will get by the settings of the machine stays before the user is made", async () => {
  const state = machine("/work/homes", "/work/homes/deploy", "/etc/default");
  state.write("/etc/default/useradd", "GROUP=100\nHOME=/work/homes\n");
  state.write("/work/homes/deploy/thesis", "years of work");
  await state.run("apply", declare([purged("/work/homes"), user()]));
  expect(state.read("/work/homes/deploy/thesis")).toBe("years of work");
});

test.each([
  ["is absent", { ensure: "absent" }, {}],
  ["is skipped", {}, { skip: "condition" as const }],
])("the home of a user who %s goes", async (_name, more, resolved) => {
  const state = machine("/work/homes", "/work/homes/deploy");
  state.write("/work/homes/deploy/thesis", "x");
  const [account, folder] = declare([user({ home: "/work/homes/deploy", ...more }), purged("/work/homes")]);
  await state.run("apply", [{ ...account!, ...resolved }, folder!]);
  expect(state.host.files.list("/work/homes")).toEqual([]);
});

test.each([
  ["root's", 0, []],
  ["his own", 1000, [".ssh"]],
])(
  "a home that a user leads to a folder that is %s keeps what is his there from a purge",
  async (_whose, uid, left) => {
    const state = machine("/work/homes", "/work/conf.d", "/work/conf.d/.ssh");
    await state.host.files.setAttributes("/work/homes", { uid: 1000, gid: 1000 });
    await state.host.files.setAttributes("/work/conf.d", { uid });
    state.host.files.makeSymlink("/work/homes/deploy", "/work/conf.d", { uid: 1000, gid: 1000 });
    for (const name of [".ssh/authorized_keys", "stray"]) state.write(`/work/conf.d/${name}`, "x");
    const account = { ...user({ home: "/work/homes/deploy" }), on_failure: "continue" };
    const keyOfHis = { id: "k", type: "authorized_key", user: "deploy", key };
    await state.run("apply", declare([purged("/work/conf.d"), account, keyOfHis]));
    expect(state.host.files.list("/work/conf.d")).toEqual(left);
  },
);

describe("a key that signs in", () => {
  const declaredKey: JsonObject = { id: "k", type: "authorized_key", user: "deploy", key };
  const path = "/home/deploy/.ssh/authorized_keys";

  test("stays where another module purges the .ssh, and all else there goes", async () => {
    const state = machine();
    await state.run("apply", declare([user(), declaredKey], "m"), { scope: ["m"] });
    state.write("/home/deploy/.ssh/stray", "x");
    const desired = declare([purged("/home/deploy/.ssh", { mode: "0700", owner: "deploy" })], "b");
    await state.run("apply", desired, { scope: ["b"] });
    expect(state.read(path)).toBe(`${key}\n`);
    expect(state.host.files.list("/home/deploy/.ssh")).toEqual(["authorized_keys"]);
  });

  test.each([
    ["a purge of the .ssh", purged("/home/deploy/.ssh", { mode: "0700", owner: "deploy" })],
    ["a purge of the home", purged("/home/deploy")],
    [
      "modes for all in the home",
      { id: "d", type: "directory", path: "/home/deploy", recurse: true, mode: "0755", file_mode: "0644" },
    ],
  ])("comes to rest beside %s", async (_name, folder) => {
    const state = machine();
    const desired = declare([user(), folder, declaredKey]);
    await state.run("apply", desired);
    const again = await state.run("apply", desired);
    expect(outcomes(again)).toEqual(["u unchanged", "d unchanged", "k unchanged"]);
    expect(state.read(path)).toBe(`${key}\n`);
  });
});
