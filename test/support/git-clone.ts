/** Clones of the git of this machine, as a resource makes and keeps them. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { declare } from "./state-fixture.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Runs git and gives what it says. */
export function git(cwd: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: "pipe" }).trim();
}

/** A clone in a folder of its own, applied and removed by runs that follow each other. */
export function cloneOf(url: string) {
  const folder = temporaryFolder();
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const path = join(folder, "clone");
  let applied: AppliedResource[] = [];
  let maxBlocks: number | null = null;
  const runHost = host.run.bind(host);
  host.run = ({ argv, ...command }, signal) => {
    const isLimited = maxBlocks !== null && (argv.includes("checkout") || argv.includes("submodule"));
    const limited = ["sh", "-c", `trap "" XFSZ; ulimit -f ${maxBlocks}; exec "$@"`, "sh", ...argv] as const;
    return runHost({ argv: isLimited ? limited : argv, ...command }, signal);
  };
  const go = async (mode: "plan" | "apply", more: JsonObject | null) => {
    const desired = more === null ? [] : declare([{ type: "git", path, repository: url, ...more }]);
    const { signal } = new AbortController();
    const options = { host, clock: systemClock, signal, timeoutMs: 60_000 };
    const result = await runState({ mode, desired, applied, ...options });
    if (mode === "apply") ({ applied } = result);
    return result.results[0];
  };
  return {
    path,
    folder,
    run: (more: JsonObject | null) => go("apply", more),
    plan: (more: JsonObject | null) => go("plan", more),
    /** Lets a checkout write no file of more than so many blocks of 512 bytes, as on a disk that is full. */
    limit: (blocks: number | null) => void (maxBlocks = blocks),
  };
}
