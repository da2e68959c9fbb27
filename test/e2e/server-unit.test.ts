/** What the server's unit waits for, with the server that it starts: without systemd, by the lines that systemd runs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { repository } from "../architecture/source-tree.ts";
import { Program } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The unit with folders of a test in place of those of the machine. */
function unitIn(folder: string): {
  ready: string;
  flags: string[];
  environment: Record<string, string>;
  wait: string;
} {
  mkdirSync(join(folder, "run"));
  const text = readFileSync(join(repository, "packaging/server/files/fleetwright.service"), "utf8")
    .replaceAll("/run/fleetwright", join(folder, "run"))
    .replaceAll("/var/lib/fleetwright", join(folder, "data"));
  const valuesOf = (name: string): string[] =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value);
  const [start = "", wait = ""] = [...valuesOf("ExecStart"), ...valuesOf("ExecStartPost")];
  return {
    ready: join(folder, "run/ready"),
    flags: start.split(" ").slice(1),
    environment: Object.fromEntries(valuesOf("Environment").map((line) => line.split("=", 2))),
    wait: /^\+\/bin\/sh -c '(.*)'$/.exec(wait)![1]!.replaceAll("$$", "$"),
  };
}

/** Runs what waits for a process; resolves with its exit code. */
async function codeOfWait(wait: string, pid: number): Promise<number> {
  const child = spawn("sh", ["-c", wait], { env: { ...process.env, MAINPID: String(pid) }, stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [code] = (await once(child, "close")) as [number];
  return code;
}

it.each<[string, { other?: boolean }]>([
  ["as it is", {}],
  ["with another file among the settings of the machine, which go before those of the unit", { other: true }],
])("ends when the server answers, %s", async (_, { other = false }) => {
  const folder = temporaryFolder();
  const { ready, flags, environment, wait } = unitIn(folder);
  const settings = {
    FLEETWRIGHT_PORT: "0",
    ...(other && { FLEETWRIGHT_READY_FILE: join(folder, "other") }),
  };
  await using server = new Program(flags, { ...environment, ...settings });
  const code = codeOfWait(wait, server.pid);
  await server.says(/^Next /m);
  expect(existsSync(ready)).toBe(true);
  expect(await code).toBe(0);
});

it("ends with an error where the program refuses the unit, as an older one does with an option that it doesn't know", async () => {
  const { flags, environment, wait } = unitIn(temporaryFolder());
  await using server = new Program([...flags, "--of-a-later-version"], environment);
  expect(await codeOfWait(wait, server.pid)).toBe(1);
  expect(await server.exited()).toBe(2);
  expect(server.stderr).toContain("--of-a-later-version");
});
