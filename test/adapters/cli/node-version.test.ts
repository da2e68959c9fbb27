/** A Node that is too old says so in one line, not in a stack about a syntax or a name that it does not know. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { refuseNode } from "../../../adapters/cli/node-version.ts";
import { readText, repository } from "../../architecture/source-tree.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { engines } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
  engines: { node: string };
};
const oldest = engines.node.replace(">=", "");

it.each([
  ["0.10.48", true],
  ["16.20.2", true],
  ["18.20.8", true],
  ["20.18.3", true],
  [`${oldest}.0`, false],
  ["20.20.2", false],
  ["21.0.0", false],
  ["22.1.0", false],
  ["100.0.0", false],
])("Node %s: too old is %s", (version, isOld) => {
  const line = refuseNode(version);
  expect(line === null).toBe(!isOld);
  if (isOld)
    expect(line).toMatch(
      new RegExp(`^fleetwright: it needs Node ${oldest} or newer, and this is Node ${version} .*\\n$`),
    );
});

it("is found out before anything is loaded that an older one can't load", () => {
  const importsOf = (file: string) => (readText(file) ?? "").match(/^import .*$/gm) ?? [];
  expect(importsOf("adapters/cli/main.ts")).toEqual(['import { refuseNode } from "./node-version.ts";']);
  expect(importsOf("adapters/cli/node-version.ts")).toEqual([]);
  // Newer than the syntax of Node 12.
  for (const file of ["adapters/cli/main.ts", "adapters/cli/node-version.ts"])
    expect(readText(file)).not.toMatch(/\?\?|\?\.|^await |#\w+ ?[=(;]/m);
});

it.each([
  ["dist/program/main.js", ["serve", "--port", "0"]],
  ["dist/program/main.js", ["agent", "--url", "http://127.0.0.1:1"]],
  ["dist/program/main.js", ["--version"]],
  ["dist/examples/server/main.js", ["--port", "0"]],
])("%s %j ends with one line", async (program, args) => {
  const folder = temporaryFolder();
  const preload = join(folder, "older.cjs");
  writeFileSync(
    preload,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } });`,
  );
  const command = ["--require", preload, join(repository, program), ...args];
  const error = await promisify(execFile)(process.execPath, command, { cwd: folder }).then(
    () => expect.fail("It went on."),
    (thrown: { code: number; stdout: string; stderr: string }) => thrown,
  );
  expect(error).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^fleetwright: it needs Node .* and this is Node 18\.20\.8 \(.*\)\.\n$/),
  });
});
