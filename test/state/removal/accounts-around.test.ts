/** What the account tables hold around what is declared: alike names, rows of /etc/gshadow, members who are nobody, accounts without a password or a home. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { groupSchema } from "../../../lib/state/resources/group.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const tables = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];

/** A machine with more rows in its tables. */
function machine(more: Readonly<Record<string, string>>): StateFixture {
  const state = new StateFixture(memoryMachine());
  for (const [path, rows] of Object.entries(more))
    state.write(path, (state.host.files.stat(path) ? state.read(path) : "") + rows);
  return state;
}

const look = (state: StateFixture): unknown =>
  tables.map((path) => (state.host.files.stat(path) ? state.read(path).split("\n").sort() : null));

async function apply(state: StateFixture, ...definitions: JsonObject[]): Promise<void> {
  const desired = declare(definitions.map((each, at) => ({ id: `r${at}`, ...each })));
  const { status, results } = await state.run("apply", desired);
  expect(status, JSON.stringify(results)).toBe("succeeded");
}

const member = "root";

test.each<[string, Record<string, string>, JsonObject[]]>([
  [
    "a group whose name begins as another's",
    { "/etc/group": "web:x:70:\nweb2:x:71:a,b\n", "/etc/gshadow": "web:!::\nweb2:pw:a:b\n" },
    [{ type: "group", name: "web", members: [member] }],
  ],
  [
    "a group that goes, whose name begins as another's",
    {
      "/etc/group": "web:pw:70:root\nweb2:x:71:root\n",
      "/etc/gshadow": "web:$1$a::root\nweb2:$1$b:root:root\n",
    },
    [{ type: "group", name: "web", ensure: "absent" }],
  ],
  [
    "a group that got its members before it went, without a row of the shadow",
    { "/etc/group": "web:x:70:\n", "/etc/gshadow": "other:!::\n" },
    [
      { type: "group", name: "web", members: [member] },
      { type: "group", name: "web", ensure: "absent" },
    ],
  ],
  [
    "a user without a password, who is locked",
    { "/etc/passwd": "web:x:70:100::/work:/bin/sh\n", "/etc/shadow": "web::19000:0:99999:7:::\n" },
    [{ type: "user", name: "web", locked: true }],
  ],
  [
    "a user who never had a password, and is locked",
    { "/etc/passwd": "web:x:70:100::/work:/bin/sh\n", "/etc/shadow": "web:*:19000:0:99999:7:::\n" },
    [{ type: "user", name: "web", locked: true }],
  ],
  [
    "a user who joined a second group before we said it",
    {
      "/etc/passwd": "web:x:70:100::/work:/bin/sh\n",
      "/etc/shadow": "web:*:19000:0:99999:7:::\n",
      "/etc/group": "one:x:80:\ntwo:x:81:web\nthree:x:82:\n",
    },
    [
      { type: "user", name: "web", groups: ["one"] },
      { type: "user", name: "web", groups: ["one", "two", "three"] },
    ],
  ],
  [
    "a user of another primary group, who is in others before it",
    {
      "/etc/passwd": "web:x:70:100::/work:/bin/sh\n",
      "/etc/shadow": "web:*:19000:0:99999:7:::\n",
      "/etc/group": "aside:x:80:root,web,staff\nbeside:x:81:web\n",
    },
    [{ type: "user", name: "web", group: "beside" }],
  ],
  [
    "a user who goes, with a home that is not there and a group that others are in",
    {
      "/etc/passwd": "web:x:70:100::/work/nowhere:/bin/sh\n",
      "/etc/shadow": "web:*:19000:0:99999:7:::\n",
    },
    [{ type: "user", name: "web", ensure: "absent" }],
  ],
])("%s: the tables are as they were when it is let go", async (_name, rows, versions) => {
  const state = machine(rows);
  const before = look(state);
  for (const version of versions) await apply(state, version);
  await apply(state);
  expect(look(state)).toEqual(before);
  expect(state.host.files.list("/work")).toEqual([]);
});

test.each(["", "x", "!", "*"])(
  "a row of /etc/gshadow with the password %j goes with the members it was made for, one that others use stays",
  async (password) => {
    for (const [admins, stays] of [
      ["", false],
      ["root", true],
    ] as const) {
      const state = machine({ "/etc/group": "web:x:70:\n", "/etc/gshadow": "other:!::\n" });
      await apply(state, { type: "group", name: "web", members: [member] });
      state.write("/etc/gshadow", `other:!::\nweb:${password}:${admins}:root\n`);
      await apply(state);
      expect(state.read("/etc/gshadow")).toBe(`other:!::\n${stays ? `web:${password}:root:\n` : ""}`);
      expect((await state.run("plan", [])).results).toEqual([]);
    }
  },
);

test("a row of /etc/gshadow that others emptied meanwhile is no change", async () => {
  const state = machine({ "/etc/group": "web:x:70:\n", "/etc/gshadow": "other:!::\n" });
  await apply(state, { type: "group", name: "web", members: [member] });
  state.write("/etc/group", state.read("/etc/group").replace("web:x:70:root", "web:x:70:"));
  state.write("/etc/gshadow", "other:!::\nweb:$1$set::\n");
  expect((await state.run("plan", [])).results[0]?.changes).toEqual([]);
});

test("members that others put into a row of theirs meanwhile are a change by themselves", async () => {
  const state = machine({ "/etc/group": "web:x:70:\n", "/etc/gshadow": "other:!::\n" });
  await apply(state, { type: "group", name: "web", members: [member] });
  state.write("/etc/group", state.read("/etc/group").replace("web:x:70:root", "web:x:70:"));
  state.write("/etc/gshadow", "other:!::\nweb:$1$set::root\n");
  await apply(state);
  expect(state.read("/etc/gshadow")).toBe("other:!::\nweb:$1$set::\n");
});

test("a group that comes back has no row of the shadow where it had none before its members", async () => {
  const state = machine({ "/etc/group": "web:x:70:\n", "/etc/gshadow": "other:!::\n" });
  const before = look(state);
  await apply(state, { type: "group", name: "web", members: [member] });
  // As gpasswd(1) makes one.
  state.write("/etc/gshadow", "other:!::\nweb:!::root\n");
  await apply(state, { type: "group", name: "web", ensure: "absent" });
  state.write("/etc/gshadow", "other:!::\n");
  // And as groupadd(8) does.
  const run = state.host.run.bind(state.host);
  state.host.run = async (command, signal) => {
    if (command.argv[0] === "groupadd") state.write("/etc/gshadow", "other:!::\nweb:!::\n");
    return run(command, signal);
  };
  await apply(state);
  expect(look(state)).toEqual(before);
});

test("a primary group that is gone is made again with the user where he stood in it, and in no other", async () => {
  const state = machine({
    "/etc/passwd": "web:x:70:82::/work:/bin/sh\n",
    "/etc/shadow": "web:*:19000:0:99999:7:::\n",
    "/etc/group": "aside:x:80:root,web\nbeside:x:81:\nold:x:82:web\n",
  });
  const before = look(state);
  await apply(state, { type: "user", name: "web", group: "beside" });
  state.write("/etc/group", state.read("/etc/group").replace("old:x:82:web\n", ""));
  await apply(state);
  expect(look(state)).toEqual(before);
});

test("a home that somebody gave the user meanwhile is not the one that was made for him", async () => {
  const state = machine({});
  await apply(state, { type: "user", name: "web", remove_home: true });
  state.host.files.makeDirectory("/work/theirs", { mode: 0o755 });
  await state.host.run({ argv: ["usermod", "-d", "/work/theirs", "web"] }, new AbortController().signal);
  await apply(state, { type: "user", name: "web", remove_home: true, shell: "/bin/bash" });
  await apply(state);
  expect(state.read("/etc/passwd")).not.toContain("web:");
  expect(state.host.files.stat("/work/theirs")).not.toBeNull();
});

test("a user of the system has a number of the system's, and no home", async () => {
  const state = machine({});
  await apply(state, { type: "user", name: "web", system: true });
  const [, , uid] = state
    .read("/etc/passwd")
    .split("\n")
    .find((row) => row.startsWith("web:"))!
    .split(":");
  expect([Number(uid) < 1000, state.host.files.list("/home")]).toEqual([true, []]);
});

test.each([
  ["present", ["web"]],
  ["absent", []],
])("a purge of homes beside a user who is %s leaves %j", async (ensure, left) => {
  const state = machine({ "/etc/passwd": "web:x:70:100::/work/homes/web:/bin/sh\n" });
  state.write("/etc/shadow", "web:*:19000:0:99999:7:::\n");
  for (const path of ["/work/homes", "/work/homes/web"])
    state.host.files.makeDirectory(path, { mode: 0o755 });
  await apply(
    state,
    { type: "user", name: "web", ensure },
    { type: "directory", path: "/work/homes", purge: true },
  );
  expect(state.host.files.list("/work/homes")).toEqual(left);
});

test("a member who is nobody by now, and stands in the row again, stays there", async () => {
  const state = machine({ "/etc/passwd": "web:x:70:100::/:/bin/sh\n", "/etc/group": "team:x:80:root,web\n" });
  await apply(state, { type: "group", name: "team", members: ["root"], membership: "inclusive" });
  state.write("/etc/passwd", state.read("/etc/passwd").replace(/^web:.*\n/m, ""));
  state.write("/etc/group", state.read("/etc/group").replace("team:x:80:root", "team:x:80:root,web"));
  await apply(state);
  expect(state.read("/etc/group")).toContain("team:x:80:root,web\n");
});

test("the group of a user's name that somebody made meanwhile stays when the user goes", async () => {
  const state = machine({});
  await apply(state, { type: "user", name: "web", group: "users", create_home: false });
  await state.host.run({ argv: ["groupadd", "-g", "170", "web"] }, new AbortController().signal);
  await apply(state);
  expect(state.read("/etc/passwd")).not.toContain("web:");
  expect(state.read("/etc/group")).toContain("web:x:170:\n");
});

test.each<[JsonObject, JsonObject[]]>([
  [{ expires: "never" }, []],
  [{ expires: "2030-01-31" }, [{ property: "expires", before: null, after: "2030-01-31" }]],
  [{ locked: false }, []],
  [{ locked: true }, [{ property: "locked", before: null, after: true }]],
  [
    { locked: true, password_hash: "$6$a$b" },
    [
      { property: "password_hash", before: null, after: "(sensitive)", sensitive: true },
      { property: "locked", before: null, after: true },
    ],
  ],
])("a new user with %j is told with what differs from one of whom nothing is said", async (more, changes) => {
  const state = machine({});
  const desired = declare([{ id: "u", type: "user", name: "web", create_home: false, ...more }]);
  const ensure = { property: "ensure", before: "absent", after: "present" };
  for (const mode of ["plan", "apply"] as const)
    expect((await state.run(mode, desired)).results[0]?.changes).toEqual([ensure, ...changes]);
});

test("members of a group may take together what one argument holds, and no byte more", () => {
  const names = (bytes: number): string[] => {
    const full = Array.from(
      { length: Math.floor(bytes / 33) },
      (_, at) => `u${String(at).padStart(31, "0")}`,
    );
    const rest = bytes - full.join().length - 1;
    return rest > 0 ? [...full, "r".repeat(rest)] : full;
  };
  const isTaken = (bytes: number): boolean => {
    const members = names(bytes);
    expect(members.join().length).toBe(bytes);
    return groupSchema.safeParse({ name: "web", members }).success;
  };
  expect([131_070, 131_071, 131_072].map(isTaken)).toEqual([true, true, false]);
});
