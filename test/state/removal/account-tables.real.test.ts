/** What the account tables said of users and groups they say again when the resource is gone; useradd and its kin are the machine's. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import {
  ended,
  onNamespacedMachine,
  requireRealMachine,
  said,
  type Step,
} from "../../support/machine/namespaced-machine.ts";

const tables = ["passwd", "shadow", "group", "gshadow", "subuid", "subgid"] as const;

/** Accounts as people and other programs leave them: lists that differ, administrators, passwords in either file. */
const before = {
  passwd: [
    "ann:x:3001:3001::/home/ann:/bin/sh",
    "bob:x:3002:3002::/home/bob:/bin/sh",
    "root:x:0:0::/root:/bin/sh",
  ],
  shadow: ["ann:!:19000:0:99999:7:::", "bob:*:19001::::::", "root:*:19002:0:99999:7:::"],
  group: [
    "root:x:0:",
    "ann:x:3001:root",
    "bob:x:3002:",
    "team:x:3003:bob,ann,root",
    "old:$6$salt$hash:3004:ann",
    "bare:x:3005:bob",
  ],
  gshadow: [
    "root:*::",
    "ann:$6$salt$own:bob,root:root",
    "bob:!::",
    "team:$6$salt$hash:ann,bob:bob,ann",
    "old:!:root:",
  ],
  subuid: ["ann:200000:1000"],
  subgid: ["ann:200000:1000"],
} satisfies Record<(typeof tables)[number], string[]>;

const rows: [string, JsonObject, JsonObject?][] = [
  [
    "a group that a later version does not want",
    { type: "group", name: "team", members: ["root"], membership: "inclusive" },
    { type: "group", name: "team", ensure: "absent" },
  ],
  [
    "a user whom a later version does not want",
    { type: "user", name: "ann", shell: "/bin/bash", groups: ["bare"] },
    { type: "user", name: "ann", ensure: "absent" },
  ],
  ["a group that is not wanted", { type: "group", name: "team", ensure: "absent" }],
  ["a group with its password in /etc/group", { type: "group", name: "old", ensure: "absent" }],
  ["a group without a row in /etc/gshadow", { type: "group", name: "bare", ensure: "absent" }],
  ["a group with other members", { type: "group", name: "team", members: ["root"], membership: "inclusive" }],
  ["a group with another member", { type: "group", name: "old", members: ["bob"] }],
  ["a group whose members have no row", { type: "group", name: "bare", members: ["ann"] }],
  ["a group with another number", { type: "group", name: "team", gid: 3333 }],
  ["a new group", { type: "group", name: "new", members: ["ann"] }],
  ["a user who is not wanted", { type: "user", name: "bob", ensure: "absent" }],
  ["a user in other groups", { type: "user", name: "bob", groups: ["old"], membership: "inclusive" }],
  ["a user in another group", { type: "user", name: "ann", groups: ["bare"] }],
  ["a user with another primary group", { type: "user", name: "ann", group: "team" }],
  ["a new user", { type: "user", name: "new", groups: ["team", "old"], create_home: false }],
];

const write: Step[] = tables.map((name) => ({
  write: `/etc/${name}`,
  content: `${before[name].join("\n")}\n`,
}));
const look: Step[] = tables.map((name) => ({ command: ["sort", `/etc/${name}`] }));
const modes: Step = { command: ["sh", "-c", "stat -c '%n %a %U:%G' /etc/passwd /etc/*shadow /etc/group"] };

for (const [what, definition, later = definition] of rows)
  test(`${what} leaves the tables as they were`, async (context) => {
    requireRealMachine(context);
    expect.hasAssertions();
    await tryOn(what, [definition, later]);
  });

test("a row that was made with the members stays where somebody gave it an administrator", async (context) => {
  requireRealMachine(context);
  const definition = { id: "r", type: "group", name: "bare", members: ["ann"] };
  const given = await onNamespacedMachine([
    ...write,
    { mode: "apply", definitions: [definition] },
    { command: ["gpasswd", "-A", "ann", "bare"] },
    { mode: "apply", definitions: [] },
    { command: ["grep", "-h", "^bare:", "/etc/group", "/etc/gshadow"] },
    { mode: "plan", definitions: [] },
  ]);
  const [applied, , removed, rowsLeft, plan] = given.slice(write.length);
  expect([ended(applied), ended(removed), ended(plan)]).toEqual([["changed"], ["changed"], []]);
  expect(said(rowsLeft)?.trim().split("\n")).toEqual(["bare:x:3005:bob", "bare:x:ann:"]);
});

async function tryOn(what: string, versions: readonly JsonObject[]): Promise<void> {
  const given = await onNamespacedMachine([
    ...write,
    modes,
    ...look,
    ...versions.map((version): Step => ({ mode: "apply", definitions: [{ id: "r", ...version }] })),
    ...look,
    { mode: "plan", definitions: [] },
    { mode: "apply", definitions: [] },
    modes,
    ...look,
    { mode: "plan", definitions: [] },
  ]);
  const from = write.length;
  const size = look.length;
  const table = (start: number): (string | undefined)[] => given.slice(start, start + size).map(said);
  const [first, second] = [from + 1, from + 1 + size + versions.length];
  const removal = second + size + 1;
  expect(ended(given[second - versions.length]), what).toEqual(["changed"]);
  expect(table(second)).not.toEqual(table(first));
  expect(ended(given[removal])).toEqual(["changed"]);
  expect(given[removal]?.run?.[0]?.changes).toEqual(given[removal - 1]?.run?.[0]?.changes);
  const fields = (lines: (string | undefined)[]): object =>
    Object.fromEntries(tables.map((name, at) => [name, lines[at]?.split("\n")]));
  expect(fields(table(removal + 2))).toEqual(fields(table(first)));
  expect(said(given[removal + 1])).toBe(said(given[from]));
  expect(ended(given[removal + 2 + size])).toEqual([]);
}
