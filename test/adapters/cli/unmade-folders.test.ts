/** Folders that commands make, where the system lets nobody make any, and where others make the same. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
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
  const source = new URL("../../../dist/adapters/sync/make-folders.js", import.meta.url).href;
  const work = `
    const { workerData } = require("node:worker_threads");
    import(${JSON.stringify(source)}).then(({ makeFolders }) => {
      for (let tree = 0; tree < 200; tree += 1) makeFolders(workerData + "/" + tree + "/a/b");
    });
  `;
  const makers = Array.from({ length: 3 }, () => new Worker(work, { eval: true, workerData: folder }));
  const codes = await Promise.all(makers.map(async (maker) => ((await once(maker, "exit")) as [number])[0]));
  expect(codes).toEqual([0, 0, 0]);
  for (let tree = 0; tree < 200; tree += 1) expect(existsSync(join(folder, `${tree}/a/b`))).toBe(true);
});
