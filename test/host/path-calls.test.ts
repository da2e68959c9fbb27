/** What is done in folders that somebody else can change, one call of the system at a time. */
import { chownSync, closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listOpen, makeFolder, requireNewFolder } from "../../lib/host/path-calls.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: folders of other users: only root can give a folder away.");

function passFor(platform: NodeJS.Platform): void {
  const own = process.platform;
  Object.defineProperty(process, "platform", { value: platform });
  onTestFinished(() => void Object.defineProperty(process, "platform", { value: own }));
}

const madeFolders: [what: string, isUsed: boolean, uid: number, isRefused: boolean][] = [
  ["empty and ours", false, 0, false],
  ["in use, and ours", true, 0, true],
  ["empty, of somebody else", false, stranger, true],
  ["in use, of somebody else", true, stranger, true],
];

// Nobody but root gives a folder to somebody else.
test.each(madeFolders.filter(([, , uid]) => uid === 0 || isRoot))(
  "a folder that was made is the one that is opened then: %s",
  (_what, isUsed, uid, isRefused) => {
    const path = join(temporaryFolder(), "made");
    mkdirSync(path);
    if (isUsed) writeFileSync(join(path, "file"), "x");
    if (uid !== 0) chownSync(path, uid, uid);
    const fd = openSync(path, "r");
    onTestFinished(() => closeSync(fd));
    const require = (): void => requireNewFolder(path, fd);
    if (!isRefused) return expect(require).not.toThrow();
    expect(require).toThrow(
      expect.objectContaining({ code: "HOST_ERROR", details: { path, errno: "ESTALE" } }),
    );
  },
);

test("a file in the place of the folder that was made is not the folder", () => {
  const path = join(temporaryFolder(), "made");
  writeFileSync(path, "x");
  const fd = openSync(path, "r");
  onTestFinished(() => closeSync(fd));
  expect(() => requireNewFolder(path, fd)).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
});

test("nothing stays of a folder that can't be made what it is to be", () => {
  const folder = temporaryFolder();
  const why = new Error("no");
  const dress = (): void => {
    expect(readdirSync(folder)).toEqual(["made"]);
    throw why;
  };
  expect(() => makeFolder(join(folder, "made"), dress)).toThrow(why);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ["linux", /^\/proc\/self\/fd\/\d+$/],
  ["darwin", /work$/],
] as const)(
  "a folder is listed by what is open of it where the system has a name for that: %s",
  (platform, asked) => {
    const folder = join(temporaryFolder(), "work");
    mkdirSync(join(folder, "sub"), { recursive: true });
    passFor(platform);
    const original = fs.readdirSync;
    const paths: string[] = [];
    const read = (...all: unknown[]): unknown => {
      paths.push(String(all[0]));
      return (original as (...all: unknown[]) => unknown)(folder);
    };
    Object.assign(fs, { readdirSync: read });
    syncBuiltinESMExports();
    onTestFinished(() => {
      Object.assign(fs, { readdirSync: original });
      syncBuiltinESMExports();
    });
    expect(listOpen(folder)).toEqual(["sub"]);
    expect(paths).toEqual([expect.stringMatching(asked)]);
  },
);
