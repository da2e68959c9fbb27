import { describe, expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { describeLaws } from "../../support/laws.ts";
import { memoryMachine, observeAccounts } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const { signal } = new AbortController();
const hosts = { "in memory": memoryMachine };
const observe = observeAccounts;

describeLaws(
  {
    "a new group with a number and members": {
      definition: { type: "group", name: "deploy", gid: 2000, members: ["root"] },
      breakIt: async (host) => void (await host.run({ argv: ["groupmod", "-g", "2001", "deploy"] }, signal)),
      observe,
    },
    "a group that has other members": {
      definition: { type: "group", name: "users", members: [], membership: "inclusive" },
      prepare: async (host) => void (await host.run({ argv: ["gpasswd", "-M", "root", "users"] }, signal)),
      breakIt: async (host) => void (await host.run({ argv: ["gpasswd", "-M", "root", "users"] }, signal)),
      observe,
    },
    "a group that is not wanted": {
      definition: { type: "group", name: "staff", ensure: "absent" },
      breakIt: async (host) => void (await host.run({ argv: ["groupadd", "staff"] }, signal)),
      observe,
    },
  },
  hosts,
);

const group = (more: object) => declare([{ id: "g", type: "group", name: "users", ...more }]);

describe("members", () => {
  test("that are declared join those there are", async () => {
    const state = new StateFixture(memoryMachine());
    await state.host.run({ argv: ["useradd", "alice"] }, signal);
    await state.run("apply", group({ members: ["root"] }));
    const run = await state.run("apply", group({ members: ["alice"] }));
    expect(run.results[0]?.changes).toEqual([
      { property: "members", before: ["root"], after: ["alice", "root"] },
    ]);
    expect(state.read("/etc/group")).toContain("users:x:100:alice,root\n");
  });

  test("that do not exist are a failure that names them, of a plan and of an apply, and nothing is made", async () => {
    const state = new StateFixture(memoryMachine());
    const before = state.read("/etc/group");
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(
        mode,
        declare([{ type: "group", name: "new", members: ["root", "none-such"] }]),
      );
      expect(results[0], mode).toMatchObject({
        outcome: "failed",
        code: "HOST_ERROR",
        message: 'There is no user "none-such", who is to be a member.',
      });
    }
    expect(state.read("/etc/group")).toBe(before);
  });

  test("come back in the order in which they stood", async () => {
    const state = new StateFixture(memoryMachine());
    for (const name of ["zoe", "amy"]) await state.host.run({ argv: ["useradd", name] }, signal);
    await state.host.run({ argv: ["gpasswd", "-M", "zoe,root,amy", "users"] }, signal);
    const before = state.read("/etc/group");
    await state.run("apply", group({ members: ["amy"], membership: "inclusive" }));
    expect(state.read("/etc/group")).not.toBe(before);
    await state.run("apply", []);
    expect(state.read("/etc/group")).toBe(before);
  });

  test("made by a user of the same run are a change in its plan", async () => {
    const desired = declare([
      { id: "u", type: "user", name: "alice" },
      { id: "g", type: "group", name: "users", members: ["alice"] },
    ]);
    const state = new StateFixture(memoryMachine());
    expect(outcomes(await state.run("plan", desired))).toEqual(["u would_change", "g would_change"]);
    expect(outcomes(await state.run("apply", desired))).toEqual(["u changed", "g changed"]);
  });
});

test.each<[string, object, string[]]>([
  ["a new group", { name: "new" }, ["groupadd new"]],
  ["one of the system", { name: "new", system: true }, ["groupadd -r new"]],
  ["one of the system with a number", { name: "new", system: true, gid: 300 }, ["groupadd -r -g 300 new"]],
  ["one that is there", { system: true, gid: 2000 }, ["groupmod -g 2000 users"]],
  [
    "number and members",
    { gid: 2000, members: ["root"] },
    ["groupmod -g 2000 users", "gpasswd -M root users"],
  ],
  [
    "a member who is named twice",
    { members: ["root", "root"], membership: "inclusive" },
    ["gpasswd -M root users"],
  ],
  ["one that is not wanted", { ensure: "absent" }, ["groupdel users"]],
])("%s is made so by the programs of the machine", async (_what, more, commands) => {
  const host = memoryMachine();
  const ran: string[] = [];
  const run = host.run.bind(host);
  host.run = (command, stop) => (ran.push(command.argv.join(" ")), run(command, stop));
  expect(outcomes(await new StateFixture(host).run("apply", group(more)))).toEqual(["g changed"]);
  expect(ran).toEqual(commands);
});

test("a group that is not wanted comes back with its password, also where a version before that gave it members", async () => {
  const state = new StateFixture(memoryMachine());
  state.write("/etc/group", state.read("/etc/group").replace("staff:x:50:", "staff:$6$salt$hash:50:root"));
  const staff = (more: object) => declare([{ id: "g", type: "group", name: "staff", ...more }]);
  for (const first of [{ gid: 50 }, { members: [], membership: "inclusive" }]) {
    const before = state.read("/etc/group").split("\n").sort();
    await state.run("apply", staff(first));
    expect(outcomes(await state.run("apply", staff({ ensure: "absent" })))).toEqual(["g changed"]);
    expect(state.read("/etc/group")).not.toContain("staff");
    await state.run("apply", []);
    expect(state.read("/etc/group").split("\n").sort()).toEqual(before);
  }
});

test("a group that is somebody's primary group is not removed", async () => {
  const state = new StateFixture(memoryMachine());
  const message = "The group root is the primary group of root.";
  for (const mode of ["plan", "apply"] as const) {
    const run = await state.run(mode, declare([{ type: "group", name: "root", ensure: "absent" }]));
    expect(run.results[0], mode).toMatchObject({ outcome: "failed", code: "HOST_ERROR", message });
  }
});

test.each([
  [0, "root"],
  [50, "staff"],
])("the number %i, which another group has, is refused by a plan and by an apply", async (gid, owner) => {
  for (const before of [[], ["groupadd", "-g", "2000", "new"]]) {
    const state = new StateFixture(memoryMachine());
    const [program, ...rest] = before;
    if (program !== undefined) await state.host.run({ argv: [program, ...rest] }, signal);
    const groups = state.read("/etc/group");
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, declare([{ type: "group", name: "new", gid }]));
      expect(results[0], mode).toMatchObject({
        outcome: "failed",
        message: `The number ${gid} belongs to the group ${owner}.`,
      });
    }
    expect(state.read("/etc/group")).toBe(groups);
  }
});

test("a number that another group has is refused by a plan and by an apply, unless that group gives it up first", async () => {
  const state = new StateFixture(memoryMachine());
  const taken = { id: "g", type: "group", name: "new", gid: 50 };
  for (const mode of ["plan", "apply"] as const) {
    const { results } = await state.run(mode, declare([taken]));
    expect(results[0], mode).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
      message: "The number 50 belongs to the group staff.",
    });
  }
  const giving = declare([{ id: "s", type: "group", name: "staff", gid: 51 }, taken]);
  expect(outcomes(await state.run("plan", giving))).toEqual(["s would_change", "g would_change"]);
  expect(outcomes(await state.run("apply", giving))).toEqual(["s changed", "g changed"]);
});

test("another system than Linux is refused", async () => {
  const state = new StateFixture(new MemoryHost({ platform: "darwin" }));
  expect((await state.run("plan", group({}))).results[0]).toMatchObject({
    outcome: "failed",
    message: "A group can be managed on Linux only, not on darwin.",
  });
});

test.each(["-g", "", "a:b", "a\nb", "12", "a,b"])("%j is no name", (name) => {
  expect(() => declare([{ type: "group", name }])).toThrow();
  expect(() => declare([{ type: "group", name: "g", members: [name] }])).toThrow();
});

test("members that are too long together for one argument are a fault", () => {
  const members = Array.from({ length: 10_000 }, (_, index) => `member-${String(index).padStart(8, "0")}`);
  expect(() => declare([{ type: "group", name: "g", members }])).toThrow("too long together");
  expect(() => declare([{ type: "group", name: "g", members: members.slice(0, 8000) }])).not.toThrow();
  // With the byte that ends it, one argument of a program takes 131,072.
  const upTo = (length: number): string[] => {
    const most = members.slice(0, Math.floor((length + 1) / 16) - 1);
    return [...most, "m".repeat(length - most.join().length - 1)];
  };
  for (const length of [131_070, 131_071]) {
    expect(upTo(length).join()).toHaveLength(length);
    expect(() => declare([{ type: "group", name: "g", members: upTo(length) }])).not.toThrow();
  }
  expect(() => declare([{ type: "group", name: "g", members: upTo(131_072) }])).toThrow("too long together");
});

test.each(["staff2", "staffs", "staff-web", "my-staff", "staf"])(
  "the rows of %s stay as they are where staff goes and comes back",
  async (other) => {
    const state = new StateFixture(memoryMachine());
    const row = `${other}:$6$salt$theirs:3000:root\n`;
    state.write(
      "/etc/group",
      `${row}${state.read("/etc/group").replace("staff:x:50:", "staff:$6$a$b:50:root")}`,
    );
    const rows = (): string[] => state.read("/etc/group").split("\n").sort();
    const before = rows();
    for (const more of [{ ensure: "absent" }, { members: [], membership: "inclusive" }]) {
      await state.run("apply", declare([{ id: "g", type: "group", name: "staff", ...more }]));
      expect(state.read("/etc/group")).toContain(row);
      expect((await state.run("apply", [])).status).toBe("succeeded");
      expect(rows()).toEqual(before);
    }
  },
);
