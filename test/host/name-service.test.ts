/** How long what the machine's name service says is believed: an answer, that there is none, and that no answer came. */
import child from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NameService } from "../../lib/host/local-names.ts";
import { LocalUsers } from "../../lib/host/local-users.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const originals = { execFileSync: child.execFileSync, readFileSync: fs.readFileSync, now: performance.now };
let nowMs = 0;
let sources = "passwd: files ldap\ngroup: files ldap\n";
let asked: string[] = [];
/** What getent(1) does: prints a line, or ends as it does where there is none, or where nobody answers. */
type Answer = string | { status?: number | null; code?: string };
let answer = "" as Answer;

beforeEach(() => {
  [nowMs, asked, sources] = [1_000_000, [], "passwd: files ldap\ngroup: files ldap\n"];
  const ask = (_program: string, words: readonly string[]): string => {
    asked.push(words.join(" "));
    if (typeof answer === "string") return answer;
    throw Object.assign(new Error("getent"), answer);
  };
  const read = (path: fs.PathOrFileDescriptor, ...more: unknown[]): unknown =>
    path === "/etc/nsswitch.conf"
      ? sources
      : (originals.readFileSync as (...all: unknown[]) => unknown)(path, ...more);
  Object.assign(child, { execFileSync: ask });
  Object.assign(fs, { readFileSync: read });
  syncBuiltinESMExports();
  performance.now = () => nowMs;
});

afterEach(() => {
  performance.now = originals.now;
  Object.assign(child, { execFileSync: originals.execFileSync });
  Object.assign(fs, { readFileSync: originals.readFileSync });
  syncBuiltinESMExports();
});

const ada = "ada:x:2000:2000::/home/ada:/bin/sh\n";
const nobodyAnswers = expect.objectContaining({
  code: "HOST_ERROR",
  details: { path: "passwd ada", errno: "ETIMEDOUT" },
});

const answers: [what: string, says: Answer, believedMs: number, isForgotten: boolean][] = [
  ["an entry", ada, 30_000, false],
  ["that there is none", { status: 2 }, 2_000, true],
  ["that there is no getent", { code: "ENOENT" }, 2_000, true],
  ["nothing of an entry", "nothing\n", 2_000, true],
  ["nothing in time", { status: null, code: "ETIMEDOUT" }, 30_000, false],
  ["that it failed", { status: 1 }, 30_000, false],
];

test.each(answers)(
  "believes %s for its time, also after programs ran: %j",
  (_what, says, believedMs, isForgotten) => {
    answer = says;
    const service = new NameService();
    const isLate = typeof says !== "string" && says.status !== 2 && says.code !== "ENOENT";
    const find = (): void => {
      if (isLate) expect(() => service.find("passwd", "ada")).toThrow(nobodyAnswers);
      else expect(service.find("passwd", "ada")).toEqual(says === ada ? ada.trim().split(":") : null);
    };
    const times = (count: number): void => {
      find();
      expect(asked).toEqual(Array(count).fill("passwd ada"));
    };
    times(1);
    nowMs += believedMs;
    times(1);
    nowMs += 1;
    times(2);
    service.forgetNone();
    times(isForgotten ? 3 : 2);
  },
);

test.each([
  ["passwd: files\ngroup: files\n", []],
  ["passwd: files [NOTFOUND=return]\ngroup:\tfiles # ldap\n", []],
  ["# passwd: ldap\n", []],
  ["passwd:files sss\ngroup: files\n", ["passwd ada"]],
  ["passwd: files\n  group: files [!UNAVAIL=return] systemd\n", ["group ada"]],
  ["passwd: compat\ngroup: db files\n", ["passwd ada", "group ada"]],
])("asks for what %j has more than the files", (text, expected) => {
  sources = text;
  answer = { status: 2 };
  const service = new NameService();
  expect([service.find("passwd", "ada"), service.find("group", "ada")]).toEqual([null, null]);
  expect(asked).toEqual(expected);
  // Looked at again after two seconds: who sets it up need not start the agent anew.
  sources = "passwd: files ldap\ngroup: files ldap\n";
  nowMs += 2_001;
  service.find("passwd", "other");
  expect(asked.at(-1)).toBe("passwd other");
});

test.each(["-x", "a:b", "a\nb", "", "a\0b", ":"])("asks nobody for %j, which is no name", (key) => {
  answer = ada;
  expect(new NameService().find("passwd", key)).toBeNull();
  expect(asked).toEqual([]);
});

test("remembers who it was asked for, ten thousand at most", () => {
  answer = ada;
  const service = new NameService();
  const names = Array.from({ length: 10_000 }, (_, index) => `u${index}`);
  for (const name of names) service.find("passwd", name);
  for (const name of names) service.find("passwd", name);
  expect(asked).toHaveLength(10_000);
  service.find("passwd", "one-more");
  service.find("passwd", "one-more");
  service.find("passwd", "u0");
  expect(asked.slice(10_000)).toEqual(["passwd one-more", "passwd u0"]);
});

test.each<[string, Answer, boolean]>([
  ["says that there is none", { status: 2 }, false],
  ["does not answer in time", { status: null, code: "ETIMEDOUT" }, true],
  ["fails", { status: 1 }, true],
])("an owner that a name service which %s would know is told by his number", (_what, says, isFault) => {
  answer = says;
  const folder = temporaryFolder();
  for (const table of ["passwd", "group"])
    fs.writeFileSync(join(folder, table), "root:x:0:0::/root:/bin/sh\n");
  const users = new LocalUsers(folder);
  expect([users.userName(2000), users.groupName(2000), users.userName(0)]).toEqual([null, null, "root"]);
  // Who is to own something must be known.
  for (const ask of [() => users.userId("ada"), () => users.groupId("staff")])
    if (isFault) expect(ask).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
    else expect(ask()).toBeNull();
});
