import { expect, test } from "vitest";
import {
  addByCondition,
  type ByCondition,
  conflictKeys,
  fightConflict,
  findConflicts,
  findDifferences,
  firstMeeting,
  isTextKey,
  textKey,
} from "../../lib/state/conflicts.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { declare } from "../support/state-fixture.ts";

const file = (content: string) => [{ id: "f", type: "file", path: "/etc/motd", content }];

test("equal resources of two modules are no conflict", () => {
  expect(findConflicts([...declare(file("a"), "one"), ...declare(file("a"), "two")], resourceTypes)).toEqual(
    [],
  );
});

test("different ones are, and both are named", () => {
  expect(findConflicts([...declare(file("a"), "one"), ...declare(file("b"), "two")], resourceTypes)).toEqual([
    {
      first: { module: "one", resource_id: "f" },
      second: { module: "two", resource_id: "f" },
      identity: "path:/etc/motd",
      message: "one/f and two/f describe path:/etc/motd differently.",
    },
  ]);
});

test("two types at one path are a conflict", () => {
  const folder = declare([{ type: "directory", path: "/etc/motd" }], "two");
  expect(findConflicts([...declare(file("a"), "one"), ...folder], resourceTypes)).toHaveLength(1);
});

test("what is skipped on the agent contradicts nobody", () => {
  const [skipped] = declare(file("b"), "two");
  expect(
    findConflicts([...declare(file("a"), "one"), { ...skipped!, skip: "condition" }], resourceTypes),
  ).toEqual([]);
});

test("a property that only one of them has makes a conflict, whichever comes first", () => {
  const dressed = [{ ...file("a")[0], mode: "0600" }];
  for (const [first, second] of [
    [file("a"), dressed],
    [dressed, file("a")],
  ])
    expect(
      findConflicts([...declare(first!, "one"), ...declare(second!, "two")], resourceTypes),
    ).toHaveLength(1);
});

test("lists of which one is the beginning of the other contradict each other, whichever comes first", () => {
  const user = (groups: string[]) => [{ id: "u", type: "user", name: "ada", groups }];
  for (const [first, second] of [
    [["a"], ["a", "b"]],
    [["a", "b"], ["a"]],
    [
      ["a", "b"],
      ["b", "a"],
    ],
  ])
    expect(
      findConflicts([...declare(user(first!), "one"), ...declare(user(second!), "two")], resourceTypes),
    ).toHaveLength(1);
  expect(
    findConflicts([...declare(user(["a"]), "one"), ...declare(user(["a"]), "two")], resourceTypes),
  ).toEqual([]);
});

test.each<[what: string, group: object, user: object, isConflict: boolean]>([
  [
    "whose primary group has no members beside",
    { members: [], membership: "inclusive" },
    { group: "g" },
    false,
  ],
  ["whose primary group has others", { members: ["bob"], membership: "inclusive" }, { group: "g" }, false],
  ["whose primary group goes", { ensure: "absent" }, { group: "g" }, true],
  [
    "who is in a group that has no members",
    { members: [], membership: "inclusive" },
    { groups: ["g"] },
    true,
  ],
  ["who is in a group of others", { members: ["bob"], membership: "inclusive" }, { groups: ["g"] }, true],
  [
    "who is in a group that names him",
    { members: ["ada"], membership: "inclusive" },
    { groups: ["g"] },
    false,
  ],
  ["who is in a group that others are in, too", { members: ["bob"] }, { groups: ["g"] }, false],
  [
    "who is in no group and is named by none",
    { members: ["bob"] },
    { groups: [], membership: "inclusive" },
    false,
  ],
  [
    "who is in no group and is named by one",
    { members: ["ada"] },
    { groups: [], membership: "inclusive" },
    true,
  ],
  [
    "whose primary group names him, and who is in no other",
    { members: ["ada"] },
    { group: "g", groups: [], membership: "inclusive" },
    true,
  ],
  ["of another name than is named", { members: ["ad"] }, { groups: [], membership: "inclusive" }, false],
])("a group and a user %s contradict each other as the machine would", (_what, group, user, isConflict) => {
  const both = [
    ...declare([{ id: "g", type: "group", name: "g", ...group }], "one"),
    ...declare([{ id: "u", type: "user", name: "ada", ...user }], "two"),
  ];
  for (const resources of [both, both.toReversed()])
    expect(findConflicts(resources, resourceTypes)).toHaveLength(isConflict ? 1 : 0);
});

const gone = declare([{ id: "d", type: "directory", path: "/srv/old", ensure: "absent" }], "one");
const wanted = (more: object = {}) =>
  declare([{ id: "f", type: "file", path: "/srv/old/a/b", content: "x", ...more }], "two");

test.each([
  ["behind it", () => [...gone, ...wanted()]],
  ["before it", () => [...wanted(), ...gone]],
])("what is wanted in a folder that is to be gone contradicts that folder, declared %s", (_, resources) => {
  expect(findConflicts(resources(), resourceTypes)).toEqual([
    {
      first: { module: "one", resource_id: "d" },
      second: { module: "two", resource_id: "f" },
      identity: "path:/srv/old",
      message: "one/d has /srv/old gone, and two/f wants something in it.",
    },
  ]);
});

test.each(["file", "symlink", "download"])("so does what is wanted below a %s that is to be gone", (type) => {
  const place = declare([{ id: "d", type, path: "/srv/old", ensure: "absent" }], "one");
  const [conflict, ...more] = findConflicts([...place, ...wanted()], resourceTypes);
  expect([conflict?.message, more]).toEqual([
    "one/d has /srv/old gone, and two/f wants something in it.",
    [],
  ]);
});

test("what is to be gone, too, stands elsewhere or is skipped does not", () => {
  const absent = declare([{ id: "f", type: "file", path: "/srv/old/a", ensure: "absent" }], "two");
  const beside = declare([{ id: "g", type: "file", path: "/srv/older", content: "x" }], "two");
  const skipped = wanted().map((each) => ({ ...each, skip: "condition" as const }));
  expect(findConflicts([...gone, ...absent, ...beside, ...skipped], resourceTypes)).toEqual([]);
  const folder = declare([{ id: "d", type: "directory", path: "/srv/old" }], "one");
  expect(findConflicts([...folder, ...wanted()], resourceTypes)).toEqual([]);
});

const job = (user: string, more: object = {}) =>
  declare([{ id: "j", type: "cron", name: "job", user, command: "true", hour: 1, ...more }], user);

test("of one thing that two resources name differently only what they say beside its name counts", () => {
  const aThing = (): string => "cron:job of root";
  expect(findDifferences([...job("root"), ...job("0")], resourceTypes, aThing)).toEqual([]);
  expect(findDifferences([...job("root"), ...job("0", { hour: 2 })], resourceTypes, aThing)).toMatchObject([
    { identity: aThing(), message: "root/j and 0/j describe cron:job of root differently." },
  ]);
  const [one, other] = [declare(file("a"), "one"), declare([{ ...file("a")[0], path: "/motd" }], "two")];
  expect(findDifferences([...one, ...other], resourceTypes, () => "path:/etc/motd")).toEqual([]);
});

test.each<
  [wanted: [value: string, condition?: string][], condition: string | undefined, met: string | undefined]
>([
  [[], undefined, undefined],
  [[["a"]], undefined, "a"],
  [[["a"]], "x", "a"],
  [[["a", "x"]], "x", "a"],
  [[["a", "x"]], "y", undefined],
  [[["a", "x"]], undefined, "a"],
  [[["a", "x"], ["b"]], undefined, "a"],
  [[["a", "x"], ["b"]], "x", "a"],
  [[["a", "x"], ["b"]], "y", "b"],
  [[["a"], ["b"]], "y", "a"],
  [
    [
      ["a", "x"],
      ["b", "x"],
    ],
    "x",
    "a",
  ],
])("of %j what is wanted under the condition %j surely meets %j", (wanted, condition, met) => {
  const all = new Map<string, ByCondition<string>>();
  for (const [value, under] of wanted) addByCondition(all, "/a", { value, condition: under });
  expect(firstMeeting(all.get("/a"), condition)).toBe(met);
});

test("only what shares a thing or a text may contradict each other", () => {
  const line = declare([{ id: "l", type: "line", path: "/etc/motd", line: "a" }], "two");
  const [ofFile, ofLine] = [declare(file("a")), line].map(([each]) => conflictKeys(each!, resourceTypes));
  expect(ofFile).toEqual(["path:/etc/motd", textKey("/etc/motd")]);
  expect(ofFile!.filter((key) => ofLine!.includes(key))).toEqual([textKey("/etc/motd")]);
  expect([...ofFile!, "text"].map(isTextKey)).toEqual([false, true, false]);
});

test.each([
  ["/etc/motd", "path:/etc/motd"],
  ["the mode of /etc/motd", "the mode of /etc/motd"],
])("a fight about %s is one about %s", (text, identity) => {
  const [first] = declare(file("a"), "one");
  const [second] = declare(file("b"), "two");
  expect(fightConflict({ first: first!, second: second!, text, isWhole: false })).toEqual({
    first: { module: "one", resource_id: "f" },
    second: { module: "two", resource_id: "f" },
    identity,
    message:
      `one/f and two/f undo each other's changes of ${text}: each apply would make both again. ` +
      "Let only one of them say it.",
  });
});

test("what contradicts as a whole is told once, and what does so in a part beside it", () => {
  const list = (module: string, name: string | string[], more: object = {}) =>
    declare([{ id: "p", type: "package", name, ...more }], module);
  const [one, other] = [list("one", "nginx", { version: "1.21" }), list("two", "nginx", { version: "1.22" })];
  const told = (...all: (typeof one)[]): string[] =>
    findConflicts(all.flat(), resourceTypes).map(({ message }) => message);
  expect(told(one, other)).toEqual(["one/p and two/p describe package:nginx differently."]);
  expect(told(one, list("two", "nginx", { version: "1.21" }))).toEqual([]);
  expect(told(one, list("three", ["curl", "nginx"], { ensure: "absent" }))).toEqual([
    "one/p and three/p describe package:nginx differently.",
  ]);
});
