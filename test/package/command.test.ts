/** The file that npm links as `fleetwright`, before and after the build. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("says that it is not built yet, and starts what was built once it is", async () => {
  const folder = temporaryFolder();
  const linked = join(folder, "adapters/cli/fleetwright.js");
  mkdirSync(join(folder, "adapters/cli"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  copyFileSync(join(import.meta.dirname, "../../adapters/cli/fleetwright.js"), linked);
  const run = () => promisify(execFile)(linked, ["status"]);
  await expect(run()).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("npm run build") });
  mkdirSync(join(folder, "dist/program"), { recursive: true });
  writeFileSync(join(folder, "dist/program/main.js"), "console.log(process.argv[2]);");
  expect(await run()).toMatchObject({ stdout: "status\n", stderr: "" });
});
