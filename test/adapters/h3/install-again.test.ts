/**
 * Whole runs of the script of `GET /install.sh` on folders of a test, one after another.
 *
 * Symptom: where the disk was full in the middle of an upgrade, the run ended with the errors of tar, and nothing said what became of the
 * agent that ran.
 */
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryStorage } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { renderInstallScript } from "../../../adapters/h3/install-script.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const shells = ["dash", "busybox"] as const;
const programs =
  "base64 basename cat chmod cut date grep gzip head hostname id ln mkdir mktemp mv od printf readlink rm rmdir sed sha256sum sleep sort tail tar touch tr uname wc".split(
    " ",
  );
const pathOf = (program: string): string =>
  execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim();

/** An archive whose agent tells its version and takes a few megabytes. */
function archiveOf(version: string): Buffer {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "fleetwright-agent"), `#!/bin/sh\necho ${version}\n`);
  chmodSync(join(folder, "fleetwright-agent"), 0o755);
  writeFileSync(join(folder, "blob"), Buffer.alloc(3 << 20));
  return execFileSync("tar", ["-cz", "-C", folder, "."], { maxBuffer: 1 << 24 });
}

/** A machine that is a folder, and a server with an agent of each version for it. */
function machineOf(clients: readonly string[] = ["curl"]) {
  const folder = temporaryFolder();
  const bin = join(folder, "commands");
  mkdirSync(bin);
  for (const name of [...programs, ...clients.filter((client) => client !== "busybox wget")])
    if (name !== "printf") symlinkSync(pathOf(name), join(bin, name));
  if (clients.includes("busybox wget")) symlinkSync(pathOf("busybox"), join(bin, "wget"));
  const home = join(folder, "opt");
  const scriptFor = async (version: string): Promise<string> => {
    const archive = archiveOf(version);
    const sha256 = createHash("sha256").update(archive).digest("hex");
    const agentDir = temporaryFolder();
    const artifacts = ["linux-x64", "linux-arm64"].map((platform) => ({
      platform,
      file: "agent.tar.gz",
      sha256,
      size: archive.length,
    }));
    writeFileSync(join(agentDir, "agent.tar.gz"), archive);
    writeFileSync(join(agentDir, "manifest.json"), JSON.stringify({ version, artifacts }));
    const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 }, agentDir });
    onTestFinished(() => server.close());
    const facts = {
      baseUrl: server.url,
      agentUrl: "wss://fleet.example/agent/v1",
      orchestratorKey: "ab".repeat(32),
    };
    const path = join(folder, `install-${version}.sh`);
    writeFileSync(
      path,
      renderInstallScript({ ...facts, version, artifacts })
        .replaceAll("/opt/fleetwright-agent", home)
        .replaceAll("/usr/local/bin", join(folder, "links"))
        .replaceAll(/\/(?:etc|run|var)\//g, (root) => `${folder}${root}`),
    );
    mkdirSync(join(folder, "etc"), { recursive: true });
    mkdirSync(join(folder, "run"), { recursive: true });
    return path;
  };
  const run = async (shell: string, script: string) => {
    const words = shell === "busybox" ? [pathOf("busybox"), "sh"] : [pathOf(shell)];
    const child = spawn(words[0]!, [...words.slice(1), script, "--no-start"], { env: { PATH: bin } });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (child.exitCode === null) await once(child, "exit");
    return { status: child.exitCode, stdout, stderr };
  };
  /** What runs, and the names of all that lies beside it. */
  const state = () => ({
    version: execFileSync(join(home, "current", "fleetwright-agent"), { encoding: "utf8" }).trim(),
    names: readdirSync(home)
      .map((name) => name.split("-")[0])
      .toSorted(),
  });
  return { folder, home, scriptFor, run, state };
}

describe.each(shells)("run again by %s", (shell) => {
  test("the script leaves what is the same, and goes to a newer and back to an older version", async () => {
    const { scriptFor, run, state, home } = machineOf();
    const older = await scriptFor("1.2.3");
    const newer = await scriptFor("1.2.4");
    for (const [script, version, names] of [
      [older, "1.2.3", ["1.2.3", "current"]],
      [older, "1.2.3", ["1.2.3", "current"]],
      [newer, "1.2.4", ["1.2.3", "1.2.4", "current"]],
      [older, "1.2.3", ["1.2.3", "1.2.4", "current"]],
    ] as const) {
      expect(await run(shell, script)).toMatchObject({ status: 0, stderr: "" });
      expect(state()).toEqual({ version, names });
    }
    expect(readlinkSync(join(home, "current"))).toMatch(/^1\.2\.3-linux-/);
  });

  test("it leaves the agent that runs where the disk is full, and says so", async () => {
    const { folder, home, scriptFor, run, state } = machineOf();
    const older = await scriptFor("1.2.3");
    const newer = await scriptFor("1.2.4");
    mkdirSync(home);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=5m", "tmpfs", home]);
    onTestFinished(() => void execFileSync("umount", [home]));
    expect(await run(shell, older)).toMatchObject({ status: 0 });
    const settings = readFileSync(join(folder, "etc/fleetwright-agent/agent.conf"), "utf8");
    const { status, stdout, stderr } = await run(shell, newer);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(
      /No space left on device[^]*\ninstall\.sh: the agent could not be unpacked .*Nothing was changed\.\n$/,
    );
    expect(state()).toEqual({ version: "1.2.3", names: ["1.2.3", "current"] });
    expect(readFileSync(join(folder, "etc/fleetwright-agent/agent.conf"), "utf8")).toBe(settings);
  });

  test.each([["wget"], ["busybox wget"]])("it upgrades with %s where there is no curl", async (client) => {
    const { scriptFor, run, state } = machineOf([client]);
    for (const version of ["1.2.3", "1.2.4"])
      expect(await run(shell, await scriptFor(version))).toMatchObject({ status: 0, stderr: "" });
    expect(state().version).toBe("1.2.4");
  });

  test("it says what it needs where there is neither curl nor wget, and leaves nothing", async () => {
    const { folder, scriptFor, run } = machineOf([]);
    const script = await scriptFor("1.2.3");
    const { status, stderr } = await run(shell, script);
    expect([status, stderr]).toEqual([1, "install.sh: it needs curl or wget.\n"]);
    expect(readdirSync(folder)).not.toContain("opt");
  });
});
