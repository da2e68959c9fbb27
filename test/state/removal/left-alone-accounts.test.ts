/** What the definition of a user or a group leaves alone stays as somebody made it meanwhile, other modules included. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const { signal } = new AbortController();

type Command = [string, ...string[]];

function run({ host }: StateFixture, ...argv: Command): Promise<unknown> {
  return host.run({ argv }, signal);
}

/** A machine with a user and two groups that nobody declared. */
async function machine(): Promise<StateFixture> {
  const state = new StateFixture(memoryMachine());
  await run(state, "groupadd", "-g", "200", "docker");
  await run(state, "groupadd", "-g", "201", "team");
  await run(state, "useradd", "-u", "1500", "-M", "-c", "January", "deploy");
  return state;
}

/** The user's line without name and password, and his groups with their numbers and members. */
function accounts(state: StateFixture): JsonObject {
  const rowOf = (path: string, name: string): string | undefined =>
    state
      .read(path)
      .split("\n")
      .find((line) => line.startsWith(`${name}:`))
      ?.split(":")
      .slice(2)
      .join(":");
  return {
    deploy: rowOf("/etc/passwd", "deploy") ?? null,
    docker: rowOf("/etc/group", "docker") ?? null,
    team: rowOf("/etc/group", "team") ?? null,
  };
}

const before = { deploy: "1500:1000:January:/home/deploy:/bin/sh", docker: "200:", team: "201:" };
const user = (more: JsonObject, module = "m") =>
  declare([{ id: "u", type: "user", name: "deploy", ...more }], module);
const group = (more: JsonObject, module = "m") =>
  declare([{ id: "g", type: "group", name: "docker", ...more }], module);

test.each<[declared: JsonObject, meanwhile: string[], after: JsonObject]>([
  [
    { shell: "/bin/bash" },
    ["-u", "1600", "-c", "December", "-d", "/srv/deploy", "-G", "docker"],
    { deploy: "1600:1000:December:/srv/deploy:/bin/sh", docker: "200:deploy" },
  ],
  [{ uid: 2000 }, ["-s", "/bin/bash", "-g", "team"], { deploy: "1500:201:January:/home/deploy:/bin/bash" }],
  [
    { group: "team" },
    ["-u", "1600", "-c", "December"],
    { deploy: "1600:1000:December:/home/deploy:/bin/sh" },
  ],
  [
    { home: "/srv" },
    ["-c", "December", "-s", "/bin/bash"],
    { deploy: "1500:1000:December:/home/deploy:/bin/bash" },
  ],
  [
    { comment: "ours" },
    ["-d", "/srv", "-G", "team"],
    { deploy: "1500:1000:January:/srv:/bin/sh", team: "201:deploy" },
  ],
  [
    { groups: ["docker"] },
    ["-s", "/bin/bash", "-g", "team"],
    { deploy: "1500:201:January:/home/deploy:/bin/bash" },
  ],
])("a user with %j, of whom somebody changes %j meanwhile", async (declared, meanwhile, after) => {
  const state = await machine();
  expect(outcomes(await state.run("apply", user(declared)))).toEqual(["u changed"]);
  await run(state, "usermod", ...meanwhile, "deploy");
  expect(outcomes(await state.run("apply", user(declared)))).toEqual(["u unchanged"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(accounts(state)).toEqual({ ...before, ...after });
});

test.each([{ locked: true }, { password_hash: "*" }])(
  "a user with %j, whose last day somebody puts off meanwhile",
  async (declared) => {
    const state = await machine();
    const shadow = (field: string, day: string): string =>
      `root:*:20000:0:99999:7:::\ndeploy:${field}:20000:0:99999:7::${day}:\n`;
    state.write("/etc/shadow", shadow("$6$a$b", "20000"));
    expect(outcomes(await state.run("apply", user(declared)))).toEqual(["u changed"]);
    state.write("/etc/shadow", state.read("/etc/shadow").replace(":20000:\n", ":30000:\n"));
    expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
    expect(state.read("/etc/shadow")).toBe(shadow("$6$a$b", "30000"));
  },
);

test("a user's shell goes without the groups that another module puts the user into", async () => {
  const state = await machine();
  await state.run("apply", user({ shell: "/bin/bash" }, "a"), { scope: ["a"] });
  await state.run("apply", group({ members: ["deploy"] }, "b"), { scope: ["b"] });
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["u changed"]);
  expect(accounts(state)).toEqual({ ...before, docker: "200:deploy" });
});

test("what a later version declares too comes back as it stood right before that version", async () => {
  const state = await machine();
  await state.run("apply", user({ shell: "/bin/bash" }));
  await run(state, "usermod", "-c", "December", "-G", "team", "deploy");
  await state.run("apply", user({ shell: "/bin/dash", comment: "ours", groups: ["docker"] }));
  await state.run("apply", user({ shell: "/bin/dash" }));
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(accounts(state)).toEqual({
    deploy: "1500:1000:December:/home/deploy:/bin/sh",
    docker: "200:",
    team: "201:deploy",
  });
});

test("a user whom a later version took away comes back whole", async () => {
  const state = await machine();
  await state.run("apply", user({ shell: "/bin/bash" }));
  await run(state, "usermod", "-c", "December", "-G", "team", "deploy");
  await state.run("apply", user({ ensure: "absent" }));
  expect(accounts(state)).toMatchObject({ deploy: null, team: "201:" });
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(accounts(state)).toEqual({
    deploy: "1500:1000:December:/home/deploy:/bin/sh",
    docker: "200:",
    team: "201:deploy",
  });
});

test("a user whom somebody removed does not come back, and goes where the resource made the user anew", async () => {
  for (const makesAnew of [false, true]) {
    const state = await machine();
    await state.run("apply", user({ shell: "/bin/bash", groups: ["docker"] }));
    await run(state, "userdel", "deploy");
    if (makesAnew) await state.run("apply", user({ shell: "/bin/bash", groups: ["docker"] }));
    const [plan, applied] = [await state.run("plan", []), await state.run("apply", [])];
    expect([outcomes(plan), outcomes(applied)]).toEqual(
      makesAnew ? [["u would_change"], ["u changed"]] : [["u unchanged"], ["u unchanged"]],
    );
    expect(accounts(state)).toEqual({ deploy: null, docker: "200:", team: "201:" });
  }
});

test("a home that the first version was to take along stays where the last one says so", async () => {
  const state = new StateFixture(memoryMachine());
  const { files } = state.host;
  await state.run("apply", user({ remove_home: true }));
  await state.run("apply", user({ remove_home: false }));
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(files.stat("/home/deploy")?.kind).toBe("directory");
});

const movedHome = user({ home: "/work/theirs", remove_home: true });

test.each<[how: string, move: (state: StateFixture) => Promise<unknown>]>([
  ["a later version", (state) => state.run("apply", movedHome)],
  ["somebody", (state) => run(state, "usermod", "-d", "/work/theirs", "deploy")],
  [
    "a later version, after an earlier agent did not note which home it made",
    (state) => {
      delete state.applied[0]?.prior?.spec["made_home"];
      return state.run("apply", movedHome);
    },
  ],
  [
    "a later version, and that is a folder of the system now",
    async (state) => {
      await state.run("apply", movedHome);
      await run(state, "usermod", "-d", "/home", "deploy");
    },
  ],
])("a home that stood there and was given to a user of ours stays: by %s", async (_how, move) => {
  const state = new StateFixture(memoryMachine());
  const { files } = state.host;
  await state.run("apply", user({ remove_home: true }));
  files.makeDirectory("/work/theirs", {});
  state.write("/work/theirs/thesis", "years of work");
  await move(state);
  expect(outcomes(await state.run("plan", []))).toEqual(["u would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(accounts(state)["deploy"]).toBeNull();
  expect(state.read("/work/theirs/thesis")).toBe("years of work");
  expect(files.stat("/home/deploy")?.kind).toBe("directory");
});

test("a home goes that a later version made, after somebody took the user away", async () => {
  const state = new StateFixture(memoryMachine());
  const { files } = state.host;
  await state.run("apply", user({}));
  await run(state, "userdel", "deploy");
  await state.run("apply", user({ home: "/work/second", remove_home: true }));
  expect(files.stat("/work/second")?.kind).toBe("directory");
  await state.run("apply", []);
  expect([files.stat("/work/second"), files.stat("/home/deploy")?.kind]).toEqual([null, "directory"]);
});

test.each(["2932896", "2932897", "99999999999"])(
  "an account that ended on day %s ends then again",
  async (day) => {
    const state = await machine();
    const shadow = `root:*:20000:0:99999:7:::\ndeploy:!:20000:0:99999:7::${day}:\n`;
    state.write("/etc/shadow", shadow);
    expect(outcomes(await state.run("apply", user({ expires: "2031-01-01" })))).toEqual(["u changed"]);
    expect(state.read("/etc/shadow")).not.toBe(shadow);
    expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
    expect(state.read("/etc/shadow")).toBe(shadow);
  },
);

test.each<[declared: JsonObject, meanwhile: Command[], docker: string]>([
  [{ gid: 2000 }, [["gpasswd", "-M", "deploy,root", "docker"]], "200:deploy,root"],
  [{ members: ["deploy"] }, [["groupmod", "-g", "300", "docker"]], "300:"],
])("a group with %j, of which somebody changes %j meanwhile", async (declared, meanwhile, docker) => {
  const state = await machine();
  expect(outcomes(await state.run("apply", group(declared)))).toEqual(["g changed"]);
  for (const command of meanwhile) await run(state, ...command);
  expect(outcomes(await state.run("apply", group(declared)))).toEqual(["g unchanged"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["g changed"]);
  expect(accounts(state)).toEqual({ ...before, docker });
});

test("a group's number goes without the members that another module puts into the group", async () => {
  const state = await machine();
  await state.run("apply", group({ gid: 2000 }, "a"), { scope: ["a"] });
  await state.run("apply", user({ groups: ["docker"] }, "b"), { scope: ["b"] });
  expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["g changed"]);
  expect(accounts(state)).toEqual({ ...before, docker: "200:deploy" });
});

test.each<[JsonObject]>([
  [{ gid: 2000, members: ["root"], membership: "inclusive" }],
  [{ ensure: "absent" }],
])(
  "a group that a later version with %j takes more from comes back as it stood right before that version",
  async (later) => {
    const state = await machine();
    await state.run("apply", group({ gid: 2000 }));
    await run(state, "gpasswd", "-M", "deploy", "docker");
    expect(outcomes(await state.run("apply", group(later)))).toEqual(["g changed"]);
    expect(outcomes(await state.run("apply", []))).toEqual(["g changed"]);
    expect(accounts(state)).toEqual({ ...before, docker: "200:deploy" });
  },
);

test("a group that somebody removed does not come back, and goes where the resource made it anew", async () => {
  for (const makesAnew of [false, true]) {
    const state = await machine();
    await state.run("apply", group({ gid: 2000 }));
    await run(state, "groupdel", "docker");
    if (makesAnew) await state.run("apply", group({ gid: 2000 }));
    expect(outcomes(await state.run("apply", []))).toEqual([makesAnew ? "g changed" : "g unchanged"]);
    expect(accounts(state)).toMatchObject({ docker: null });
  }
});
