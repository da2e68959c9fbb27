import { writeFileSync } from "node:fs";
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
