/** Files of a fleet folder: what a server calls a module never becomes a file elsewhere. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { writeFolder } from "../../../adapters/sync/write-folder.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it.each([
  "../out.yaml",
  "modules/../../out.yaml",
  "modules/../../../out.yaml",
  "/out.yaml",
  "modules//out.yaml",
  "modules/..",
  "modules\\..\\out.yaml",
  "modules/a/out.yaml",
  "modules/.hidden.yaml",
  "modules/a\0.yaml",
  "",
])("%j is written nowhere", async (path) => {
  const around = temporaryFolder();
  const folder = join(around, "deep", "fleet");
  const writing = writeFolder(folder, [{ path, text: "x" }], { overwrite: true });
  await expect(writing).rejects.toThrow("is no name of a file in a fleet folder");
  for (const place of ["out.yaml", "deep/out.yaml"]) expect(existsSync(join(around, place))).toBe(false);
});

it.each(["fleet.yaml", "modules/web-2.1_x.yaml"])("%j is", async (path) => {
  const folder = join(temporaryFolder(), "fleet");
  await writeFolder(folder, [{ path, text: "x" }], { overwrite: false });
  expect(readFileSync(join(folder, path), "utf8")).toBe("x");
});

it("leaves nothing of a file that could not be put into its place", async () => {
  const folder = join(temporaryFolder(), "fleet");
  mkdirSync(join(folder, "fleet.yaml"), { recursive: true });
  mkdirSync(join(folder, "modules/web.yaml"), { recursive: true });
  for (const path of ["fleet.yaml", "modules/web.yaml"])
    await expect(writeFolder(folder, [{ path, text: "x" }], { overwrite: true })).rejects.toThrow(
      "can't be written",
    );
  expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual([
    "fleet.yaml",
    "modules",
    "modules/web.yaml",
  ]);
});

it("puts no file into its place that the disk does not keep", async () => {
  const folder = join(temporaryFolder(), "fleet");
  const files = ["fleet.yaml", "modules/web.yaml"].map((path) => ({ path, text: "old" }));
  await writeFolder(folder, files, { overwrite: false });
  const handle = await open(join(folder, "fleet.yaml"), "r");
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const broken = Object.assign(new Error("EIO"), { code: "EIO" });
  const failing = vi.spyOn(prototype, "sync").mockRejectedValue(broken);
  onTestFinished(() => failing.mockRestore());
  for (const { path } of files)
    await expect(writeFolder(folder, [{ path, text: "new" }], { overwrite: true })).rejects.toThrow("(EIO)");
  for (const { path, text } of files) expect(readFileSync(join(folder, path), "utf8")).toBe(text);
  expect(readdirSync(folder, { recursive: true })).toHaveLength(3);
});

it("leaves no file of entries of an export before, and everything else as it was", async () => {
  const folder = join(temporaryFolder(), "fleet");
  const before = [
    "fleet.yaml",
    "assignments.yaml",
    "assignments-2.yaml",
    "assignments-13.yaml",
    "channels.yaml",
  ];
  const others = [
    "modules/old.yaml",
    "assignments-1.yaml",
    "modules-2.yaml",
    "notes-2.yaml",
    "windows-2.yml",
  ];
  const files = [...before, ...others].map((path) => ({ path, text: "x" }));
  await writeFolder(folder, files.slice(0, before.length + 1), { overwrite: false });
  for (const path of others.slice(1)) writeFileSync(join(folder, path), "x");
  const now = ["fleet.yaml", "assignments.yaml"].map((path) => ({ path, text: "y" }));
  const { removed, kept } = await writeFolder(folder, now, { overwrite: true });
  expect(removed).toEqual(["assignments-13.yaml", "assignments-2.yaml", "channels.yaml"]);
  expect(kept.toSorted()).toEqual(others.toSorted());
  for (const path of removed) expect(existsSync(join(folder, path))).toBe(false);
  for (const path of kept) expect(readFileSync(join(folder, path), "utf8")).toBe("x");
});
