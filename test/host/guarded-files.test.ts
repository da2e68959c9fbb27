/** Files below a folder of somebody else: no call goes through a link on the way, whichever it is. */
import { expect, test } from "vitest";
import type { HostFiles } from "../../lib/host/host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";

const bytes = Buffer.from("x");

/** Each call of the port with a path, all but `below`. */
const calls: Record<Exclude<keyof HostFiles, "below">, (files: HostFiles, path: string) => unknown> = {
  stat: (files, path) => files.stat(path),
  ledBy: (files, path) => files.ledBy(path),
  readFile: (files, path) => files.readFile(path),
  hashFile: (files, path) => files.hashFile(path),
  compareFile: (files, path) => files.compareFile(path, bytes),
  readLink: (files, path) => files.readLink(path),
  extras: (files, path) => files.extras(path),
  requireChangeable: (files, path) => files.requireChangeable(path, "write"),
  list: (files, path) => files.list(path),
  writeFile: (files, path) => files.writeFile(path, bytes, {}),
  makeDirectory: (files, path) => files.makeDirectory(path, {}),
  makeSymlink: (files, path) => files.makeSymlink(path, "target"),
  move: (files, path) => files.move("/outside/file", path),
  setAttributes: (files, path) => files.setAttributes(path, { mode: 0o600 }),
  removeFile: (files, path) => files.removeFile(path),
  removeDirectory: (files, path) => files.removeDirectory(path),
};

function begin(): { host: MemoryHost; below: HostFiles } {
  const host = new MemoryHost();
  const { files } = host;
  for (const path of ["/home", "/home/real", "/outside", "/outside/folder"]) files.makeDirectory(path, {});
  files.makeSymlink("/home/link", "/outside");
  for (const path of ["/outside/file", "/home/real/file"]) files.writeFile(path, bytes, {});
  return { host, below: files.below("/home") };
}

const names = Object.keys(calls) as (keyof typeof calls)[];

test.each(names)("%s is refused beyond a link, and below where there is none it is not", (name) => {
  for (const there of ["file", "folder", "new"]) {
    const { host, below } = begin();
    const before = host.writes.length;
    for (const files of [below, below.below("/home/real")])
      expect(() => calls[name](files, `/home/link/${there}`)).toThrow(
        expect.objectContaining({ code: "HOST_ERROR", details: expect.objectContaining({ errno: "ELOOP" }) }),
      );
    expect(() => calls[name](below, `/outside/${there}`)).toThrow(
      expect.objectContaining({ code: "PATH_OUTSIDE_ROOT" }),
    );
    expect(host.writes).toHaveLength(before);
  }
  const { host, below } = begin();
  const { files } = host;
  const attempt = (of: HostFiles): unknown => {
    try {
      return calls[name](of, "/home/real/file");
    } catch (error) {
      return error;
    }
  };
  // As without a guard, whether it goes well or not.
  expect(attempt(below)).toEqual(attempt(begin().host.files));
  expect(files.stat("/home/link")?.kind).toBe("symlink");
});

test("guards every call that there is", () => {
  const { below } = begin();
  expect(
    Object.keys(below)
      .filter((name) => name !== "below")
      .sort(),
  ).toEqual(names.toSorted());
});
