/** Which files of a fleet folder are read, in which order, and what stands in the way of it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { FolderError, folderLimits, readFolder } from "../../../adapters/sync/read-folder.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function put(folder: string, path: string, text: string | Buffer = ""): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

async function read(folder: string): Promise<{ files: string[]; faults: string[] }> {
  const { files, faults } = await readFolder(folder);
  return {
    files: files.map(({ path }) => path),
    faults: faults.map(({ file, message }) => `${file}: ${message}`),
  };
}

describe("the files of a fleet folder", () => {
  test.each([
    ["fleet.yaml", true],
    ["fleet.yml", true],
    ["FLEET.YAML", true],
    ["Fleet.Yml", true],
    ["a.b.yaml", true],
    [" .yaml", true],
    ["über 中.yaml", true],
    ["deep/er/fleet.yaml", true],
    ["folder.yaml/fleet.yml", true],
    [".hidden.yaml", false],
    [".git/fleet.yaml", false],
    ["fleet.yaml~", false],
    ["fleet.yaml.bak", false],
    ["fleetyaml", false],
    ["fleet.yaaml", false],
    ["fleet.json", false],
    ["README.md", false],
  ])("have %j: %s", async (path, isRead) => {
    const folder = temporaryFolder();
    put(folder, path, "x: 1\n");
    expect(await readFolder(folder)).toEqual({ files: isRead ? [{ path, text: "x: 1\n" }] : [], faults: [] });
  });

  test("have their own text each, however long that of others is", async () => {
    const folder = temporaryFolder();
    const texts = ["x".repeat(folderLimits.fileBytes), "y", "", "z".repeat(9_000)];
    texts.forEach((text, at) => put(folder, `${at}.yaml`, text));
    const { files } = await readFolder(folder);
    expect(files.map(({ text }) => text)).toEqual(texts);
  });

  test("come by their names within each folder", async () => {
    const folder = temporaryFolder();
    const paths = ["B.yaml", "a.yaml", "b/1.yaml", "b/10.yaml", "b/2.yaml", "c.yaml"];
    for (const path of paths.toReversed()) put(folder, path);
    expect(await read(folder)).toEqual({ files: paths, faults: [] });
  });
});

describe("a fault is told with its file", () => {
  test("of links, pipes and what is no text, and the rest is read", async () => {
    const folder = temporaryFolder();
    put(folder, "z.yaml");
    put(folder, "bytes.yaml", Buffer.from([0x61, 0xff]));
    symlinkSync("z.yaml", join(folder, "link.yaml"));
    symlinkSync("/", join(folder, "root"));
    execFileSync("mkfifo", [join(folder, "pipe.yaml"), join(folder, "pipe")]);
    expect(await read(folder)).toEqual({
      files: ["z.yaml"],
      faults: [
        "bytes.yaml: The file is no UTF-8 text.",
        "link.yaml: Links are not followed: have the file itself in the folder.",
        "pipe.yaml: This is no file.",
        "root: Links are not followed: have the file itself in the folder.",
      ],
    });
  });

  test("of a file that is too large by a byte", async () => {
    const folder = temporaryFolder();
    put(folder, "a.yaml");
    put(folder, "b.yaml");
    truncateSync(join(folder, "a.yaml"), folderLimits.fileBytes);
    truncateSync(join(folder, "b.yaml"), folderLimits.fileBytes + 1);
    expect(await read(folder)).toEqual({
      files: ["a.yaml"],
      faults: ["b.yaml: The file is larger than 512 KiB."],
    });
  });

  test("of folders that are nested too deep by one", async () => {
    const folder = temporaryFolder();
    const deepest = "d/".repeat(folderLimits.depth);
    put(folder, `${deepest}a.yaml`);
    put(folder, `${deepest}e/b.yaml`);
    expect(await read(folder)).toEqual({
      files: [`${deepest}a.yaml`],
      faults: [`${deepest}e: Folders are nested deeper than 8.`],
    });
  });

  test("of files that are too many by one", async () => {
    const folder = temporaryFolder();
    const names = Array.from(
      { length: folderLimits.files + 1 },
      (_, at) => `${String(at).padStart(5, "0")}.yaml`,
    );
    for (const name of names.slice(1)) writeFileSync(join(folder, name), "");
    expect(await read(folder)).toEqual({ files: names.slice(1), faults: [] });
    put(folder, names[0]!);
    expect(await read(folder)).toEqual({
      files: names.slice(0, -1),
      faults: [`${names.at(-1)}: The folder has too much from here on.`],
    });
  });

  test("of all that are too much together", async () => {
    const folder = temporaryFolder();
    const names = Array.from({ length: 130 }, (_, at) => `${String(at).padStart(5, "0")}.yaml`);
    for (const name of names) {
      put(folder, name);
      truncateSync(join(folder, name), folderLimits.fileBytes);
    }
    // Those that together are just as much as may be, and the one that goes past it.
    expect(await read(folder)).toEqual({
      files: names.slice(0, 129),
      faults: ["00129.yaml: The folder has too much from here on."],
    });
  });

  test("of one that is not there or is no folder: then nothing is read", async () => {
    const folder = temporaryFolder();
    put(folder, "a.yaml");
    await expect(readFolder(join(folder, "none"))).rejects.toThrow(
      new FolderError(`${folder}/none is not there.`),
    );
    await expect(readFolder(join(folder, "a.yaml"))).rejects.toThrow(
      new FolderError(`${folder}/a.yaml is no folder.`),
    );
  });
});
