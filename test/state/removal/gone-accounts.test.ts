/**
 * What stood before comes back also where a user or group of it is gone by then, or was gone already. Once the removal failed in every
 * apply from then on, and a group that named a user who is gone could get no other member.
 */
import { expect, test } from "vitest";
import type { HostFiles } from "../../../lib/host/host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const passwd = "/etc/passwd";
const group = "/etc/group";
const accounts = {
  [passwd]:
    "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:100::/home/alice:/bin/sh\nbob:x:1001:100::/:/bin/sh\n",
  [group]: "root:x:0:\nusers:x:100:bob,alice\nstaff:x:50:alice\nteam:x:51:alice\n",
};

/** A machine with two users and their groups. */
function machine(): StateFixture {
  const state = new StateFixture(memoryMachine());
  for (const [path, text] of Object.entries(accounts)) state.write(path, text);
  return state;
}

/** Takes an account out of its table, and a user out of the groups. */
function forget(state: StateFixture, name: string): void {
  for (const path of [passwd, group]) {
    const lines = state
      .read(path)
      .split("\n")
      .filter((line) => !line.startsWith(`${name}:`));
    state.write(path, lines.join("\n").replace(new RegExp(`,${name}\\b|\\b${name},|\\b${name}$`, "gm"), ""));
  }
}

const rows: Readonly<
  Record<string, { definition: JsonObject; prepare: (files: HostFiles) => unknown; path: string }>
> = {
  "a file": {
    definition: { type: "file", path: "/work/f", content: "ours", owner: "root", group: "root" },
    prepare: (files) => files.writeFile("/work/f", Buffer.from("x"), { mode: 0o600, uid: 1001, gid: 51 }),
    path: "/work/f",
  },
  "a link": {
    definition: { type: "symlink", path: "/work/l", target: "there" },
    prepare: (files) => files.makeSymlink("/work/l", "elsewhere", { uid: 1001, gid: 51 }),
    path: "/work/l",
  },
  "a folder": {
    definition: { type: "directory", path: "/work/d", owner: "root", group: "root" },
    prepare: (files) => files.makeDirectory("/work/d", { uid: 1001, gid: 51 }),
    path: "/work/d",
  },
  "what is in a folder": {
    definition: { type: "directory", path: "/work/d", recurse: true, owner: "alice", group: "users" },
    prepare(files) {
      files.makeDirectory("/work/d", {});
      files.makeSymlink("/work/d/l", "x", { uid: 1001, gid: 51 });
    },
    path: "/work/d/l",
  },
  "what was purged": {
    definition: { type: "directory", path: "/work/d", purge: true },
    prepare(files) {
      files.makeDirectory("/work/d", {});
      files.writeFile("/work/d/f", Buffer.from("x"), { uid: 1001, gid: 51 });
    },
    path: "/work/d/f",
  },
  "a unit": {
    definition: { type: "systemd_unit", name: "a.service", ensure: "absent" },
    prepare(files) {
      for (const path of ["/etc/systemd", "/etc/systemd/system"]) files.makeDirectory(path, {});
      files.writeFile("/etc/systemd/system/a.service", Buffer.from("x"), { uid: 1001, gid: 51 });
    },
    path: "/etc/systemd/system/a.service",
  },
};

test.each(Object.entries(rows))(
  "%s comes back to the number of an owner who is gone",
  async (_what, { definition, prepare, path }) => {
    const state = machine();
    prepare(state.host.files);
    const before = state.host.files.stat(path);
    await state.run("apply", declare([{ id: "r", ...definition }]));
    expect(state.host.files.stat(path)).not.toEqual(before);
    for (const name of ["bob", "team"]) forget(state, name);
    const { results } = await state.run("apply", []);
    expect(results[0]).toMatchObject({ outcome: "changed", action: "remove" });
    expect([state.host.files.stat(path), state.applied]).toEqual([before, []]);
  },
);

test("a group gets the members back that there still are", async () => {
  const state = machine();
  const desired = { type: "group", name: "users", members: ["root"], membership: "inclusive" };
  await state.run("apply", declare([{ id: "g", ...desired }]));
  forget(state, "bob");
  const { results } = await state.run("apply", []);
  expect(results[0]).toMatchObject({ outcome: "changed" });
  expect([/^users:.*$/m.exec(state.read(group))?.[0], state.applied]).toEqual(["users:x:100:alice", []]);
});

test("a group that names somebody who is gone gets another member, and is as it was in the end", async () => {
  const state = machine();
  const before = accounts[group].replace("bob,alice", "ghost,CORP\\eve,alice");
  state.write(group, before);
  const desired = declare([{ id: "g", type: "group", name: "users", members: ["bob"] }]);
  for (const mode of ["plan", "apply"] as const)
    expect((await state.run(mode, desired)).status).toBe("succeeded");
  expect(/^users:.*$/m.exec(state.read(group))?.[0]?.split(":")[3]?.split(",").toSorted()).toEqual(
    ["CORP\\eve", "alice", "bob", "ghost"].toSorted(),
  );
  expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "unchanged" });
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([state.read(group), state.applied]).toEqual([before, []]);
});

test("somebody who was gone already when nobody else was to be a member stands there again", async () => {
  const state = machine();
  const before = accounts[group].replace("bob,alice", "ghost,alice");
  state.write(group, before);
  const members = { members: ["bob"], membership: "inclusive" };
  await state.run("apply", declare([{ id: "g", type: "group", name: "users", ...members }]));
  expect(/^users:.*$/m.exec(state.read(group))?.[0]).toBe("users:x:100:bob");
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([state.read(group), state.applied]).toEqual([before, []]);
});

test("a user gets the groups back that there still are", async () => {
  const state = machine();
  const desired = { type: "user", name: "alice", groups: [], membership: "inclusive" };
  await state.run("apply", declare([{ id: "u", ...desired }]));
  forget(state, "team");
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([state.read(group), state.applied]).toEqual([accounts[group].replace(/^team.*\n/m, ""), []]);
});

test("a user who was taken away comes back to the groups that there still are", async () => {
  const state = machine();
  await state.run("apply", declare([{ id: "u", type: "user", name: "alice", ensure: "absent" }]));
  forget(state, "team");
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([state.read(group), state.applied]).toEqual([accounts[group].replace(/^team.*\n/m, ""), []]);
});

test("a user comes back to a primary group that is gone by then", async () => {
  const state = machine();
  await state.run("apply", declare([{ id: "u", type: "user", name: "alice", group: "staff" }]));
  forget(state, "users");
  const [plan, applied] = [await state.run("plan", []), await state.run("apply", [])];
  expect([plan.results[0], applied.results[0]]).toMatchObject([
    { outcome: "would_change", action: "remove" },
    { outcome: "changed", action: "remove" },
  ]);
  expect(state.read(passwd)).toBe(accounts[passwd]);
  expect([/^users:.*$/m.exec(state.read(group))?.[0], state.applied]).toEqual(["users:x:100:alice", []]);
});
