/** Files of a fleet folder: what a server calls a module never becomes a file elsewhere. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
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
