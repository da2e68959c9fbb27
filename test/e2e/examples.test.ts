import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);

function example(name: string): string {
  return fileURLToPath(new URL(`../../dist/examples/${name}/main.js`, import.meta.url));
}

it("the demonstration does the main job and cleans up after itself", async () => {
  const { stdout, stderr } = await run(process.execPath, [example("demo"), "--exit"]);
  expect(stderr).toBe("");
  expect(stdout).toContain("role=web matches 2 of 3 agents\n");
  expect(stdout).toContain("apply on web-2: succeeded (6 unchanged)\n");
  expect(stdout).toContain("web-1 is drifted:\n    would update file /srv/site/index.html\n");
  expect(stdout).toMatch(/chained by hashes: whole\n$/);
});

it("the embedded orchestrator applies a module to its own agent", async () => {
  const { stdout } = await run(process.execPath, [example("embed")]);
  expect(stdout).toBe("succeeded: Hello from a module.\n");
});

it("a type of one's own is planned and applied", async () => {
  const { stdout, stderr } = await run(process.execPath, [example("own-type")]);
  expect(stderr).toBe("");
  expect(stdout).toBe("succeeded: Look before you change.\n\n");
});

it("the fleet inside an Express program answers beside its pages", async () => {
  const { stdout, stderr } = await run(process.execPath, [example("embed-in-express")]);
  expect(stderr).toBe("");
  expect(stdout).toBe("My own program.\nThe fleet is ok; its API reference is at /fleet/docs.\n");
});
