/** The agent as a program of its own: the bundle on this Node and on one that is too old, and the scripts around it. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { renderInstallScript } from "../../adapters/h3/install-script.ts";
import { version as agentVersion } from "../../lib/version.ts";
import { bundleAgent, type Bundled } from "../../packaging/agent/bundle.ts";
import { files } from "../../packaging/agent/version-folder.ts";
import { hasPrograms } from "../support/programs.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describe("the bundled agent", () => {
  const bundle = async (): Promise<{ folder: string; bundled: Bundled }> => {
    const folder = temporaryFolder();
    return { folder, bundled: await bundleAgent({ script: folder, program: folder }) };
  };
  const run = (...args: string[]) => spawnSync(process.execPath, args, { encoding: "utf8", env: {} });

  it("is the agent, in one file that needs no packages beside it", async () => {
    const { folder, bundled } = await bundle();
    for (const file of [bundled.script, bundled.program])
      expect(run(file, "--version")).toMatchObject({ status: 0, stdout: `${agentVersion}\n`, stderr: "" });
    const { status, stderr } = run(bundled.script, "--state-dir", join(folder, "state"));
    expect([status, stderr]).toEqual([
      2,
      expect.stringMatching(/^fleetwright-agent: --url or --discover is missing/),
    ]);
    expect(run(bundled.script, "--nothing")).toMatchObject({ status: 2 });
  });

  it("is refused in one line by a Node that is too old, which can't read the rest", async () => {
    const { folder, bundled } = await bundle();
    const old = join(folder, "old.cjs");
    writeFileSync(old, 'Object.defineProperty(process, "versions", { value: { node: "12.22.12" } });');
    const { status, stdout, stderr } = run("-r", old, bundled.script, "--version");
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /^fleetwright: it needs Node 20\.19 or newer, and this is Node 12\.22\.12 \(.*\)\.\n$/,
    );
  });
});

it.skipIf(!hasPrograms("what shellcheck says of our scripts", "shellcheck"))(
  "every script of the shell passes shellcheck",
  () => {
    const folder = temporaryFolder();
    const script = renderInstallScript({
      baseUrl: "https://fleet.example",
      agentUrl: "wss://fleet.example/agent/v1",
      orchestratorKey: "a".repeat(64),
      version: "1.2.3",
      artifacts: [{ platform: "linux-x64", file: "a", sha256: "b".repeat(64), size: 1 }],
    });
    mkdirSync(folder, { recursive: true });
    const rendered = join(folder, "install.sh");
    writeFileSync(rendered, script);
    const own = readdirSync(files, { recursive: true, encoding: "utf8" })
      .map((name) => join(files, name))
      .filter((path) => statSync(path).isFile() && readFileSync(path, "utf8").startsWith("#!/bin/sh"));
    expect(own.length).toBeGreaterThan(6);
    const { status, stdout } = spawnSync("shellcheck", ["-s", "sh", rendered, ...own], { encoding: "utf8" });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  },
);
