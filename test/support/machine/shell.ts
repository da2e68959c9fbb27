/** What somebody types into a shell of a machine that has the command line. */
import { expect } from "vitest";
import { sourceFolder, type ThrowawayMachine } from "./throwaway-machine.ts";

/** A page that waits for what never comes ends then, seconds. */
const longest = 180;

/** Puts `fleetwright` where npm would: the program of the build. */
export function placeCommandLine(machine: ThrowawayMachine): void {
  const program = `${process.execPath} ${sourceFolder}/dist/program/main.js`;
  machine.write("/usr/local/bin/fleetwright", `#!/bin/sh\nexec ${program} "$@"\n`, 0o755);
}

/** Runs a script as root, in root's folder, and fails with all that it said where it fails. Returns its standard output. */
export function runScript(
  machine: ThrowawayMachine,
  script: string,
  variables: Record<string, string> = {},
): string {
  const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const env = Object.entries({ PATH: path, ...variables }).map(([name, value]) => `${name}=${value}`);
  const bounded = ["timeout", String(longest), "sh", "-euc", `cd /root\n${script}`];
  const { status, stdout, stderr } = machine.run("env", ...env, ...bounded);
  expect(status, `${script}\n${stderr}\n${stdout}`).toBe(0);
  return stdout;
}
