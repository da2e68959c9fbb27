import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalUsers } from "../../lib/host/local-users.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const answers = (users: LocalUsers) => ({
  userId: users.userId("fw-one"),
  groupId: users.groupId("fw-one"),
  userName: users.userName(2_000_000_001),
  groupName: users.groupName(2_000_000_002),
  account: users.account("fw-one")?.home ?? null,
});
const there = {
  userId: 2_000_000_001,
  groupId: 2_000_000_002,
  userName: "fw-one",
  groupName: "fw-one",
  account: "/home/one",
};
const gone = { userId: null, groupId: null, userName: null, groupName: null, account: null };

test("users and groups that a program made, changed or removed are seen once what was known is forgotten", () => {
  const folder = temporaryFolder();
  const write = (account: string, group: string): void => {
    writeFileSync(join(folder, "passwd"), account);
    writeFileSync(join(folder, "group"), group);
  };
  const users = new LocalUsers(folder);
  write("", "");
  expect(answers(users)).toEqual(gone);
  write("fw-one:x:2000000001:2000000002::/home/one:/bin/sh\n", "fw-one:x:2000000002:\n");
  users.forget();
  expect(answers(users)).toEqual(there);
  write("fw-one:x:2000000003:2000000002::/home/two:/bin/sh\n", "fw-one:x:2000000004:\n");
  users.forget();
  expect(answers(users)).toEqual({
    userId: 2_000_000_003,
    groupId: 2_000_000_004,
    userName: null,
    groupName: null,
    account: "/home/two",
  });
  write("", "");
  users.forget();
  expect(answers(users)).toEqual(gone);
});

test("a user is found by name, else by number, with all that a program of his needs", () => {
  const folder = temporaryFolder();
  const lines = [
    "fw-one:x:2000000001:2000000002:One:/home/one:/bin/sh",
    "fw-three:x:2000000003:2000000006::/home/three:/bin/false",
    "2000000003:x:2000000004:2000000005::/home/digits:",
  ];
  writeFileSync(join(folder, "passwd"), `${lines.join("\n")}\n`);
  writeFileSync(join(folder, "group"), "fw-group:x:2000000007:fw-one\n");
  const users = new LocalUsers(folder);
  const one = { name: "fw-one", uid: 2_000_000_001, gid: 2_000_000_002, home: "/home/one", shell: "/bin/sh" };
  expect([users.account("fw-one"), users.account("2000000001")]).toEqual([one, one]);
  const digits = {
    name: "2000000003",
    uid: 2_000_000_004,
    gid: 2_000_000_005,
    home: "/home/digits",
    shell: "",
  };
  // Its name is the number of another.
  expect([users.account("2000000003"), users.account("2000000004")]).toEqual([digits, digits]);
  expect([users.account("2000000009"), users.account("2000000001x"), users.groupId("fw-one")]).toEqual([
    null,
    null,
    null,
  ]);
  expect([users.groupId("fw-group"), users.groupName(2_000_000_007)]).toEqual([2_000_000_007, "fw-group"]);
});

const sources = existsSync("/etc/nsswitch.conf") ? readFileSync("/etc/nsswitch.conf", "utf8") : "";
const hasService = ["passwd", "group"].every((table) =>
  new RegExp(`^${table}:.*\\b(?:systemd|sss|ldap|extrausers|winbind)\\b`, "m").test(sources),
);
if (!hasService) console.warn("Skipped: users of a name service: this machine has none.");

test.runIf(hasService)("who is not in the files is asked of the machine's name service", () => {
  const folder = temporaryFolder();
  for (const file of ["passwd", "group"]) writeFileSync(join(folder, file), "");
  const users = new LocalUsers(folder);
  const line = execFileSync("getent", ["passwd", "root"], { encoding: "utf8" });
  const [name, , uid, gid, , home, shell] = line.trim().split(":");
  const root = { name, uid: Number(uid), gid: Number(gid), home, shell };
  expect([users.account("root"), users.account("0")]).toEqual([root, root]);
  expect([users.userId("root"), users.userName(0), users.groupId("root"), users.groupName(0)]).toEqual([
    0,
    "root",
    0,
    "root",
  ]);
  for (const none of ["no-such-user-here", "-x", "a:b", "a\nb", ""])
    expect([none, users.userId(none), users.groupId(none)]).toEqual([none, null, null]);
});
