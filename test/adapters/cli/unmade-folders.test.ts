/** Folders that commands make, where the system lets nobody make any, and where others make the same. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { makeAtOnce } from "../../support/at-once.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

// Node's own recursion would hold up this process for good.
const program = join(import.meta.dirname, "../../../dist/program/main.js");
const none = "/proc/fleetwright";

it.runIf(process.platform === "linux").each([
  ["the user's folder", ["init"], { FLEETWRIGHT_HOME: none }],
  ["pages for man", ["man", "--write", `${none}/man`], {}],
])("%s below /proc is refused at once", async (_, args, environment) => {
  const env = { PATH: process.env["PATH"], HOME: temporaryFolder(), ...environment };
  const run = promisify(execFile)(process.execPath, [program, ...args], { env, timeout: 20_000 });
  await expect(run).rejects.toMatchObject({ killed: false, stderr: expect.stringContaining("ENOENT") });
});

it("makes the same as others do at once, and none of them fails", async () => {
  const folder = temporaryFolder();
  expect(await makeAtOnce("adapters/sync/make-folders.js", "makeFolders", folder)).toEqual([0, 0, 0]);
  for (let tree = 0; tree < 200; tree += 1) expect(existsSync(join(folder, `${tree}/a/b`))).toBe(true);
});
