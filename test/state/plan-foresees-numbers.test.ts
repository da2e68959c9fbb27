/**
 * A user or group that gets another number: usermod(8) hands what is in the home over with it, and groupmod(8) changes the rows of those whose
 * primary group it is. A plan that knows neither foretold failures and changes that the apply right after it did not have.
 */
import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { foretold, told } from "../support/plan-and-apply.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const user = (more: JsonObject): JsonObject => ({ id: "user", type: "user", name: "deploy", ...more });
const group = (name: string, gid: number): JsonObject => ({ id: name, type: "group", name, gid });
const key = {
  id: "key",
  type: "authorized_key",
  user: "deploy",
  key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ops",
};
const inHome = (more: JsonObject): JsonObject[] => [
  { id: "folder", type: "directory", path: "/home/deploy/app", ...more },
  { id: "file", type: "file", path: "/home/deploy/app/conf", content: "x", ...more },
  { id: "line", type: "line", path: "/home/deploy/app/conf", line: "x" },
];
const outside = { id: "out", type: "file", path: "/srv/out", content: "x", owner: "deploy", group: "ops" };

/** What is declared first and then. */
const cases: Record<string, [JsonObject[], JsonObject[]]> = {
  "a user's number": [
    [group("ops", 2050), user({ uid: 2000 }), key, ...inHome({ owner: "deploy" }), outside],
    [group("ops", 2050), user({ uid: 2001 }), key, ...inHome({ owner: "deploy" }), outside],
  ],
  "a user's number and its home": [
    [user({ uid: 2000 }), ...inHome({ owner: "deploy" }), key],
    [user({ uid: 2001, home: "/srv/home" }), { id: "home", type: "directory", path: "/srv/home" }],
  ],
  "a user's primary group": [
    [group("ops", 2000), group("web", 2100), user({ group: "ops" }), ...inHome({ group: "ops" })],
    [group("ops", 2000), group("web", 2100), user({ group: "web" }), ...inHome({ group: "web" })],
  ],
  "the number of a user's primary group": [
    [group("ops", 2000), user({ group: "ops" }), outside],
    [group("ops", 2001), user({ group: "ops" }), outside],
  ],
  "the number of a user whose home is made over in the same run": [
    [user({ uid: 2000 }), ...inHome({ owner: "deploy" })],
    [
      ...inHome({ mode: "0700" }),
      user({ uid: 2001 }),
      { id: "home", type: "directory", path: "/home/deploy", owner: "deploy", recurse: true },
      key,
    ],
  ],
};

test.each(Object.entries(cases))("another for %s is planned as it is applied", async (_name, sets) => {
  const state = new StateFixture(wholeMachine());
  for (const set of [...sets, []]) {
    const desired = declare(set);
    const plan = await state.run("plan", desired);
    const applied = await state.run("apply", desired);
    expect(applied.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
    expect(told(applied)).toEqual(foretold(plan, applied));
    if (set.length === 0) continue;
    const again = await state.run("apply", desired);
    expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
  }
});

test("a number that somebody changed by hand is planned as it is applied", async () => {
  const machine = wholeMachine();
  const state = new StateFixture(machine);
  const desired = declare([user({ uid: 2000 }), key, ...inHome({ owner: "deploy" })]);
  await state.run("apply", desired);
  await machine.run({ argv: ["usermod", "-u", "2500", "deploy"] }, new AbortController().signal);
  const plan = await state.run("plan", desired);
  const applied = await state.run("apply", desired);
  expect(applied.results.map(({ outcome }) => outcome)).toEqual([
    "changed",
    ...Array<string>(4).fill("unchanged"),
  ]);
  expect(told(applied)).toEqual(foretold(plan, applied));
});

test("what becomes of a home that is a link is unknown where the number changes, and only there", async () => {
  const state = new StateFixture(wholeMachine());
  await state.run("apply", declare([user({ uid: 2000, create_home: false })]));
  state.host.files.makeDirectory("/srv/deploy", { uid: 2000 });
  state.host.files.makeSymlink("/home/deploy", "/srv/deploy");
  const plan = await state.run("plan", declare([user({ uid: 2001 })]));
  expect(plan.results).toMatchObject([
    { outcome: "unknown", message: expect.stringContaining("The home /home/deploy is a link") },
  ]);
  const other = await state.run("plan", declare([user({ uid: 2000, comment: "x" })]));
  expect(other.results).toMatchObject([{ outcome: "would_change" }]);
});
