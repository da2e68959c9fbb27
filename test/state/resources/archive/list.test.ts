import { describe, expect, test } from "vitest";
import { readTarList, readZipList } from "../../../../lib/state/resources/archive/list.ts";

const line = (type: string, name: string): string =>
  `${type}rw-r--r-- 0/0      2 2026-11-21 15:54:00 ${name}\n`;

test("files, folders and links are read, with the escapes of their names taken back", () => {
  const list = [
    line("d", "./"),
    line("d", "./a/"),
    line("-", "./a/na me\\n\\303\\251\\\\"),
    line("l", "./a/l -> ../b"),
    line("h", "./b link to ./a/na me\\n\\303\\251\\\\"),
  ].join("");
  expect(readTarList(list, 0)).toEqual([
    { name: "a", kind: "folder", mode: 0o644, size: 2 },
    { name: "a/na me\né\\", kind: "file", mode: 0o644, size: 2 },
    { name: "a/l", kind: "link", mode: 0o644, size: 2 },
    { name: "b", kind: "file", mode: 0o644, size: 2 },
  ]);
});

test("leading parts are left out, and what has no more parts than that", () => {
  expect(readTarList(line("d", "x-1.2/") + line("-", "x-1.2/bin/x"), 1)).toEqual([
    { name: "bin/x", kind: "file", mode: 0o644, size: 2 },
  ]);
});

describe("an archive is refused for", () => {
  test.each([
    ["an absolute name", line("-", "/etc/passwd"), "is an absolute path"],
    ["a name that leads out", line("-", "a/../../x"), "leads out of the folder"],
    ["an escaped name that leads out", line("-", "a/\\056\\056/x"), "leads out of the folder"],
    ["a link to an absolute path", line("l", "a -> /etc"), "is a link to an absolute path"],
    ["a link out of the folder", line("l", "a/b -> ../../x"), "is a link out of the folder"],
    ["a link that goes up after another link", line("l", "a -> b/../.."), "is a link out of the folder"],
    ["a link that can't be told from its target", line("l", "a -> b -> c"), "can't be told"],
    ["a hard link to what is not in it", line("h", "a link to etc/passwd"), "is a hard link"],
    ["a hard link to a link", line("l", "l -> x") + line("h", "a link to l"), "is a hard link"],
    ["a file below a link", line("l", "a -> b") + line("-", "a/x"), "is below something that is no folder"],
    ["a file deep below a link", line("l", "a -> b") + line("-", "a/x/y/z"), "is below something"],
    ["a file deep below a link that comes later", line("-", "a/x/y") + line("l", "a -> b"), "is below"],
    ["another spelling of what is below a link", line("l", "./a -> b") + line("-", "a//./x/y"), "is below"],
    [
      "a hard link below a link",
      line("-", "f") + line("l", "a -> b") + line("h", "a/x/y link to f"),
      "is below",
    ],
    ["a file deep below a file", line("-", "a") + line("-", "a/x/y"), "is below something"],
    ["a link that is a folder then", line("l", "a -> b") + line("-", "a/x") + line("d", "a/"), "and none"],
    ["a folder that is a link then", line("d", "a/") + line("l", "a -> b"), "and none"],
    ["a device", "crw-r--r-- 0/0 1,3 2026-11-21 15:54:00 null\n", "is neither file"],
    ["a name that is no text", line("-", "\\377"), "is no UTF-8"],
    ["a line that can't be read", "what is this?\n", "is neither file"],
  ])("%s", (_what, list, why) => {
    expect(() => readTarList(list, 0)).toThrow(
      expect.objectContaining({ code: "HOST_ERROR", message: expect.stringContaining(why) }),
    );
  });

  test("links and names that lead out, in a zip too", () => {
    const zip = (mode: string, name: string): string =>
      `${mode}  3.0 unx        2 tx stor 26-Nov-21 15:54 ${name}\n`;
    expect(readZipList(zip("drwxr-xr-x", "a/") + zip("-rw-r--r--", "a/b c"))).toEqual([
      { name: "a", kind: "folder", mode: 0o755, size: 2 },
      { name: "a/b c", kind: "file", mode: 0o644, size: 2 },
    ]);
    expect(() => readZipList(zip("lrwxrwxrwx", "a"))).toThrow(/is a link/);
    expect(() => readZipList(zip("-rw-r--r--", "../a"))).toThrow(/leads out/);
    const deep = zip("-rw-r--r--", "a") + zip("-rw-r--r--", "a/x/y");
    expect(() => readZipList(deep)).toThrow(/is below something/);
  });
});

test("what is stripped from names does not tell a link from the folder at its place", () => {
  const list = line("l", "one/a -> b") + line("-", "two/a/x/y");
  expect(() => readTarList(list, 1)).toThrow(/is below something/);
  expect(readTarList(list, 0)).toHaveLength(2);
});

test("what is listed twice is what it is at last", () => {
  expect(readTarList(line("l", "a -> b") + line("-", "a") + line("d", "c/") + line("d", "./c"), 0)).toEqual([
    { name: "a", kind: "file", mode: 0o644, size: 2 },
    { name: "c", kind: "folder", mode: 0o644, size: 2 },
  ]);
});

test.each([
  ["rwxr-x--x", 0o751],
  ["---------", 0],
  ["rwsrwsrwt", 0o777],
  ["rwSr-Sr-T", 0o644],
  ["rw-a--", null],
  ["", null],
])("the permissions %j are %o, without bits for set-id and sticky", (permissions, mode) => {
  const list = `-${permissions}  3.0 unx        2 tx stor 26-Nov-21 15:54 a\n`;
  expect(readZipList(list)).toEqual([{ name: "a", kind: "file", mode, size: 2 }]);
});
