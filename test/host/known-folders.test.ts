/** What is known of a folder makes the next call in it quick, and changes no answer. */
import {
  chownSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: folders of other users: only root can give a folder away.");

/** What a call answers, or how it is refused. */
function answerOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    const { code, details } = error as { code?: unknown; details?: unknown };
    return { code, details };
  }
}

const looks: Record<string, (files: HostFiles, path: string) => unknown> = {
  stat: (files, path) => files.stat(path),
  list: (files, path) => files.list(path),
  readFile: (files, path) => Buffer.from(files.readFile(path)).toString(),
  readLink: (files, path) => files.readLink(path),
  compareFile: (files, path) => files.compareFile(path, Buffer.from("x")),
};

/** Ways to write what stands in a folder, or the folder, or one above it. */
const spellings = [
  "file",
  "file/",
  "link",
  "link/",
  "link/.",
  "link/..",
  "sub",
  "sub/",
  "sub/.",
  "sub/..",
  "sub//",
  "",
  ".",
  "..",
  "../..",
  "./file",
  ".//file",
  "sub/../file",
  "a",
  "bb",
  ".b",
  "b.",
  "..b",
  "b..",
  "...",
  "none",
  "none/..",
];

/** A host, the folder in which its files are, and what each of these is. */
function prepare(isConfined: boolean) {
  const base = temporaryFolder();
  const root = join(base, "root");
  for (const folder of [root, join(root, "sub")]) mkdirSync(folder);
  for (const name of ["file", "a", "bb", ".b", "b.", "..b", "b..", "..."])
    writeFileSync(join(root, name), name);
  symlinkSync("sub", join(root, "link"));
  const make = (): HostFiles =>
    new LocalHost({ stateFolder: join(base, "state"), ...(isConfined && { root }) }).files;
  return { base, root, make, at: isConfined ? "" : root };
}

describe.each([
  ["the whole machine", false],
  ["below a root folder", true],
])("on %s", (_name, isConfined) => {
  test.each(spellings)("%j answers as it does where nothing is known yet", (spelling) => {
    const { make, at } = prepare(isConfined);
    const path = `${at}/${spelling}`;
    const known = make();
    for (const [name, look] of Object.entries(looks)) {
      const first = answerOf(() => look(make(), path));
      known.stat(`${at}/file`);
      known.stat(`${at}/sub/x`);
      known.stat(`${at}/file`);
      expect([name, answerOf(() => look(known, path))]).toEqual([name, first]);
    }
  });

  test.each([
    ["sub/./../file", "file"],
    ["./sub/././../file", "file"],
    ["link/./../file", "file"],
    ["sub//./..//bb", "bb"],
    ["sub/../link/../sub/./", "sub"],
  ])("%j leads to %j", (spelling, end) => {
    const { make, at } = prepare(isConfined);
    const files = make();
    expect(files.stat(`${at}/${spelling}`)).toEqual(files.stat(`${at}/${end}`));
    expect(files.stat(`${at}/${end}`)).not.toBeNull();
  });

  test("what is below a guarded folder becomes a link, which is followed as one right after", () => {
    const { base, make, at } = prepare(isConfined);
    mkdirSync(join(base, "beside"));
    writeFileSync(join(base, "beside/file"), "outside");
    const files = make();
    files.writeFile(`${at}/sub/file`, Buffer.from("inside"), {});
    const below = files.below(at || "/");
    below.removeFile(`${at}/sub/file`);
    below.removeDirectory(`${at}/sub`);
    below.makeSymlink(`${at}/sub`, join(base, "beside"));
    const read = answerOf(() => looks["readFile"]!(files, `${at}/sub/file`));
    expect(read).toEqual(
      isConfined ? { code: "PATH_OUTSIDE_ROOT", details: { path: "/sub/file" } } : "outside",
    );
  });
});

test("what somebody else has changed is seen a tenth of a second later", () => {
  const { base, root, make } = prepare(true);
  const { now } = performance;
  onTestFinished(() => void (performance.now = now));
  let nowMs = performance.now();
  performance.now = () => nowMs;
  const files = make();
  mkdirSync(join(base, "beside"));
  writeFileSync(join(base, "beside/file"), "outside");
  const outside = expect.objectContaining({ code: "PATH_OUTSIDE_ROOT" });
  // Also another time, once it has been forgotten.
  for (const lateMs of [101, 1000, 101]) {
    writeFileSync(join(root, "sub/file"), "inside");
    expect(looks["readFile"]!(files, "/sub/file")).toBe("inside");
    rmSync(join(root, "sub"), { recursive: true });
    symlinkSync(join(base, "beside"), join(root, "sub"));
    nowMs += lateMs;
    expect(() => files.readFile("/sub/file")).toThrow(outside);
    rmSync(join(root, "sub"));
    mkdirSync(join(root, "sub"));
    nowMs += lateMs;
  }
});

test.runIf(isRoot)(
  "of a folder that its owner can put another thing in the place of, nothing is believed",
  () => {
    for (const call of ["stat", "writeFile"] as const) {
      const { base, root, make } = prepare(false);
      const secret = join(base, "secret");
      mkdirSync(secret);
      writeFileSync(join(secret, "file"), "root's");
      for (const path of [root, join(root, "sub")]) chownSync(path, stranger, stranger);
      const files = make();
      const path = join(root, "sub", "file");
      if (call === "stat") files.stat(path);
      else files.writeFile(path, Buffer.from("first"), {});
      renameSync(join(root, "sub"), join(root, "moved"));
      symlinkSync(secret, join(root, "sub"));
      lchownSync(join(root, "sub"), stranger, stranger);
      const refused = expect.objectContaining({ details: expect.objectContaining({ errno: "ELOOP" }) });
      expect(() => files.writeFile(path, Buffer.from("ours"), {})).toThrow(refused);
      expect(() => files.readFile(path)).toThrow(refused);
      expect(readFileSync(join(secret, basename(path)), "utf8")).toBe("root's");
    }
  },
);
