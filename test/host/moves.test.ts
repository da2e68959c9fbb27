/** What a move leaves where, the same on this machine and on one in memory. */
import {
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

interface Machine {
  files: HostFiles;
  hardLink(path: string, name: string): void;
}

const machines: [name: string, make: () => Machine][] = [
  [
    "this machine",
    () => {
      const root = temporaryFolder();
      const { files } = new LocalHost({ stateFolder: temporaryFolder(), root });
      return { files, hardLink: (path, name) => linkSync(join(root, path), join(root, name)) };
    },
  ],
  [
    "a machine in memory",
    () => {
      const { files } = new MemoryHost();
      return { files, hardLink: (path, name) => files.hardLink(path, name) };
    },
  ],
];

/** Everything that stands in the folder of a test. */
function all(files: HostFiles): Record<string, string> {
  return Object.fromEntries(
    files.list("/work").map((name) => {
      const path = `/work/${name}`;
      const stat = files.stat(path)!;
      const what =
        stat.kind === "file"
          ? Buffer.from(files.readFile(path)).toString()
          : stat.kind === "symlink"
            ? `-> ${files.readLink(path)}`
            : stat.kind;
      return [name, stat.links === undefined ? what : `${what} of ${stat.links} names`];
    }),
  );
}

describe.each(machines)("on %s a move", (_name, make) => {
  function begin(): Machine {
    const machine = make();
    const { files } = machine;
    files.makeDirectory("/work", {});
    files.makeDirectory("/work/folder", {});
    files.writeFile("/work/one", Buffer.from("one"), {});
    files.writeFile("/work/two", Buffer.from("two"), {});
    files.makeSymlink("/work/link", "one");
    machine.hardLink("/work/two", "/work/second");
    return machine;
  }
  const before = {
    folder: "directory",
    link: "-> one",
    one: "one",
    second: "two of 2 names",
    two: "two of 2 names",
  };
  const { one: _one, ...withoutOne } = before;
  const { link: _link, ...withoutLink } = before;

  test.each<[from: string, to: string, after: Record<string, string>]>([
    ["one", "new", { ...withoutOne, new: "one" }],
    ["link", "new", { ...withoutLink, new: "-> one" }],
    ["one", "link", { ...withoutOne, link: "one" }],
    ["link", "one", { ...withoutLink, one: "-> one" }],
    ["one", "two", { ...withoutOne, two: "one", second: "two" }],
    ["two", "one", { folder: "directory", link: "-> one", one: "two of 2 names", second: "two of 2 names" }],
    // As rename(2) has it, nothing comes of these.
    ["one", "one", before],
    ["link", "link", before],
    ["two", "second", before],
  ])("of %s to %s puts it there, whole, and nothing else", async (from, to, after) => {
    const { files } = begin();
    await files.move(`/work/${from}`, `/work/${to}`);
    expect(all(files)).toEqual(after);
  });

  test.each([
    ["folder", "new", "EISDIR"],
    ["one", "folder", "EISDIR"],
    ["none", "new", "ENOENT"],
    ["one", "none/new", "ENOENT"],
    ["one", "two/new", "ENOTDIR"],
  ])("of %s to %s is refused, and changes nothing", async (from, to, errno) => {
    const { files } = begin();
    const move = async (): Promise<void> => files.move(`/work/${from}`, `/work/${to}`);
    await expect(move()).rejects.toMatchObject({ code: "HOST_ERROR", details: { errno } });
    expect(all(files)).toEqual(before);
  });
});

const isApart = existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev;
const isRoot = process.getuid?.() === 0;
if (!isApart || !isRoot)
  console.warn("Skipped: moves between file systems: there is one alone, or this is not root.");

function farAndNear(): { files: HostFiles; far: string; near: string } {
  const far = mkdtempSync("/dev/shm/fleetwright-move-");
  onTestFinished(() => rmSync(far, { recursive: true }));
  return { files: new LocalHost({ stateFolder: temporaryFolder() }).files, far, near: temporaryFolder() };
}

describe.runIf(isApart && isRoot)("a move to another file system", () => {
  test("keeps the content, mode, owner and times of a file", async () => {
    const { files, far, near } = farAndNear();
    const [from, to] = [join(far, "file"), join(near, "file")];
    writeFileSync(from, "content");
    await files.setAttributes(from, { mode: 0o640, uid: 1234, gid: 2345 });
    utimesSync(from, 1_000_000_000, 1_100_000_000);
    await files.move(from, to);
    expect([existsSync(from), readFileSync(to, "utf8")]).toEqual([false, "content"]);
    const { mode, uid, gid, mtimeMs } = statSync(to);
    expect([mode & 0o7777, uid, gid, mtimeMs]).toEqual([0o640, 1234, 2345, 1_100_000_000_000]);
  });

  test("keeps the target and the owner of a link", async () => {
    const { files, far, near } = farAndNear();
    const [from, to] = [join(far, "link"), join(near, "link")];
    symlinkSync("nowhere", from);
    lchownSync(from, 1234, 2345);
    await files.move(from, to);
    expect([existsSync(from), readlinkSync(to)]).toEqual([false, "nowhere"]);
    const { uid, gid } = lstatSync(to);
    expect([uid, gid]).toEqual([1234, 2345]);
  });
});
