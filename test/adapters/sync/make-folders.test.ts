/** Folders that are made one by one. */
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolders } from "../../../adapters/sync/make-folders.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("makes those above it, all with the mode, and leaves what is there as it is", () => {
  const top = join(temporaryFolder(), "top");
  mkdirSync(top, { mode: 0o755 });
  for (let time = 0; time < 2; time += 1) makeFolders(join(top, "a/b/c"), 0o700);
  const modes = ["", "a", "a/b", "a/b/c"].map((path) => statSync(join(top, path)).mode & 0o777);
  expect(modes).toEqual([0o755, 0o700, 0o700, 0o700]);
});

it("goes through a link to a folder, and makes nothing behind one that leads nowhere", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "real"));
  symlinkSync("real", join(folder, "link"));
  makeFolders(join(folder, "link"));
  makeFolders(join(folder, "link/new"));
  expect(statSync(join(folder, "real/new")).isDirectory()).toBe(true);
  symlinkSync("nowhere", join(folder, "dangling"));
  for (const path of ["dangling", "dangling/new"])
    expect(() => makeFolders(join(folder, path))).toThrow(/EEXIST|ENOENT/);
  expect(existsSync(join(folder, "nowhere"))).toBe(false);
});

it("takes no file for a folder", () => {
  const file = join(temporaryFolder(), "file");
  writeFileSync(file, "as it was");
  expect(() => makeFolders(file)).toThrow("EEXIST");
  for (const path of ["file/a", "file/a/b"])
    expect(() => makeFolders(join(file, "..", path))).toThrow("ENOTDIR");
  expect(readFileSync(file, "utf8")).toBe("as it was");
});

it("makes what a way leads to that goes up again", () => {
  const folder = temporaryFolder();
  makeFolders(`${folder}/none/../pages`);
  expect(statSync(join(folder, "pages")).isDirectory()).toBe(true);
});
