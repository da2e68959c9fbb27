/** An agent whose user is a number without an account, as in some containers. */
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { expect, test } from "vitest";
import { buildProgram } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;

test.runIf(isRoot)("a program runs where the user of the agent has no account", async () => {
  const folder = temporaryFolder();
  chmodSync(folder, 0o777);
  const program = await buildProgram(
    new URL("../support/running-process.ts", import.meta.url),
    temporaryFolder(),
  );
  chmodSync(program.slice(0, program.lastIndexOf("/")), 0o755);
  const ids = { uid: 54_321, gid: 54_321 };
  const { stdout, stderr } = spawnSync(process.execPath, [program, `${folder}/state`], {
    ...ids,
    encoding: "utf8",
  });
  expect([stdout, stderr]).toEqual(["54321 /\n", ""]);
});
