/** What comes and goes leaves nothing in memory that grows with it: a server runs for years. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("agents, operators and what is made for them leave nothing in memory when they are gone", async () => {
  const program = fileURLToPath(new URL("../support/come-and-go-process.ts", import.meta.url));
  const args = ["--import", "tsx", program, temporaryFolder()];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: 240_000,
    killSignal: "SIGKILL",
  });
  expect(JSON.parse(stdout)).toEqual([]);
}, 300_000);
