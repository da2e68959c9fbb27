import { spawnSync } from "node:child_process";
import fs, {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  appendFile,
  createFile,
  makeFolder,
  readText,
  removeFile,
  replaceFile,
} from "../../lib/agent/durable-file.ts";
import { makeAtOnce } from "../support/at-once.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const failed = expect.objectContaining({ code: "STORAGE_FAILED" });

describe("durable files", () => {
  it.each([1, 2, 3, 5])("has the names of %i folders on the disk, each in the one above it", (depth) => {
    const base = temporaryFolder();
    const folders = Array.from({ length: depth }, (_, at) => join(base, ..."abcde".slice(0, at + 1)));
    const { openSync, fsyncSync } = fs;
    const paths = new Map<number, string>();
    const synced: string[] = [];
    const opening = (path: string, ...more: [string]): number => {
      const fd = openSync(path, ...more);
      paths.set(fd, path);
      return fd;
    };
    const syncing = (fd: number): void => {
      synced.push(paths.get(fd) ?? "");
      fsyncSync(fd);
    };
    Object.assign(fs, { openSync: opening, fsyncSync: syncing });
    syncBuiltinESMExports();
    try {
      makeFolder(folders.at(-1)!);
    } finally {
      Object.assign(fs, { openSync, fsyncSync });
      syncBuiltinESMExports();
    }
    expect(synced.toSorted()).toEqual([base, ...folders.slice(0, -1)]);
  });

  it("makes folders that nobody else may enter", () => {
    const folder = join(temporaryFolder(), "a", "b");
    makeFolder(folder);
    makeFolder(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("makes folders that other agents make at the same time, and takes no file for one", async () => {
    const folder = temporaryFolder();
    expect(await makeAtOnce("lib/agent/durable-file.js", "makeFolder", folder)).toEqual([0, 0, 0]);
    for (let tree = 0; tree < 200; tree += 1) expect(existsSync(join(folder, `${tree}/a/b`))).toBe(true);
    writeFileSync(join(folder, "file"), "as it was");
    expect(() => makeFolder(join(folder, "file", "a"))).toThrow(failed);
    expect(readText(join(folder, "file"))).toBe("as it was");
  });

  it("reads null where there is no file", () => {
    expect(readText(join(temporaryFolder(), "none"))).toBeNull();
    expect(() => readText(temporaryFolder())).toThrow(failed);
  });

  it("replaces a file and leaves nothing beside it", () => {
    const folder = temporaryFolder();
    const path = join(folder, "file");
    writeFileSync(path, "a longer text than the new one", { mode: 0o644 });
    replaceFile(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["file"]);
  });

  it("keeps the old file where the new one can't be written", () => {
    const folder = temporaryFolder();
    const path = join(folder, "file");
    replaceFile(path, "old");
    mkdirSync(join(folder, "file.new"));
    expect(() => replaceFile(path, "new")).toThrow(failed);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  it("creates only what is not there, and appends to it", () => {
    const path = join(temporaryFolder(), "file");
    createFile(path, "one\n");
    expect(() => createFile(path, "two\n")).toThrow(failed);
    appendFile(path, "é\n", { durable: true });
    appendFile(path, "three\n", { durable: false });
    expect(readText(path)).toBe("one\né\nthree\n");
  });

  // A device that is always full, where the kernel has one.
  it.runIf(process.platform === "linux")("says that there is no space", () => {
    expect(() => appendFile("/dev/full", "x", { durable: false })).toThrow(
      expect.objectContaining({ code: "STORAGE_FULL", retryable: true }),
    );
  });

  it("adds nothing where there is space for a part of it only, and what is added later is whole", ({
    skip,
  }) => {
    const folder = temporaryFolder();
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", folder], {
      encoding: "utf8",
    });
    const refusal = mounted.error ? String(mounted.error) : mounted.stderr.trim();
    if (mounted.status !== 0) console.log(`Skipped: a tmpfs can't be mounted here (${refusal}).`);
    if (mounted.status !== 0) skip(refusal);
    onTestFinished(() => void spawnSync("umount", [folder]));
    const path = join(folder, "file");
    createFile(path, "one\n");
    for (const durable of [false, true]) {
      const ballast = join(folder, "ballast");
      // All but two blocks.
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc((bavail - 2) * bsize));
      const before = readText(path);
      expect(() => appendFile(path, `${"x".repeat(5 * bsize)}\n`, { durable })).toThrow(
        expect.objectContaining({ code: "STORAGE_FULL" }),
      );
      expect(readText(path)).toBe(before);
      removeFile(ballast);
      appendFile(path, "more\n", { durable });
      expect(readText(path)).toBe(`${before}more\n`);
    }
  });

  it("removes a file, or nothing", () => {
    const path = join(temporaryFolder(), "file");
    createFile(path, "x");
    removeFile(path);
    removeFile(path);
    expect(readText(path)).toBeNull();
  });
});

it("a device or pipe in the place of a file is refused, since it may never end", () => {
  const path = join(temporaryFolder(), "identity");
  symlinkSync("/dev/null", path);
  expect(() => readText(path)).toThrow(`The agent can't use its file ${path}: no regular file.`);
});
