/**
 * A machine that can be changed at will: a process with mounts and a network of its own, where /etc, /home and the mail are
 * copies in memory. `unshare --mount --net node --import tsx namespaced-process.ts`; nothing of it outlives the process.
 *
 * Reads a list of steps as JSON from standard input and writes what each gave as JSON.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { declare } from "../state-fixture.ts";
import type { Given, Step } from "./namespaced-machine.ts";

const run = (program: string, ...args: string[]): void => void execFileSync(program, args);

function prepare(): string {
  run("mount", "--make-rprivate", "/");
  run("mount", "-t", "tmpfs", "tmpfs", "/mnt");
  const scratch = mkdtempSync("/mnt/");
  const etc = join(scratch, "etc");
  mkdirSync(etc);
  run("cp", "-a", "/etc/.", etc);
  run("mount", "--bind", etc, "/etc");
  for (const folder of ["/home", "/var/mail"]) run("mount", "-t", "tmpfs", "tmpfs", folder);
  return join(scratch, "state");
}

async function take(step: Step, host: LocalHost): Promise<Given> {
  if ("command" in step) {
    const [program, ...args] = step.command;
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
    return { command: { exitCode: status, stdout, stderr } };
  }
  if ("write" in step) {
    writeFileSync(step.write, step.content);
    return {};
  }
  const result = await runState({
    mode: step.mode,
    desired: declare(step.definitions),
    applied,
    host,
    clock: systemClock,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
  applied = result.applied;
  return { run: result.results };
}

let applied: AppliedResource[] = [];
const steps = JSON.parse(readFileSync(0, "utf8")) as Step[];
const host = new LocalHost({ stateFolder: prepare() });
const given: Given[] = [];
for (const step of steps) given.push(await take(step, host));
process.stdout.write(JSON.stringify(given));
