/** Folders that commands make or stand in, where the system lets nobody make any, where others make the same, and where they are gone. */
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

it.runIf(process.platform === "linux").each([
  ["in words", [], /^fleetwright: The working folder was removed: change to another one\.\n$/],
  ["as a problem", ["--json"], /"detail":"The working folder was removed.*"code":"USAGE"/],
])("a working folder that was removed is told of %s", async (_, options, told) => {
  const folder = temporaryFolder();
  const env = { PATH: process.env["PATH"], HOME: temporaryFolder(), FLEETWRIGHT_URL: "http://127.0.0.1:1" };
  const command = `rm -r "$0" && exec "$@"`;
  const args = ["-c", command, folder, process.execPath, program, ...options, "backup", "x"];
  const run = promisify(execFile)("/bin/sh", args, { cwd: folder, env, timeout: 20_000 });
  await expect(run).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(told) });
});
