/** A user who was to be among others of a group leaves what they joined for it, and no other membership changes. */
import { beforeEach, expect, test } from "vitest";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const { signal } = new AbortController();
let state: StateFixture;
beforeEach(async () => {
  state = new StateFixture(memoryMachine());
  for (const name of ["staff", "users", "sudo"]) await run("groupadd", name);
  await run("useradd", "-G", "sudo", "deploy");
});

const run = (...argv: [string, ...string[]]) => state.host.run({ argv }, signal);
const user = (groups: string[], more: object = {}) =>
  declare([{ id: "u", type: "user", name: "deploy", groups, ...more }], "b");
const groups = (): string[] =>
  state
    .read("/etc/group")
    .split("\n")
    .map((row) => row.split(":"))
    .filter(([, , , members = ""]) => members.split(",").includes("deploy"))
    .map(([name = ""]) => name)
    .sort();

test("a membership that another module gave and took meanwhile does not come back", async () => {
  const staff = declare([{ id: "g", type: "group", name: "staff", members: ["deploy"] }], "a");
  await state.run("apply", staff, { scope: ["a"] });
  await state.run("apply", user(["users"]), { scope: ["b"] });
  await state.run("apply", [], { scope: ["a"] });
  expect(groups()).toEqual(["sudo", "users"]);
  expect(outcomes(await state.run("plan", [], { scope: ["b"] }))).toEqual(["u would_change"]);
  await state.run("apply", [], { scope: ["b"] });
  expect(groups()).toEqual(["sudo"]);
});

test("a membership that somebody took meanwhile does not come back, and one that was there stays", async () => {
  await state.run("apply", user(["users", "sudo"]));
  await run("usermod", "-G", "sudo,users,staff", "deploy");
  await state.run("apply", []);
  expect(groups()).toEqual(["staff", "sudo"]);
  await state.run("apply", user(["users"]));
  await run("usermod", "-G", "users", "deploy");
  await state.run("apply", []);
  expect(groups()).toEqual([]);
});

test("whoever leaves goes from the groups of every version", async () => {
  await state.run("apply", user(["users"]));
  await state.run("apply", user(["staff"]));
  expect(groups()).toEqual(["staff", "sudo", "users"]);
  await state.run("apply", []);
  expect(groups()).toEqual(["sudo"]);
});

test("a list that a later version makes the only one comes back without what the first one added", async () => {
  await state.run("apply", user(["users"]));
  await state.run("apply", user(["staff"], { membership: "inclusive" }));
  expect(groups()).toEqual(["staff"]);
  await state.run("apply", []);
  expect(groups()).toEqual(["sudo"]);
});

test("a list that a first version made the only one comes back whole", async () => {
  await state.run("apply", user(["staff"], { membership: "inclusive" }));
  await state.run("apply", user(["users"]));
  await state.run("apply", []);
  expect(groups()).toEqual(["sudo"]);
});

test("a whole list that an earlier version noted stays the one to come back to, whatever a later version says of groups", async () => {
  await state.run("apply", user(["users"], { membership: "inclusive" }));
  expect(groups()).toEqual(["users"]);
  await run("usermod", "-G", "", "deploy");
  await state.run("apply", user(["sudo", "staff"]));
  expect(groups()).toEqual(["staff", "sudo"]);
  expect(outcomes(await state.run("plan", []))).toEqual(["u would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["u changed"]);
  expect(groups()).toEqual(["sudo"]);
  expect(state.applied).toEqual([]);
});
