/** Declarations of one text: those of which one undoes what the other does are refused, and those that get along are not. */
import { expect, test } from "vitest";
import { WorkBudget } from "../../lib/internal/work.ts";
import type { JsonObject } from "../../lib/json.ts";
import { findConflicts } from "../../lib/state/conflicts.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { findFights, modeEdit, type TextClaim, type TextEdit } from "../../lib/state/text-edits.ts";
import { declare } from "../support/state-fixture.ts";

const file = (content: string, path = "/etc/conf"): JsonObject => ({ type: "file", path, content });
const line = (text: string, rest: JsonObject = {}): JsonObject => ({
  type: "line",
  path: "/etc/conf",
  line: text,
  ...rest,
});
const block = (content: string, rest: JsonObject = {}): JsonObject => ({
  type: "block",
  path: "/etc/conf",
  content,
  ...rest,
});
const absent: JsonObject = { ensure: "absent" };
const of = (type: string, rest: JsonObject): JsonObject => ({ type, ...rest });

const fighting: [what: string, first: JsonObject, second: JsonObject][] = [
  ["a line that the content lacks", file("a\n"), line("b")],
  ["a line that stands there in another way", file("port=1\n"), line("port=2", { match: "port=*" })],
  ["a line that is to go and is in the content", file("a\nb\n"), line("b", absent)],
  [
    "a line of a file that is to be away",
    of("file", { path: "/etc/conf", ...absent }),
    line("b", { create: true }),
  ],
  ["two lines of the content that match", file("port=1\nport=2\n"), line("port=1", { match: "port=*" })],
  ["a line of a file that is no text", of("file", { path: "/etc/conf", content_base64: "/w==" }), line("a")],
  ["a block that the content lacks", file("a\n"), block("b\n")],
  ["a block that has other lines in the content", file("# BEGIN block\na\n# END block\n"), block("b\n")],
  [
    "a block that is to go and is in the content",
    file("# BEGIN block\na\n# END block\n"),
    block("a\n", absent),
  ],
  ["half a block in the content", file("# BEGIN block\n"), block("a\n")],
  ["a link and a line", of("symlink", { path: "/etc/conf", target: "x" }), line("a", { create: true })],
  [
    "a link and a line that is to be away",
    of("symlink", { path: "/etc/conf", target: "x" }),
    line("a", absent),
  ],
  ["a link that is to be away and a line", of("symlink", { path: "/etc/conf", ...absent }), line("a")],
  ["a folder and a block", of("directory", { path: "/etc/conf" }), block("a\n", { create: true })],
  ["a folder and a line that is to be away", of("directory", { path: "/etc/conf" }), line("a", absent)],
  ["a clone and a line", of("git", { path: "/etc/conf", repository: "/srv/r.git" }), line("a")],
  [
    "what is extracted and a block",
    of("archive", { path: "/etc/conf", source: "/a.tar" }),
    block("a\n", absent),
  ],
  ["what is extracted and a file", of("archive", { path: "/etc/conf", source: "/a.tar" }), file("a\n")],
  [
    "what is extracted and a file that is to be away",
    of("archive", { path: "/etc/conf", source: "/a.tar" }),
    of("file", { path: "/etc/conf", ...absent }),
  ],
  [
    "what is extracted and a folder that is to be away",
    of("archive", { path: "/etc/conf", source: "/a.tar" }),
    of("directory", { path: "/etc/conf", ...absent }),
  ],
  [
    "what is extracted and a download",
    of("archive", { path: "/etc/conf", source: "/a.tar" }),
    of("download", { path: "/etc/conf", url: "https://example.com/a", sha256: "0".repeat(64) }),
  ],
  ["two lines in the place of one", line("k=1", { match: "k=*" }), line("k=2", { match: "k=?" })],
  ["a line, and another that replaces it", line("k=1"), line("k=2", { match: "k=*" })],
  ["a line, and another that takes it away", line("k=1"), line("k=1", { match: "k*", ...absent })],
  ["a line in a block, and another that replaces it", block("k=1\n"), line("k=2", { match: "k=*" })],
  ["a line in a block that is to be away", block("k=1\n"), line("k=1", absent)],
  ["a line that takes a mark away", block("a\n"), line("x", { match: "# BEGIN*" })],
  ["a block inside another", block("a\nb\n"), block("c\n", { name: "two", insert_after: "a" })],
  ["a block before a line of another", block("a\nb\n"), block("c\n", { name: "two", insert_before: "b" })],
  ["a block that writes another", block("# BEGIN two\na\n# END two\n"), block("b\n", { name: "two" })],
  [
    "a unit and a line of it",
    of("systemd_unit", { name: "a.service", content: "[Unit]\n" }),
    line("[Install]", { path: "/etc/systemd/system/a.service" }),
  ],
  [
    "/etc/hosts and an entry",
    file("127.0.0.1 localhost\n", "/etc/hosts"),
    of("host_entry", { name: "db", ip: "10.0.0.5" }),
  ],
  [
    "an entry of /etc/hosts and a line",
    of("host_entry", { name: "db", ip: "10.0.0.5" }),
    line("10.0.0.6 db", { path: "/etc/hosts" }),
  ],
  [
    "two spellings of a host",
    of("host_entry", { name: "db", ip: "10.0.0.5" }),
    of("host_entry", { name: "DB", ip: "10.0.0.6" }),
  ],
  [
    "a name that is another's alias",
    of("host_entry", { name: "a", ip: "10.0.0.5", aliases: ["b"] }),
    of("host_entry", { name: "b", ip: "10.0.0.6" }),
  ],
  [
    "/etc/fstab and a mount",
    file("", "/etc/fstab"),
    of("mount", { path: "/data", device: "/dev/sdb1", fstype: "ext4" }),
  ],
  [
    "a mount and a line",
    of("mount", { path: "/data", device: "/dev/sdb1", fstype: "ext4" }),
    line("/dev/sdc1 /data ext4 defaults 0 0", { path: "/etc/fstab" }),
  ],
  [
    "a file of settings and a setting",
    file("vm.swappiness = 1\n", "/etc/sysctl.d/90-fleetwright.conf"),
    of("sysctl", { key: "vm.swappiness", value: 10 }),
  ],
  [
    "a setting and a line",
    of("sysctl", { key: "vm.swappiness", value: 10 }),
    line("vm/swappiness=1", { path: "/etc/sysctl.d/90-fleetwright.conf" }),
  ],
  [
    "the name of the machine and a block before it",
    of("hostname", { name: "a" }),
    block("b\n", { path: "/etc/hostname", insert_before: "*" }),
  ],
  [
    "the time zone and the file with its name",
    of("timezone", { name: "Europe/Berlin" }),
    file("UTC\n", "/etc/timezone"),
  ],
  [
    "the groups of a user and the members of one of them",
    of("user", { name: "ada", groups: ["dev"] }),
    of("group", { name: "dev", members: ["bob"], membership: "inclusive" }),
  ],
  [
    "the members of a group and all groups of one of them",
    of("group", { name: "dev", members: ["ada"] }),
    of("user", { name: "ada", groups: [], membership: "inclusive" }),
  ],
  [
    "a group of a user that is to be away",
    of("user", { name: "ada", groups: ["dev"] }),
    of("group", { name: "dev", ...absent }),
  ],
  [
    "a primary group that is to be away",
    of("user", { name: "ada", group: "dev" }),
    of("group", { name: "dev", ...absent }),
  ],
  [
    "a member that is to be away",
    of("group", { name: "dev", members: ["ada"] }),
    of("user", { name: "ada", ...absent }),
  ],
];

test.each(fighting)("%s is refused, whichever comes first", (_what, first, second) => {
  for (const [one, other] of [
    [first, second],
    [second, first],
  ]) {
    const resources = [...declare([one!], "one"), ...declare([other!], "two")];
    const [conflict, ...more] = findConflicts(resources, resourceTypes);
    expect(more).toEqual([]);
    const names = resources.map(({ module, resource_id }) => ({ module, resource_id }));
    expect(conflict).toMatchObject({ first: names[0], second: names[1] });
    for (const { module, resource_id } of names)
      expect(conflict!.message).toContain(`${module}/${resource_id}`);
  }
});

const agreeing: [what: string, ...all: JsonObject[]][] = [
  ["a line that stands in the content", file("a\nb\n"), line("b"), line("b", { match: "b*" })],
  ["a line that stands in the content without a line break", file("a\nb"), line("b")],
  ["a line that stands in a content with CRLF", file("a\r\nb\r\n"), line("b")],
  ["a line that is in no content", file("a\n"), line("b", absent)],
  ["a block that stands in the content", file("x\n# BEGIN block\na\n# END block\ny"), block("a\n")],
  [
    "a folder and what is extracted into it",
    of("directory", { path: "/srv/a" }),
    of("archive", { path: "/srv/a", source: "/a.tar" }),
  ],
  [
    "a folder and an archive that is to be away",
    of("directory", { path: "/srv/a" }),
    of("archive", { path: "/srv/a", ...absent }),
  ],
  [
    "a link that is to be away and a line that is",
    of("symlink", { path: "/etc/conf", ...absent }),
    line("a", absent),
  ],
  ["a block with other line breaks", file("# BEGIN block\r\na\r\n# END block\r\n"), block("a\n")],
  [
    "a line of a file that is not there, and is to be away",
    of("file", { path: "/etc/conf", ...absent }),
    line("a", absent),
  ],
  [
    "a file of which only the mode is declared",
    of("file", { path: "/etc/conf", mode: "0600" }),
    line("a"),
    block("b\n"),
  ],
  [
    "lines, each in its own place",
    line("a=1", { match: "a=*" }),
    line("b=1", { match: "b=*" }),
    line("c", absent),
  ],
  [
    "lines that replace the same, and none the other's",
    line("a", { match: "x?*" }),
    line("b", { match: "x*" }),
  ],
  [
    "blocks, one after the other",
    block("a\n"),
    block("b\n", { name: "two", insert_after: "# END block" }),
    block("c\n", { name: "three", insert_before: "# BEGIN block" }),
  ],
  ["a line that stands in a block", block("a\n"), line("a")],
  ["a file of another path", file("a\n", "/etc/other"), line("b")],
  [
    "entries of /etc/hosts as the content has them",
    file("10.0.0.5   db # note\n", "/etc/hosts"),
    of("host_entry", { name: "db", ip: "10.0.0.5" }),
    of("host_entry", { name: "x", ip: "10.0.0.5", ...absent }),
  ],
  [
    "mounts",
    file("/dev/sdb1  /data ext4 defaults\n", "/etc/fstab"),
    of("mount", { path: "/data", device: "/dev/sdb1", fstype: "ext4" }),
    of("mount", { path: "/old", ...absent }),
  ],
  [
    "settings",
    of("sysctl", { key: "vm.swappiness", value: 10 }),
    of("sysctl", { key: "vm/overcommit_memory", value: 1 }),
    file("vm.swappiness=10\nvm.overcommit_memory=1\n", "/etc/sysctl.d/90-fleetwright.conf"),
  ],
  [
    "the time zone and no file with its name",
    of("timezone", { name: "UTC" }),
    of("file", { path: "/etc/timezone", ...absent }),
  ],
  [
    "the name of the machine and another that is to be away",
    of("hostname", { name: "a" }),
    line("b", { path: "/etc/hostname", ...absent }),
  ],
  [
    "the time zone and the file with its name",
    of("timezone", { name: "UTC" }),
    file("UTC\n", "/etc/timezone"),
  ],
  [
    "users and groups that say the same",
    of("user", { name: "ada", group: "ada", groups: ["dev"], membership: "inclusive" }),
    of("group", { name: "dev", members: ["ada", "bob"], membership: "inclusive" }),
    of("group", { name: "ada", members: [], membership: "inclusive" }),
    of("group", { name: "old", ...absent }),
    of("user", { name: "eve", ...absent }),
  ],
];

test.each(agreeing)("%s is taken", (_what, ...all) => {
  const resources = all.flatMap((each, at) => declare([each], `m${at}`));
  expect(findConflicts(resources, resourceTypes)).toEqual([]);
  expect(findConflicts(resources.toReversed(), resourceTypes)).toEqual([]);
});

/** Claims on one text, with how often they were asked what they make of it. */
function counted(edits: readonly TextClaim<number>["edit"][]): {
  claims: TextClaim<number>[];
  asked: () => number;
} {
  let asked = 0;
  const claims = edits.map((edit, resource) => ({
    resource,
    identity: String(resource),
    text: edit.of,
    edit: {
      ...edit,
      edit: (text: string | null) => {
        asked += 1;
        return edit.edit!(text);
      },
    },
  }));
  return { claims, asked: () => asked };
}

const parts: TextEdit[] = Array.from({ length: 300 }, (_, n) => ({
  of: "/etc/conf",
  edit: (text: string | null) => (text?.includes(`<${n}>`) ? text : `${text ?? ""}<${n}>`),
}));
const whole: TextEdit = { of: "/etc/conf", isWhole: true, edit: () => "<7>" };

test.each([0, 150, 300])(
  "many parts of a text are each held against who says all of it, where that one is number %d",
  (at) => {
    const { claims, asked } = counted(parts.toSpliced(at, 0, whole));
    const fights = findFights(claims, new WorkBudget());
    expect(fights).toHaveLength(299);
    expect(fights.every(({ first, second }) => first < second && (first === at || second === at))).toBe(true);
    expect(asked()).toBeLessThan(4 * claims.length);
  },
);

test("among many parts of a text the one is told that is in the way, and not compared with each other one alone", () => {
  const without: TextEdit = {
    of: "/etc/conf",
    edit: (text: string | null) => text && text.replace("<40>", ""),
  };
  for (const at of [0, 20, 200, 300]) {
    const { claims, asked } = counted(parts.toSpliced(at, 0, without));
    const other = at <= 40 ? 41 : 40;
    expect(findFights(claims, new WorkBudget()).map(({ first, second }) => [first, second])).toEqual([
      [Math.min(at, other), Math.max(at, other)],
    ]);
    expect(asked()).toBeLessThan(100 * claims.length);
  }
});

test("what costs more than the budget is told by nobody", () => {
  const { claims } = counted(parts.toSpliced(0, 0, whole));
  expect(findFights(claims, new WorkBudget(1_000))).toEqual([]);
});

test.each(["700", "0700"])("a mode is the same text with and without its leading zero: %s", (mode) => {
  const [edit, ...more] = modeEdit("/home/deploy/.ssh", mode);
  expect([edit?.of, edit?.edit?.(null), edit?.edit?.("0755"), edit?.cost?.("0755"), more]).toEqual([
    "the mode of /home/deploy/.ssh",
    "0700",
    "0700",
    0,
    [],
  ]);
  expect(modeEdit("/home/deploy/.ssh", undefined)).toEqual([]);
});
