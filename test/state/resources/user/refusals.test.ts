/** What a user keeps where a program fails or somebody else could lead it, and what comes back of a password and a group. */
import { expect, test } from "vitest";
import type { Host } from "../../../../lib/host/host.ts";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
const run = async (host: Host, argv: [string, ...string[]], stdin?: string): Promise<void> => {
  await host.run({ argv, ...(stdin !== undefined && { stdin }) }, signal);
};
const user = (more: object = {}) => declare([{ id: "u", type: "user", name: "deploy", ...more }]);
const [hash, otherHash] = ["$6$salt$correct/horse.battery", "$6$salt$staple"];

test("a password that its program quotes when it fails is in no result", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "deploy"]);
  const call = state.host.run.bind(state.host);
  state.host.run = async (command, given) => {
    const result = await call(command, given);
    if (command.argv[0] !== "chpasswd") return result;
    return { ...result, exitCode: 1, stderr: `chpasswd: line 1: ${command.stdin}` };
  };
  const { results } = await state.run("apply", user({ password_hash: hash }));
  expect(results[0]).toMatchObject({ code: "COMMAND_FAILED", message: "chpasswd exited with 1." });
  expect(JSON.stringify(results)).not.toContain("horse");
});

test("a home below a folder of somebody else is not removed, nor is its user", async () => {
  const state = new StateFixture(memoryMachine());
  state.host.files.makeDirectory("/srv", { mode: 0o755 });
  state.host.files.makeDirectory("/srv/web", { mode: 0o755, uid: 33 });
  state.host.files.makeDirectory("/srv/web/deploy", { mode: 0o755 });
  await run(state.host, ["useradd", "-M", "-d", "/srv/web/deploy", "deploy"]);
  const { results } = await state.run("apply", user({ ensure: "absent", remove_home: true }));
  expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(results[0]?.message).toContain("is neither made nor removed there");
  expect(state.read("/etc/passwd")).toContain("deploy");
  expect(state.host.files.stat("/srv/web/deploy")).not.toBeNull();
});

test.each([
  ["made", [], { home: "/srv/web/deploy" }],
  ["removed", ["useradd", "-M", "-d", "/srv/web/deploy", "deploy"], { ensure: "absent", remove_home: true }],
])("a plan says that a home below a folder of somebody else is not %s", async (_how, before, more) => {
  const state = new StateFixture(memoryMachine());
  state.host.files.makeDirectory("/srv", { mode: 0o755 });
  state.host.files.makeDirectory("/srv/web", { mode: 0o755, uid: 33 });
  const [program, ...rest] = before;
  if (program !== undefined) {
    state.host.files.makeDirectory("/srv/web/deploy", { mode: 0o755 });
    await run(state.host, [program, ...rest]);
  }
  const [plan, applied] = [await state.run("plan", user(more)), await state.run("apply", user(more))];
  expect(plan.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(plan.results[0]?.message).toBe(applied.results[0]?.message);
});

test("a password that was locked is locked again, also where a later version gave another one", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "deploy"]);
  await run(state.host, ["chpasswd", "-e"], `deploy:!${otherHash}`);
  await state.run("apply", user({ locked: false }));
  await state.run("apply", user({ locked: false, password_hash: hash }));
  expect(state.read("/etc/shadow")).toContain(`deploy:${hash}:`);
  await state.run("apply", []);
  expect(state.read("/etc/shadow")).toContain(`deploy:!${otherHash}:`);
});

test("a home whose path begins that of another user is removed", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "-m", "deploy"]);
  await run(state.host, ["useradd", "-d", "/home/deploy2", "deploy2"]);
  const { results } = await state.run("apply", user({ ensure: "absent", remove_home: true }));
  expect(results[0]).toMatchObject({ outcome: "changed" });
});

test("a user who comes back is again where he was among the administrators of a group", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "-M", "-G", "staff", "deploy"]);
  const row = "staff:!:ann,deploy,bob:deploy\n";
  state.write("/etc/gshadow", row);
  await state.run("apply", user({ ensure: "absent" }));
  // As userdel leaves it.
  state.write("/etc/gshadow", "staff:!:ann,bob:\n");
  await state.run("apply", []);
  expect(state.read("/etc/gshadow")).toBe(row);
});

test.each([
  ["both", "staff:x:50:ann,deploy,bob", "staff:!::deploy,ann,bob"],
  ["/etc/group alone", "staff:x:50:ann,deploy,bob", "staff:!::ann,bob"],
  ["/etc/gshadow alone", "staff:x:50:ann,bob", "staff:!::ann,bob,deploy"],
])(
  "a user who comes back is again where he was among the members of a group: in %s",
  async (_, group, shadow) => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "-M", "deploy"]);
    const rows = new Map([
      ["/etc/group", group],
      ["/etc/gshadow", shadow],
    ]);
    const others = state
      .read("/etc/group")!
      .split("\n")
      .filter((line) => !/^(staff:|$)/.test(line));
    const textOf = (path: string, row: string): string =>
      path === "/etc/group" ? [...others, row, ""].join("\n") : `${row}\n`;
    for (const [path, row] of rows) state.write(path, textOf(path, row));
    await state.run("apply", user({ ensure: "absent" }));
    await state.run("apply", []);
    for (const [path, row] of rows) expect(state.read(path), path).toContain(`${row}\n`);
  },
);

test("a user who comes back gets his subordinate numbers, from the first to the last", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "-M", "deploy"]);
  state.write("/etc/subuid", "deploy:100000:65536\n");
  state.write("/etc/subgid", "deploy:200000:10\n");
  await state.run("apply", user({ ensure: "absent" }));
  // As userdel leaves them.
  for (const path of ["/etc/subuid", "/etc/subgid"]) state.write(path, "");
  const seen: string[] = [];
  const call = state.host.run.bind(state.host);
  state.host.run = (command, given) => (seen.push(command.argv.join(" ")), call(command, given));
  await state.run("apply", []);
  expect(seen).toContain("usermod -v 100000-165535 -w 200000-200009 deploy");
});

test.each([
  ["/etc/passwd", { shell: "/bin/false" }],
  ["/etc/passwd", { ensure: "absent" }],
  ["/etc/shadow", { password_hash: "*" }],
  ["/etc/shadow", { ensure: "absent" }],
])(
  "a user with two lines in %s is refused with their places before anything is changed",
  async (path, more) => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "deploy"]);
    const table = state.read(path);
    const line = table.split("\n").find((each) => each.startsWith("deploy:"));
    state.write(path, `${table}${line}\n`);
    const [first, last] = [table.split("\n").indexOf(line ?? "") + 1, table.split("\n").length];
    const [plan, applied] = [await state.run("plan", user(more)), await state.run("apply", user(more))];
    expect(plan.results[0]).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
      message: `${path} has more than one line about "deploy": lines ${first} and ${last}. Leave the one that counts.`,
    });
    expect(applied.results[0]).toMatchObject({ outcome: "failed", message: plan.results[0]?.message });
    expect(state.read(path)).toBe(`${table}${line}\n`);
    // Nothing is to be changed: which line counts does not matter.
    expect((await state.run("plan", user())).results[0]).toMatchObject({ outcome: "unchanged" });
  },
);

test.each(["/etc/group", "/etc/gshadow"])(
  "a user who is to be in a group with two lines in %s is refused",
  async (path) => {
    const state = new StateFixture(memoryMachine());
    await run(state.host, ["useradd", "deploy"]);
    await run(state.host, ["groupadd", "ops"]);
    const line = path === "/etc/group" ? "ops:x:70:" : "ops:!::";
    const others = (state.host.files.stat(path) ? state.read(path) : "")
      .split("\n")
      .filter((each) => each !== "" && !each.startsWith("ops:"));
    state.write(path, [...others, line, line, ""].join("\n"));
    const wanted = user({ groups: ["ops"] });
    for (const mode of ["plan", "apply"] as const)
      expect((await state.run(mode, wanted)).results[0]).toMatchObject({
        outcome: "failed",
        message: expect.stringContaining(`${path} has more than one line about "ops"`),
      });
    state.write("/etc/login.defs", "MAX_MEMBERS_PER_GROUP 25\n");
    expect((await state.run("plan", wanted)).results[0]).toMatchObject({ outcome: "would_change" });
  },
);

test("a group with two lines is refused with their places", async () => {
  const state = new StateFixture(memoryMachine());
  state.write("/etc/group", "root:x:0:\nops:x:70:\nops:x:71:\n");
  const group = declare([{ type: "group", name: "ops", gid: 72 }]);
  for (const mode of ["plan", "apply"] as const)
    expect((await state.run(mode, group)).results[0]).toMatchObject({
      outcome: "failed",
      message: expect.stringContaining("lines 2 and 3"),
    });
  expect(state.read("/etc/group")).toContain("ops:x:70:");
});

test("a user who was taken away does not come back where another has the number, and the removal says who", async () => {
  const state = new StateFixture(memoryMachine());
  await run(state.host, ["useradd", "deploy"]);
  const [, , uid, gid] = state
    .read("/etc/passwd")
    .split("\n")
    .find((line) => line.startsWith("deploy:"))!
    .split(":");
  state.write("/etc/passwd", `${state.read("/etc/passwd")}twin:x:${uid}:${gid}::/home/twin:/bin/sh\n`);
  expect((await state.run("apply", user({ ensure: "absent" }))).status).toBe("succeeded");
  const { results } = await state.run("apply", []);
  expect(results[0]).toMatchObject({
    outcome: "failed",
    message: expect.stringContaining(`The number ${uid} belongs to the user twin.`),
  });
});
